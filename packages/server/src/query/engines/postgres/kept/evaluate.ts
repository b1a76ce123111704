/** One evaluation of a materialized view, in a transaction of the caller at READ COMMITTED: each statement has a snapshot of its own. */
import type { ClientBase } from 'pg'
import { ENTRIES } from '../../catalogue-sql.ts'
import { quoteIdentifier } from '../../emit/dialect.ts'
import { fillSlots, type KeptPlan, type KeptStatement, type KeptStatements } from '../../kept-engine.ts'
import type { TablePosition } from '../../live-source.ts'
import { parsePosition, writePosition } from '../dialect/positions.ts'
import { SCHEMA } from '../representation.ts'

export interface Evaluated {
  readonly position: TablePosition
  readonly groups: number
  /** Rows of the view. */
  readonly inserted: number
  readonly updated: number
  readonly removed: number
}

/**
 * The planner does not know how many rows have changed; expecting many, it would read the whole table. The settings last until the end of the
 * transaction.
 */
const BY_KEY = `SELECT ${['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((name) => `set_config('${name}', 'off', true)`)
  .join(', ')}`

/** Those of the other engine are never planned here. */
export function atOnce({ view, statements }: KeptPlan): Extract<KeptStatements, { kind: 'at once' }> {
  if (statements.kind !== 'at once') throw new Error(`The statements of ${view} are of another engine`)
  return statements
}

/** Nobody alters or truncates the table until the end of the transaction. False if it is not as in the plan. */
export async function lockBase(client: ClientBase, { base, baseColumns }: KeptPlan): Promise<boolean> {
  const table = `${SCHEMA}.${quoteIdentifier(base)}`
  const { rows: found } = await client.query('SELECT 1 FROM to_regclass($1) AS r WHERE r IS NOT NULL', [table])
  if (found.length === 0) return false
  await client.query(`LOCK TABLE ${table} IN ACCESS SHARE MODE`)
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.value ->> 'name' AS name FROM ${SCHEMA}.${ENTRIES} AS t, json_array_elements(t.definition::json -> 'columns') WITH ORDINALITY AS c (value, n)
     WHERE t.key = $1 ORDER BY c.n`,
    [base.toLowerCase()],
  )
  return JSON.stringify(rows.map(({ name }) => name)) === JSON.stringify(baseColumns)
}

/** Of the touched groups. Undefined, with rows written that must be rolled back, if the changes since the position are not known. */
export async function evaluateTouched(
  client: ClientBase,
  plan: KeptPlan,
  position: TablePosition,
): Promise<Evaluated | undefined> {
  const since = parsePosition(position)
  if (since === undefined) return undefined
  await client.query(BY_KEY)
  const head = await run(client, atOnce(plan).follow, position)
  // The position is stored with the rows, so that it holds on any primary that has both.
  return head === undefined || head.epoch !== since.epoch || since.xmin < head.floor ? undefined : head
}

/** Of the whole view. Undefined if its table has no change log. */
export function evaluateAll(client: ClientBase, statement: KeptStatement): Promise<Evaluated | undefined> {
  return run(client, statement, '')
}

interface Head extends Evaluated {
  readonly epoch: string
  readonly floor: bigint
}

async function run(client: ClientBase, statement: KeptStatement, position: TablePosition): Promise<Head | undefined> {
  const { rows } = await client.query<Record<string, string | null>>(statement.sql, fillSlots(statement, position))
  const [row] = rows
  const { snapshot, incarnation, epoch, floor } = row ?? {}
  if (row === undefined || typeof snapshot !== 'string' || typeof incarnation !== 'string') return undefined
  if (typeof epoch !== 'string' || typeof floor !== 'string') return undefined
  const [groups, removed, inserted, written] = [row.groups, row.removed, row.inserted, row.written].map(Number)
  return {
    position: writePosition(epoch, incarnation, snapshot),
    epoch,
    floor: BigInt(floor),
    groups: groups ?? 0,
    removed: removed ?? 0,
    inserted: inserted ?? 0,
    updated: (written ?? 0) - (inserted ?? 0),
  }
}
