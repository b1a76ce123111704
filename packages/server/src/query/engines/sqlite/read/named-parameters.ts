/** Parameters of a statement by name, beside those that it has by position. */
import type { Bindable, SharedValues } from '../../emit/parameters.ts'

/** Named parameters are in the object that is the last one. */
export function withNamed(parameters: readonly Bindable[], named: SharedValues): Bindable[] {
  const last = parameters.at(-1)
  if (typeof last !== 'object' || last === null || last instanceof Uint8Array) return [...parameters, named]
  return [...parameters.slice(0, -1), { ...last, ...named }]
}
