/** The commands that follow from a resource definition: `list`, `show`, `add`, `set` and `remove`. */
import type { AnyResource, MemberOption, MemberSchema } from '../../resources/define-resource.ts'
import type { Arguments, OptionName, OptionTable } from '../args.ts'
import type { JsonObject } from '../output/json.ts'
import { change, create, list, listPage, remove, show } from './actions.ts'
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
      run: create(collection, (args) => ({ [key]: args.positionals[0], ...body(args, 'add') })),
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
  const { properties } = resource.list.items
  const members: [name: string, value: unknown][] = []
  for (const [name, option] of memberOptions(resource, command)) {
    const { member } = option
    if (option.resets === true) members.push(...args.values(name).map((each): [string, null] => [each, null]))
    else if (member !== undefined && Object.hasOwn(properties, member))
      members.push([member, readOption(args, name, option, properties[member]) ?? defaultValue(option, command)])
  }
  return withoutUndefined(Object.fromEntries(members))
}

/** As the type of the member says. */
function readOption(args: Arguments, name: OptionName, option: MemberOption, schema: MemberSchema = {}): unknown {
  if (option.value === undefined) return args.has(name) ? true : undefined
  if (option.repeatable === true) return readList(args, name)
  if (schema.type === 'integer') return args.integer(name)
  if (schema.type === 'boolean') return readBoolean(args, name)
  return args.value(name)
}

function defaultValue(option: MemberOption, command: 'add' | 'set'): string | undefined {
  return command === 'add' ? option.default : undefined
}
