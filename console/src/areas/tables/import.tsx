/** Import. */
import type { TableDetail } from './catalogue.ts'

export function Import({ table }: { readonly table: TableDetail }) {
  return <p>{table.name}</p>
}
