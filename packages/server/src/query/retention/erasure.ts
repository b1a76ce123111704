/** Erases rows of a person: what a retention has closed too, but nothing that is held. */
import type { Audit, Principal } from 'gatehouse-protocol'
import { expressionText } from '../catalogue/create-table.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'

export interface Erasure {
  /** A condition in IQL, best with parameters for what is personal: it is in the audit log. */
  readonly where: string
  readonly parameters: Readonly<Record<string, string>>
  /** Who asked for it, or under which law. */
  readonly reason: string
  readonly isDryRun: boolean
}

/** Runs a statement with the rights of a caller; `erases` is the table whose closed rows it may delete. */
export type RunForCaller = (
  caller: Principal,
  statement: string,
  parameters?: Readonly<Record<string, string>>,
  options?: { readonly erases?: string },
) => Promise<{
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowsAffected: number | undefined
}>

export interface ErasureEnv {
  readonly snapshot: () => CatalogueSnapshot
  readonly query: RunForCaller
  readonly audit: Audit
}

/** Returns how many rows there were; undefined if there is no such table. */
export async function erase(
  caller: Principal,
  name: string,
  { where, parameters, reason, isDryRun }: Erasure,
  { snapshot, query, audit }: ErasureEnv,
): Promise<{ readonly Rows: number } | undefined> {
  const table = snapshot().findDefinition(name)
  if (table === undefined || table.view !== undefined) return undefined
  const condition = expressionText(where)
  const from = `FROM "${table.name.replaceAll('"', '""')}" WHERE ${condition}`
  if (isDryRun) {
    const { rows } = await query(caller, `SELECT count(*) AS n ${from}`, parameters)
    return { Rows: Number(rows[0]?.n ?? 0) }
  }
  const { rowsAffected = 0 } = await query(caller, `DELETE ${from}`, parameters, { erases: table.name })
  audit.record({
    event: 'retention.erased',
    actor: caller.subject,
    client: caller.clientId,
    target: table.name,
    details: { table: table.name, rows: rowsAffected, where: condition, reason },
  })
  return { Rows: rowsAffected }
}
