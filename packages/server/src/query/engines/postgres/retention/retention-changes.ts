/** The triggers and the state of retention follow the definitions of their tables. */
import type { ClientBase } from 'pg'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import {
  followsTable,
  isGuarded,
  type KnownState,
  nextState,
  RETENTION,
  type StoredRetention,
} from '../../retention.ts'
import { SCHEMA } from '../representation.ts'
import { createTriggers, dropTriggers, haveSameTriggers, REVOKE, withoutTriggers } from './retention-triggers.ts'

const TABLE = `${SCHEMA}.${RETENTION}`

/** In a transaction, before a change of the catalogue. */
export async function beforeChange(client: ClientBase, change: CatalogueChange): Promise<void> {
  if (change.kind === 'drop') {
    if (change.isView) return
    await dropTriggers(client, change.name)
    await client.query(`DELETE FROM ${TABLE} WHERE name = $1`, [change.name.toLowerCase()])
  } else if (change.kind === 'alter' && isGuarded(change.from) && !keepsTriggers(change))
    await dropTriggers(client, change.name)
}

/** In the same transaction, after it. */
export async function afterChange(client: ClientBase, change: CatalogueChange): Promise<void> {
  if (change.kind === 'drop') return
  if (!keepsTriggers(change)) await createTriggers(client, change.table)
  if (change.kind === 'alter' && change.step.kind === 'rename-column') {
    const { column, to } = change.step
    const set = `UPDATE ${TABLE} SET time_column = $1 WHERE name = $2 AND time_column = $3`
    await client.query(set, [to, change.name.toLowerCase(), column])
    return
  }
  const before = change.kind === 'alter' ? change.from : undefined
  if (JSON.stringify(pick(before)) === JSON.stringify(pick(change.table))) return
  const { rows } = await client.query<{ now: string }>(
    'SELECT (extract(epoch from clock_timestamp()) * 1000000)::bigint AS now',
  )
  const now = BigInt(rows[0]?.now ?? 0)
  // A clock that differs moves nothing: see the rounds of the keeper.
  const isSure = Math.abs(Number(now / 1000n) - Date.now()) < 60_000
  await storeState(client, change.table, isSure ? now : undefined)
}

/** Other alterations write to the rows, or change the columns. */
function keepsTriggers(change: CatalogueChange): boolean {
  return change.kind === 'alter' && change.step.kind === 'rights' && haveSameTriggers(change.from, change.table)
}

function pick(table: TableDefinition | undefined): unknown {
  return [table?.retention?.time, table?.retention?.on, table?.isHeld ?? false]
}

/** Without a time the horizon stays where it is. */
async function storeState(client: ClientBase, table: TableDefinition, now: bigint | undefined): Promise<void> {
  const name = table.name.toLowerCase()
  const { rows } = await client.query<{ [Column in keyof StoredRetention]: string | null }>(
    `SELECT time, time_column AS "timeColumn", horizon, settling, cut FROM ${TABLE} WHERE name = $1`,
    [name],
  )
  const [row] = rows
  const stored = row && {
    time: row.time,
    timeColumn: row.timeColumn,
    horizon: toBigint(row.horizon),
    settling: toBigint(row.settling),
    cut: toBigint(row.cut),
  }
  const next = nextState(table, stored, now)
  if (next === undefined) {
    await client.query(`DELETE FROM ${TABLE} WHERE name = $1`, [name])
    return
  }
  const { time, timeColumn, horizon, settling, cut } = next
  await client.query(
    `INSERT INTO ${TABLE} (name, time, time_column, held, horizon, settling, cut, requested, done, removed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0)
     ON CONFLICT (name) DO UPDATE SET time = excluded.time, time_column = excluded.time_column, held = excluded.held, horizon = excluded.horizon,
       settling = excluded.settling, cut = excluded.cut`,
    [name, time, timeColumn, table.isHeld ? 1 : 0, horizon, settling, cut],
  )
}

function toBigint(text: string | null): bigint | null {
  return text === null ? null : BigInt(text)
}

/** In a transaction, when a node starts. An earlier version may have changed tables since, and a restored or moved table has no triggers. */
export async function prepareRetention(client: ClientBase, tables: readonly TableDefinition[]): Promise<void> {
  const guarded = tables.filter(isGuarded)
  for (const table of await withoutTriggers(client, guarded)) {
    await dropTriggers(client, table.name)
    await createTriggers(client, table)
  }
  const { rows } = await client.query<KnownState>(`SELECT name, time, time_column AS "timeColumn", held FROM ${TABLE}`)
  const states = new Map(rows.map((state) => [state.name, state]))
  for (const table of guarded) {
    const state = states.get(table.name.toLowerCase())
    if (state === undefined || !followsTable(state, table)) await storeState(client, table, undefined)
  }
  await client.query(REVOKE)
}
