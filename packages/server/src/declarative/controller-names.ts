/** Which names are taken among the controllers of streams: the one place that knows every kind of them. */
import { BUILT_IN_CONTROLLERS } from 'gatehouse-protocol'

/** What has each name, in words. */
export type TakenNames = ReadonlyMap<string, string>

/**
 * `loaded` are the controllers of the modules that the server has loaded. `declared` are names of another declared kind, with the words for
 * it: a feed and a remote controller cannot share a name.
 */
export function takenNames(
  loaded: Iterable<string> = [],
  declared: Iterable<readonly [name: string, owner: string]> = [],
): TakenNames {
  return new Map([
    ...declared,
    ...[...loaded].map((name) => [name, 'a controller that the server has loaded'] as const),
    ...BUILT_IN_CONTROLLERS.map((name) => [name, 'a built-in controller'] as const),
  ])
}

export function nameFault(name: string, taken: TakenNames): string | undefined {
  const owner = taken.get(name)
  return owner === undefined ? undefined : `${name} is the name of ${owner}: choose another`
}
