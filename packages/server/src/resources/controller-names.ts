/** Which names are taken among the controllers of streams: the one place that knows every kind of them. */
import { BUILT_IN_CONTROLLERS } from 'gatehouse-protocol'
import type { Fault } from '../schema/check-schema.ts'

/** What has each name, in words. */
export type TakenNames = ReadonlyMap<string, string>

/** `loaded` are the controllers of the modules that the server has loaded. */
export function takenNames(loaded: Iterable<string> = []): TakenNames {
  return new Map([
    ...[...loaded].map((name) => [name, 'a controller that the server has loaded'] as const),
    ...BUILT_IN_CONTROLLERS.map((name) => [name, 'a built-in controller'] as const),
  ])
}

export function nameFault(name: string, taken: TakenNames): string | undefined {
  const owner = taken.get(name)
  return owner === undefined ? undefined : `${name} is the name of ${owner}: choose another`
}

interface Declared {
  readonly name: string
}

/** A feed and a remote controller cannot share a name. `others` are those of the other kind, in the file and in the database. */
export function sharedNames(
  list: 'feeds' | 'controllers',
  declared: readonly Declared[] = [],
  others: Iterable<string>,
): readonly Fault[] {
  const owner = list === 'feeds' ? 'a remote controller' : 'a feed'
  const taken = new Map([...others].map((name) => [name, owner]))
  return declared.flatMap(({ name }, index) => {
    const text = nameFault(name, taken)
    return text === undefined ? [] : [{ path: `${list}[${index}].name`, text }]
  })
}
