/** What a change of the catalogue means for materialized views on PostgreSQL: rights, columns of change logs, and positions in logs that are replaced. */
import type { ClientBase, PoolClient } from 'pg'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import { alwaysLogged, hasLog } from '../../change-log.ts'
import { quoteIdentifier } from '../../emit/dialect.ts'
import type { KeptPlan } from '../../kept-engine.ts'
import { KEPT_STATES } from '../../kept-state-sql.ts'
import { writePosition } from '../dialect/positions.ts'
import { replaceFunction } from '../live/change-log.ts'
import { EXISTING_LOGS, HEAD_COLUMNS } from '../live/log-heads.ts'
import { ROLE, SCHEMA } from '../representation.ts'
import { evaluateTouched } from './evaluate.ts'

/** Only the keeper writes the views. */
export async function revokeWrites(client: ClientBase, tables: readonly TableDefinition[]): Promise<void> {
  const views = tables.filter(({ kept }) => kept !== undefined)
  if (views.length === 0) return
  if ((await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [ROLE])).rowCount === 0) return
  const names = views.map(({ name }) => `${SCHEMA}.${quoteIdentifier(name)}`).join(', ')
  await client.query(`REVOKE INSERT, UPDATE, DELETE ON ${names} FROM ${ROLE}`)
}

/** Brings views up to date before their table gets a new change log. Returns the keys of those that are, with their new counts stored. */
export async function catchUpViews(client: PoolClient, table: string, plans: readonly KeptPlan[]): Promise<string[]> {
  const own = plans.filter(({ base }) => base.toLowerCase() === table.toLowerCase())
  if (own.length === 0) return []
  // Nobody writes to it until the new log is there.
  await client.query(`LOCK TABLE ${SCHEMA}.${quoteIdentifier(own[0]?.base ?? table)} IN ACCESS EXCLUSIVE MODE`)
  const done: string[] = []
  for (const plan of own) {
    const key = plan.view.toLowerCase()
    const { rows } = await client.query<{ position: string | null }>(
      `SELECT position FROM ${SCHEMA}.${KEPT_STATES} WHERE key = $1 AND built AND state = 'ready' AND coalesce(cuts, '') = $2 FOR UPDATE`,
      [key, plan.cuts ?? ''],
    )
    const position = rows[0]?.position
    if (typeof position !== 'string') continue
    await client.query('SAVEPOINT kept')
    const evaluated = await evaluateTouched(client, plan, position)
    await client.query(evaluated === undefined ? 'ROLLBACK TO kept' : 'RELEASE kept')
    if (evaluated === undefined) continue
    const added = evaluated.inserted - evaluated.removed
    await client.query(`UPDATE ${SCHEMA}.${KEPT_STATES} SET rows = rows + $1 WHERE key = $2`, [added, key])
    done.push(key)
  }
  return done
}

/** They go on from the beginning of the new log. */
export async function moveViews(client: ClientBase, table: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const { rows } = await client.query<{ epoch: string; incarnation: string; snapshot: string }>(
    `SELECT ${HEAD_COLUMNS} FROM ${EXISTING_LOGS} WHERE l.name = $1`,
    [table.toLowerCase()],
  )
  const [head] = rows
  if (head === undefined) return
  const position = writePosition(head.epoch, head.incarnation, head.snapshot)
  await client.query(`UPDATE ${SCHEMA}.${KEPT_STATES} SET position = $1 WHERE key = ANY ($2)`, [position, [...keys]])
}

/** A new view, or the table that it reads, or that one read that is gone. `definitions` are those of all tables after the change. */
export async function followKept(
  client: PoolClient,
  change: CatalogueChange,
  gone: TableDefinition | undefined,
  definitions: readonly TableDefinition[],
): Promise<void> {
  const kept = change.kind === 'create' ? change.table.kept : change.kind === 'drop' ? gone?.kept : undefined
  const base = kept?.uses[0].toLowerCase()
  if (change.kind === 'create') await revokeWrites(client, [change.table])
  const table = definitions.find(({ name }) => name.toLowerCase() === base)
  if (table !== undefined && hasLog(table))
    await replaceFunction(client, table, alwaysLogged(definitions).get(table.name.toLowerCase()))
}
