/** The name of the row identifier in SQLite. */
import { sameName } from 'gatehouse-iql'

/** Undefined when columns use all three names. */
export function rowId(columns: readonly string[]): string | undefined {
  return ['rowid', '_rowid_', 'oid'].find((name) => !columns.some((column) => sameName(column, name)))
}
