/** The longest texts in keys and indexes, which both databases have to hold. */
import { type IqlType, isLongType, MAX_KEY_BYTES, type TableView } from 'gatehouse-iql'

interface KeyedTable extends Pick<TableView, 'primaryKey' | 'uniques'> {
  readonly columns: readonly { readonly name: string; readonly type: IqlType }[]
}

/** The most bytes of a value in the column; undefined if it is in no key and no index, or never long. The long columns of a key share its limit. */
export function findKeyLimit(
  { columns, primaryKey, uniques }: KeyedTable,
  indexes: readonly (readonly string[])[],
  column: string,
): number | undefined {
  const keys = [primaryKey, ...uniques, ...indexes].filter((key) => key.includes(column))
  // Most columns are in none, and this is asked for each of up to two thousand.
  if (keys.length === 0) return undefined
  const long = new Set(columns.filter(({ type }) => isLongType(type)).map(({ name }) => name))
  if (!long.has(column)) return undefined
  return Math.floor(MAX_KEY_BYTES / Math.max(...keys.map((key) => key.filter((name) => long.has(name)).length)))
}
