/** The commands that follow from a resource definition: `list`, `show`, `add`, `set`, `disable`, `enable`, its actions, and `remove`. */
import {
  type AnyResource,
  keyMembers,
  type MemberSchema,
  type ResourceAction,
} from '../../resources/define-resource.ts'
import type { MemberOption, ResourceCommandTexts } from '../../resources/resource-texts.ts'
import type { Arguments, OptionName, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject, parseJson } from '../output/json.ts'
import { change, create, list, listPage, remove, replace, setDisabled, show } from './actions.ts'
import {
  type AdminCommand,
  type AdminCommandCall,
  PAGE_OPTIONS,
  readBoolean,
  readList,
  segment,
  withoutUndefined,
} from './admin-command.ts'

/** What options mean that set no single member of their own. */
export type ReadOthers = (call: AdminCommandCall, command: 'add' | 'set') => JsonObject | Promise<JsonObject>

export function resourceCommands(resource: AnyResource, readOthers: ReadOthers = () => ({})): readonly AdminCommand[] {
  const { noun, section, routes, release, commands, actions = [] } = resource
  if (commands === undefined) return []
  const { argument, others = {}, filters = {}, disable, enable } = commands
  const collection = `/admin/${section}`
  const positionals = typeof argument === 'string' ? [argument] : argument
  const one = ({ positionals: key }: Arguments) =>
    [collection, ...key.slice(0, positionals.length).map(segment)].join('/')
  const named = (key: readonly string[]) => key.slice(0, positionals.length).join(' ')
  const added = [...(resource.makeKey === undefined ? keyMembers(resource) : []), ...Object.keys(others)]
  const { confirm, done, ...removal } = commands.remove
  const { verb = 'add', argument: newKey = argument, done: made, ...addition } = commands.add
  const body = async (call: AdminCommandCall, command: 'add' | 'set') =>
    inOrder(resource, {
      ...readMembers(resource.list.items, resumableOptions(commands, command), call.args, command),
      ...withoutUndefined(await readOthers(call, command)),
    })
  return [
    {
      name: `${noun} list`,
      ...commands.list,
      ...(routes.pages && { options: { ...PAGE_OPTIONS, ...optionTable(Object.entries(filters)) } }),
      run:
        routes.pages === undefined
          ? list(collection, commands.columns)
          : listPage(collection, commands.columns, (args) => readFilters(filters, args)),
    },
    ...only(commands.show, (text) => ({ name: `${noun} show`, positionals, ...text, run: show(one) })),
    {
      name: `${noun} ${verb}`,
      positionals: [newKey, Object.values(others)].flat(2),
      options: optionTable(resumableOptions(commands, 'add')),
      ...addition,
      run:
        routes.replace === undefined
          ? create(
              collection,
              async (call) => ({
                ...Object.fromEntries(added.map((member, index) => [member, call.args.positionals[index]])),
                ...(await body(call, 'add')),
              }),
              made && ((item, { positionals: key }) => made(named(key), item)),
            )
          : replace(one, (call) => body(call, 'add')),
    },
    ...only(commands.set, ({ options: _, ...text }) => ({
      name: `${noun} set`,
      positionals,
      options: optionTable(resumableOptions(commands, 'set')),
      ...text,
      run: change(one, (call) => body(call, 'set')),
    })),
    ...only(disable, ({ confirm: ask, ...text }) => ({
      name: `${noun} disable`,
      positionals,
      ...text,
      ...(ask && { confirm: (key: readonly string[]) => ask(named(key)) }),
      run: setDisabled(one, noun, true),
    })),
    ...only(enable, (text) => ({ name: `${noun} enable`, positionals, ...text, run: setDisabled(one, noun, false) })),
    ...actions.flatMap((action) => only(action.command, () => actionCommand(resource, action, positionals, one))),
    {
      name: `${noun} remove`,
      positionals,
      ...(release && { options: { [`--${release.flag}`]: { help: release.option } } }),
      ...removal,
      confirm: (key) => confirm(named(key)),
      run: (call) =>
        remove(
          (args) => (release && args.has(`--${release.flag}`) ? `${one(args)}?${release.flag}=true` : one(args)),
          () => done(named(call.args.positionals)),
        )(call),
    },
  ]
}

/** The members in the order of the schema, whichever function has read them. */
function inOrder({ list: { items } }: AnyResource, members: JsonObject): JsonObject {
  const names = Object.keys(items.properties)
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)))
}

/** The command, if there is a text for it. */
function only<Text>(text: Text | undefined, command: (text: Text) => AdminCommand): readonly AdminCommand[] {
  return text === undefined ? [] : [command(text)]
}

function actionCommand(
  { noun }: AnyResource,
  { name, body, command }: ResourceAction<object>,
  positionals: readonly string[],
  one: (args: Arguments) => string,
): AdminCommand {
  const { confirm, options = {}, summary = '', examples = [] } = command ?? {}
  const entries = withNames(options)
  return {
    name: `${noun} ${name}`,
    positionals,
    ...(entries.length > 0 && { options: optionTable(entries) }),
    summary,
    examples,
    ...(confirm && { confirm: (key: readonly string[]) => confirm(key.slice(0, positionals.length).join(' ')) }),
    async run({ args, request }) {
      const given = body === undefined ? {} : { body: readMembers(body, entries, args, 'set') }
      return { kind: 'object', body: (await request('POST', `${one(args)}/${name}`, given)).body }
    },
  }
}

type NamedOption = readonly [name: OptionName, option: MemberOption]

function withNames(options: Readonly<Record<string, MemberOption>>): NamedOption[] {
  return Object.entries(options).map(([name, option]) => [`--${name.slice(2)}`, option])
}

function resumableOptions(commands: ResourceCommandTexts, command: 'add' | 'set'): NamedOption[] {
  const options = (command === 'set' ? commands.set?.options : undefined) ?? commands.options
  return withNames(options).filter(([, option]) =>
    option.resets === true ? command === 'set' : option.only === undefined || option.only === command,
  )
}

function optionTable(
  options: readonly (readonly [string, Pick<MemberOption, 'value' | 'repeatable' | 'resets' | 'help'>])[],
): OptionTable {
  return Object.fromEntries(
    options.map(([name, { value, repeatable, resets, help }]) => [
      name,
      {
        ...(value !== undefined && { value }),
        ...((repeatable === true || resets === true) && { repeatable: true }),
        help,
      },
    ]),
  )
}

function readFilters(filters: ResourceCommandTexts['filters'], args: Arguments): JsonObject {
  return Object.fromEntries(
    Object.entries(filters ?? {}).map(([name, { filter }]) => [filter, args.value(`--${name.slice(2)}`)]),
  )
}

function readMembers(
  schema: Pick<MemberSchema, 'properties'>,
  options: readonly NamedOption[],
  args: Arguments,
  command: 'add' | 'set',
): JsonObject {
  const members = new Map<string, unknown>()
  for (const [name, option] of options) {
    if (option.resets === true) for (const member of args.values(name)) members.set(member, null)
    if (option.isJson === true)
      for (const [member, text] of args.pairs(name)) members.set(member, readJson(name, member, text))
    if (option.resets === true || option.isJson === true || option.isRead === true) continue
    const [member = '', part] = (option.member ?? name.slice(2).replaceAll('-', '_')).split('.', 2)
    const of = memberSchema(schema, member)
    if (part === undefined) members.set(member, readOption(args, name, option, of) ?? defaultValue(option, command))
    else {
      const value = readOption(args, name, option, memberSchema(of, part))
      if (value !== undefined) members.set(member, { ...asObject(members.get(member)), [part]: value })
    }
  }
  return withoutUndefined(Object.fromEntries(members))
}

function memberSchema({ properties = {} }: Pick<MemberSchema, 'properties'>, member: string): MemberSchema {
  const schema = Object.hasOwn(properties, member) ? properties[member] : undefined
  if (schema === undefined) throw new Error(`The schema has no member ${member}`)
  return schema
}

/** As the type of the member says. */
function readOption(args: Arguments, name: OptionName, option: MemberOption, schema: MemberSchema): unknown {
  if (option.value === undefined) return args.has(name) ? true : undefined
  if (option.repeatable === true) return readList(args, name)
  if (schema.type === 'integer') return args.integer(name)
  if (schema.type === 'boolean') return readBoolean(args, name)
  if (schema.enum !== undefined && option.value.includes('|')) return args.choice(name, schema.enum)
  return args.value(name)
}

function readJson(name: OptionName, member: string, text: string): unknown {
  const value = parseJson(text)
  if (value === undefined)
    throw new UsageError(`${name} ${member}=… takes JSON: a "text" in quotes, true, 60, ["a", "b"]`)
  return value
}

function defaultValue(option: MemberOption, command: 'add' | 'set'): string | undefined {
  return command === 'add' ? option.default : undefined
}
