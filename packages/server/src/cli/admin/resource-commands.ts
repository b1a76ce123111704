/** The commands that follow from a resource definition: `list`, `show`, `add`, `set` and `remove`. */
import type { AnyResource, MemberOption, MemberSchema } from '../../resources/define-resource.ts'
import type { Arguments, OptionName, OptionTable } from '../args.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { change, create, list, listPage, remove, replace, show } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, readBoolean, readList, withoutUndefined } from './admin-command.ts'

/** `readOthers` reads the options that set no single member. */
export function resourceCommands(
  resource: AnyResource,
  readOthers: (args: Arguments) => JsonObject = () => ({}),
): readonly AdminCommand[] {
  const { noun, section, key, routes, commands } = resource
  const collection = `/admin/${section}`
  const positionals = [commands.argument]
  const { confirm, done, ...removal } = commands.remove
  const body = (args: Arguments, command: 'add' | 'set') => ({
    ...readMembers(resource, args, command),
    ...withoutUndefined(readOthers(args)),
  })
  return [
    {
      name: `${noun} list`,
      ...commands.list,
      ...(routes.pages && { options: PAGE_OPTIONS }),
      run: (routes.pages === undefined ? list : listPage)(collection, commands.columns),
    },
    ...(commands.show === undefined
      ? []
      : [{ name: `${noun} show`, positionals, ...commands.show, run: show(collection) }]),
    {
      name: `${noun} add`,
      positionals,
      options: optionTable(resource, 'add'),
      ...commands.add,
      run:
        routes.replace === undefined
          ? create(collection, (args) => ({ [key]: args.positionals[0], ...body(args, 'add') }))
          : replace(collection, (args) => body(args, 'add')),
    },
    ...(commands.set === undefined
      ? []
      : [
          {
            name: `${noun} set`,
            positionals,
            options: optionTable(resource, 'set'),
            ...commands.set,
            run: change(collection, (args) => body(args, 'set')),
          },
        ]),
    {
      name: `${noun} remove`,
      positionals,
      ...removal,
      confirm: ([name = '']) => confirm(name),
      run: remove(collection, done),
    },
  ]
}

function memberOptions({ commands }: AnyResource, command: 'add' | 'set'): [OptionName, MemberOption][] {
  return Object.entries(commands.options).flatMap(([name, option]) => {
    const isOf = option.resets === true ? command === 'set' : option.only === undefined || option.only === command
    return isOf ? [[`--${name.slice(2)}`, option]] : []
  })
}

function optionTable(resource: AnyResource, command: 'add' | 'set'): OptionTable {
  return Object.fromEntries(
    memberOptions(resource, command).map(([name, { value, repeatable, resets, help }]) => [
      name,
      {
        ...(value !== undefined && { value }),
        ...((repeatable === true || resets === true) && { repeatable: true }),
        help,
      },
    ]),
  )
}

function readMembers(resource: AnyResource, args: Arguments, command: 'add' | 'set'): JsonObject {
  const members = new Map<string, unknown>()
  for (const [name, option] of memberOptions(resource, command)) {
    if (option.resets === true) for (const member of args.values(name)) members.set(member, null)
    if (option.member === undefined) continue
    const [member = '', part] = option.member.split('.', 2)
    const schema = memberSchema(resource.list.items, member)
    if (part === undefined) members.set(member, readOption(args, name, option, schema) ?? defaultValue(option, command))
    else {
      const value = readOption(args, name, option, memberSchema(schema, part))
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
  return args.value(name)
}

function defaultValue(option: MemberOption, command: 'add' | 'set'): string | undefined {
  return command === 'add' ? option.default : undefined
}
