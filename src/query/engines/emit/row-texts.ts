/** Bounds the texts of a row by how often a statement holds them at once. */
import { MAX_HELD_BYTES, MAX_HELD_TEXTS } from '../../iql/limits.ts'
import type { IqlValue } from '../../iql/types.ts'
import { heldTextsError } from '../runtime-error.ts'
import type { Sql } from './dialect.ts'
import type { Emission } from './expression.ts'
import type { TextWeight } from './text-weight.ts'

/** A condition that fails the statement for a row of the source whose texts are too long; undefined where none can be. */
export function emitTextsFit(source: number, { weight, dialect, sources }: Emission): Sql | undefined {
  const columns = weight?.columns.get(source)
  if (weight === undefined || columns === undefined || dialect.textFits === undefined) return undefined
  const all = [...weight.columns.values()].flatMap((uses) => [...uses.values()])
  if (total(all) <= MAX_HELD_TEXTS) return undefined
  const columnOf = sources.get(source)
  const fits = Array.from(columns, ([name, times]) =>
    dialect.textFits?.(columnOf?.(0, name) ?? name, Math.floor(MAX_HELD_BYTES / all.length / times)),
  )
  return fits.join(' AND ')
}

/** What the parameters of a statement are used for, if they can be too long for it. */
export interface HeldParameters {
  readonly times: ReadonlyMap<number, number>
  readonly literalBytes: number
}

export function heldParameters({ parameters, literalBytes }: TextWeight): HeldParameters | undefined {
  const isHarmless = total([...parameters.values()]) <= MAX_HELD_TEXTS && literalBytes <= MAX_HELD_BYTES
  return isHarmless ? undefined : { times: parameters, literalBytes }
}

export function refuseHeld({ times, literalBytes }: HeldParameters, values: readonly IqlValue[]): void {
  let bytes = literalBytes
  for (const [index, count] of times) bytes += count * lengthOf(values[index])
  if (bytes > MAX_HELD_BYTES) throw heldTextsError(Math.floor(MAX_HELD_BYTES / Math.max(1, total([...times.values()]))))
}

function lengthOf(value: IqlValue | undefined): number {
  if (value instanceof Uint8Array) return value.length
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
