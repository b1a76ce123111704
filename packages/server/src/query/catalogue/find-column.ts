/** Columns of a table by the names that requests give. */
import { didYouMean, type TableView } from 'gatehouse-iql'
import { refuse } from '../errors.ts'
import { shown } from '../json.ts'

/** The name in the spelling of the table. Names are case-insensitive. */
export function findColumn(table: TableView, name: string): string {
  const found = columnsByName(table).get(name.toLowerCase())
  if (found !== undefined) return found
  const names = table.columns.map((column) => column.name)
  const hint = didYouMean(name, names)
  throw refuse('Criteria.UnknownColumn', `The table ${table.name} has no column ${shown(name)}`, {
    members: { Expected: names, ...(hint === undefined ? {} : { Hint: hint }) },
  })
}

const COLUMNS = new WeakMap<TableView, ReadonlyMap<string, string>>()

/** The names of the columns by their lower-case spelling. */
function columnsByName(table: TableView): ReadonlyMap<string, string> {
  let columns = COLUMNS.get(table)
  if (columns === undefined) {
    columns = new Map(table.columns.map(({ name }) => [name.toLowerCase(), name]))
    COLUMNS.set(table, columns)
  }
  return columns
}
