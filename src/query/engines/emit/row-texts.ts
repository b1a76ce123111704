/** Bounds the texts of stored rows by how often a statement holds them at once. */
import { MAX_HELD_BYTES, MAX_HELD_TEXTS } from '../../iql/limits.ts'
import type { Sql } from './dialect.ts'
import type { Emission } from './expression.ts'
import { total } from './held-parameters.ts'

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
