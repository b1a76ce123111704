/** Bounds the texts of stored rows by how often a statement holds them at once. */
import { MAX_HELD_BYTES, MAX_HELD_TEXTS } from 'gatehouse-iql'
import type { Sql } from './dialect.ts'
import type { Emission } from './expression.ts'
import { total } from './held-parameters.ts'

/** A condition that fails the statement for a row of the source whose texts are too long; undefined where none can be. */
export function emitTextsFit(source: number, { weight, dialect: { textFits }, sources }: Emission): Sql | undefined {
  const columns = textFits === undefined ? undefined : weight()?.columns
  const uses = columns?.get(source)
  const columnOf = sources.get(source)
  if (textFits === undefined || columns === undefined || uses === undefined || columnOf === undefined) return undefined
  const all = [...columns.values()].flatMap((times) => [...times.values()])
  if (total(all) <= MAX_HELD_TEXTS) return undefined
  const limitOf = (times: number): number => Math.floor(MAX_HELD_BYTES / all.length / times)
  return Array.from(uses, ([name, times]) => textFits(columnOf(0, name), limitOf(times))).join(' AND ')
}
