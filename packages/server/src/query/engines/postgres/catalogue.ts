/** The catalogue in PostgreSQL: a table and its entry change in one transaction, on a connection of the schema's owner. */
import { randomUUID } from 'node:crypto'
import { readTimestamp } from 'gatehouse-iql'
import type { ClientBase, PoolClient } from 'pg'
import { type PostgresPlace, withConnection } from '../../../store/database/servers/one-connection.ts'
import { type CatalogueChange, type CatalogueRow, readDefinition } from '../../catalogue/definition.ts'
import { concernsViews, ViewGuard } from '../../catalogue/view-guard.ts'
import { refuse } from '../../errors.ts'
import {
  type CatalogueDialect,
  changeStatements,
  ENTRIES,
  plain,
  selectEntries,
  selectEntry,
  selectStoredEntries,
  tableName,
} from '../catalogue-sql.ts'
import { alwaysLogged, toLogChange } from '../change-log.ts'
import type { SqlStatement } from '../emit/parameters.ts'
import type { ChangeRequest, ChangeStep, Stoppable, WriteReply } from '../engine.ts'
import type { KeptPlan } from '../kept-engine.ts'
import { changeCopies } from './delayed/copies.ts'
import { POSTGRES } from './dialect/dialect.ts'
import { runOnce } from './idempotency-keys.ts'
import { catchUpViews, followKept, moveViews } from './kept/kept-changes.ts'
import { createLog, dropLog } from './live/change-log.ts'
import type { Acquire } from './pool.ts'
import { mustCommit } from './protocol/pipeline.ts'
import { columnType, SCHEMA, toPostgres } from './representation.ts'
import * as retention from './retention/retention-changes.ts'
import { withRetries } from './retry.ts'
import type { TempFileSetting } from './temp-files.ts'

export const CATALOGUE: CatalogueDialect = {
  identifier: POSTGRES.identifier,
  truth: POSTGRES.truth,
  keyFits: POSTGRES.keyFits,
  schema: SCHEMA,
  columnType,
  placeholder: (position) => `$${position}`,
  bind: toPostgres,
  selectTimestamp: (column) => `${column}::text`,
  textKeyOptions: '',
  indexOn: (index, table) => `${index} ON ${SCHEMA}.${table}`,
  // A name that PostgreSQL chooses, such as trades_pkey, could no longer be used for a table.
  constraint: () => `CONSTRAINT ${POSTGRES.identifier(`_gh_key_${randomUUID()}`)} `,
  addColumn(table, { name, type, nullable, isUnique }, fill) {
    const target = tableName(table, CATALOGUE)
    const column = POSTGRES.identifier(name)
    const statements: SqlStatement[] = [plain(`ALTER TABLE ${target} ADD COLUMN ${column} ${columnType(type)}`)]
    if (fill !== null) statements.push({ sql: `UPDATE ${target} SET ${column} = $1`, parameters: [fill] })
    if (!nullable) statements.push(plain(`ALTER TABLE ${target} ALTER COLUMN ${column} SET NOT NULL`))
    if (isUnique) statements.push(plain(`ALTER TABLE ${target} ADD ${CATALOGUE.constraint()}UNIQUE (${column})`))
    return statements
  },
}

/** One node at a time creates or changes anything in the schema. */
export const CATALOGUE_LOCK = 'SELECT pg_advisory_xact_lock(7301945120366)'

export async function readCatalogue(client: ClientBase): Promise<CatalogueRow[]> {
  return readRows(client, plain(selectEntries(CATALOGUE)))
}

/** Of all that `readCatalogue` returns. */
export async function digestCatalogue(client: ClientBase): Promise<string> {
  const sql = `SELECT md5(coalesce(string_agg(t::text, ' '), '')) AS digest FROM (${selectEntries(CATALOGUE)}) AS t`
  const { rows } = await client.query<{ digest: string }>(sql)
  return rows[0]?.digest ?? ''
}

/** Empty in a database that the service has not prepared yet. */
export function readStoredCatalogue(place: PostgresPlace): Promise<CatalogueRow[]> {
  const config = { application_name: 'gatehouse start', settings: { DateStyle: 'ISO', TimeZone: 'UTC' } }
  return withConnection(place, config, async (client) => {
    const { rows } = await client.query('SELECT to_regclass($1) AS found', [`${SCHEMA}.${ENTRIES}`])
    return rows[0]?.found === null ? [] : readRows(client, plain(selectStoredEntries(CATALOGUE)))
  })
}

const NEVER: Stoppable = new AbortController()

/** It can deadlock with writers of a table that it alters. */
export function change(
  acquire: Acquire,
  request: ChangeRequest,
  { temp_file_limit: tempKib }: TempFileSetting,
): Promise<WriteReply | undefined> {
  const { owner, running = NEVER } = request
  return withRetries(acquire, { owner, running, isLong: true, inTransaction: true }, async (client) => {
    await client.query('BEGIN')
    // An index is built with a sort. The service itself has no limit.
    if (tempKib !== undefined && owner !== undefined) await client.query(`SET LOCAL temp_file_limit = ${tempKib}`)
    return applyAll(client, request)
  })
}

async function applyAll(
  client: PoolClient,
  { changes, kept = [], response }: ChangeRequest,
): Promise<WriteReply | undefined> {
  const apply = async (): Promise<void> => {
    await client.query(CATALOGUE_LOCK)
    if (changes.some(({ change }) => concernsViews(change)))
      new ViewGuard((await readCatalogue(client)).map(readDefinition)).accept(changes.map(({ change }) => change))
    for (const step of changes) await applyChange(client, step, kept)
  }
  if (response === undefined) {
    await apply()
    await mustCommit(client)
    return undefined
  }
  return runOnce(client, response.idempotencyKey, async () => {
    await apply()
    return response.outcome
  })
}

async function applyChange(client: PoolClient, step: ChangeStep, kept: readonly KeptPlan[]): Promise<void> {
  refuseColumnar(step.change)
  const [entry] = await readRows(client, selectEntry(step.change, CATALOGUE))
  const statements = changeStatements(step, entry, CATALOGUE)
  await retention.beforeChange(client, step.change)
  const log = toLogChange(step.change)
  const views = log.drop === undefined ? [] : await catchUpViews(client, log.drop, kept)
  if (log.drop !== undefined) await dropLog(client, log.drop)
  for (const statement of statements) await runStatement(client, statement)
  const gone = entry && readDefinition(entry)
  const isKept = (step.change.kind === 'create' ? step.change.table : gone)?.kept !== undefined
  const definitions = isKept || kept.length > 0 ? (await readCatalogue(client)).map(readDefinition) : []
  if (log.create !== undefined) {
    await createLog(client, log.create, alwaysLogged(definitions).get(log.create.name.toLowerCase()))
    await moveViews(client, log.create.name, views)
  }
  if (isKept) await followKept(client, step.change, gone, definitions)
  await retention.afterChange(client, step.change)
  await changeCopies(client, step.change, entry && readDefinition(entry), CATALOGUE)
}

/** A table that was moved here from the embedded engine keeps the word. */
function refuseColumnar(change: CatalogueChange): void {
  if (change.kind === 'drop' || !change.table.isColumnar || (change.kind === 'alter' && change.from.isColumnar)) return
  throw refuse('Data.NotColumnar', `${change.table.name} cannot have columns = on: the database is PostgreSQL`)
}

async function readRows(client: ClientBase, { sql, parameters }: SqlStatement): Promise<CatalogueRow[]> {
  type Row = Omit<CatalogueRow, 'created' | 'id'> & { created: string; id: string | null }
  const { rows } = await client.query<Row>(sql, [...parameters])
  return rows.map((row) => ({
    ...row,
    created: readTimestamp(row.created) ?? 0n,
    id: row.id === null ? null : BigInt(row.id),
  }))
}

export async function runStatement(client: PoolClient, { sql, parameters }: SqlStatement): Promise<void> {
  await client.query(sql, [...parameters])
}
