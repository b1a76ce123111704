/** The change logs of PostgreSQL: one log table for each table, written by statement triggers, so that every program that writes is seen. */
import { createHash } from 'node:crypto'
import { isLongType } from 'gatehouse-iql'
import type { PoolClient } from 'pg'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import {
  alwaysLogged,
  formerColumns,
  hasLog,
  isKept,
  keyColumns,
  LOG_OP,
  LOG_PREFIX,
  logName,
  newColumns,
} from '../../change-log.ts'
import { isDelayed } from '../../delayed-copies.ts'
import type { Sql } from '../../emit/dialect.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { columnType, ROLE, SCHEMA } from '../representation.ts'
import { LOGS } from './log-heads.ts'

export const CREATE_LOGS = `CREATE TABLE IF NOT EXISTS ${LOGS} (
  name text COLLATE "C" PRIMARY KEY, log text COLLATE "C" NOT NULL, relation oid NOT NULL, epoch uuid NOT NULL,
  floor xid8 NOT NULL, definition text NOT NULL
)`

/** In a transaction. `always` are the columns that the log has however long the row. */
export async function createLog(
  client: PoolClient,
  table: TableDefinition,
  always?: ReadonlySet<string>,
): Promise<void> {
  for (const statement of logStatements(table, always)) await client.query(statement)
  const log = logName(table.name)
  await client.query(
    `INSERT INTO ${LOGS} (name, log, relation, epoch, floor, definition)
     VALUES ($1, $2, to_regclass($3)::oid, gen_random_uuid(), '0', $4)`,
    [table.name.toLowerCase(), log, `${SCHEMA}.${log}`, logDigest(table, always)],
  )
  await client.query(revokeWrites(log))
}

/** In a transaction. The log goes on, with other columns for long rows. */
export async function replaceFunction(
  client: PoolClient,
  table: TableDefinition,
  always?: ReadonlySet<string>,
): Promise<void> {
  for (const statement of logStatements(table, always))
    if (statement.startsWith(CREATE_FUNCTION))
      await client.query(`CREATE OR REPLACE FUNCTION${statement.slice(CREATE_FUNCTION.length)}`)
  await client.query(`UPDATE ${LOGS} SET definition = $1 WHERE log = $2`, [
    logDigest(table, always),
    logName(table.name),
  ])
}

/** In a transaction. The triggers go with the function. */
export async function dropLog(client: PoolClient, table: string): Promise<void> {
  const log = logName(table)
  await client.query(`DROP FUNCTION IF EXISTS ${SCHEMA}.${log}() CASCADE`)
  await client.query(`DROP TABLE IF EXISTS ${SCHEMA}.${log}`)
  await client.query(`DELETE FROM ${LOGS} WHERE log = $1`, [log])
}

/**
 * The triggers have no column lists, since those exclude transition tables: an update logs the rows before it, and the keys that are new
 * after it. -0 and 0 are the same as numbers but not as texts.
 */
function logStatements(table: TableDefinition, always?: ReadonlySet<string>): Sql[] {
  const log = `${SCHEMA}.${logName(table.name)}`
  const target = `${SCHEMA}.${POSTGRES.identifier(table.name)}`
  const keys = keyColumns(table)
  const others = formerColumns(table)
  const columns = [
    ...keys.map(({ type }, index) => `, k${index} ${columnType(type)}`),
    ', kept boolean NOT NULL DEFAULT false',
    ...others.map(({ type }, index) => `, o${index} ${columnType(type)}`),
    ...newColumns(table).map(({ type }, index) => `, n${index} ${columnType(type)}`),
  ].join('')
  const names = keys.map(({ name }) => `, ${POSTGRES.identifier(name)}`).join('')
  const keysOnly = `INSERT INTO ${log} (op${keys.map((_key, index) => `, k${index}`).join('')})`
  const into = `${keysOnly.slice(0, -1)}, kept${others.map((_column, index) => `, o${index}`).join('')})`
  // Without a key, one row records that something has changed.
  const from = (op: number, rows: Sql): Sql => `SELECT ${op}${names} FROM ${rows}${keys.length === 0 ? ' LIMIT 1' : ''}`
  const kept = isKept(others, ({ name }) => POSTGRES.identifier(name))
  const former = others.map(({ name, type }) => {
    const value = POSTGRES.identifier(name)
    const isAlways = kept === undefined || !isLongType(type) || always?.has(name)
    return isAlways ? `, ${value}` : `, CASE WHEN ${kept} THEN ${value} END`
  })
  const fromOld = (op: number): Sql => `SELECT ${op}${names}, ${kept ?? 'TRUE'}${former.join('')} FROM old_rows`
  // Not by NOT EXISTS: its plan would be made for the few rows of the first update, and kept for later ones of many rows.
  const compared = keys.map(({ name, type }, index) => {
    const value = POSTGRES.identifier(name)
    return type.kind === 'Double' ? `${value}, ${value}::text AS text${index}` : value
  })
  const nothing = others.map(({ type }) => `, NULL::${columnType(type)}`).join('')
  const newKeys = `SELECT ${LOG_OP.insert}${names}, FALSE${nothing}
    FROM (SELECT ${compared.join(', ')} FROM new_rows EXCEPT SELECT ${compared.join(', ')} FROM old_rows) AS n`
  const hasKey = keys.length > 0
  const became = newColumns(table)
  const withNew = `${keysOnly.slice(0, -1)}${became.map((_column, index) => `, n${index}`).join('')})`
  const newValues = became.map(({ name }) => `, ${POSTGRES.identifier(name)}`).join('')
  // An entry of an update has the row as it was; another one follows with the row as it became.
  const recordNew = `${withNew.replace('(op', '(op, kept')} SELECT ${LOG_OP.became}, TRUE${names}${newValues} FROM new_rows`
  const inserted =
    became.length === 0
      ? `${keysOnly} ${from(LOG_OP.insert, 'new_rows')}`
      : `${withNew} SELECT ${LOG_OP.insert}${names}${newValues} FROM new_rows`
  const trigger = (event: Sql, referencing: Sql): Sql =>
    `CREATE TRIGGER ${logName(table.name)}_${event.toLowerCase()} AFTER ${event} ON ${target}
     ${referencing} FOR EACH STATEMENT EXECUTE FUNCTION ${log}()`
  return [
    `CREATE TABLE ${log} (xid xid8 NOT NULL DEFAULT pg_current_xact_id(), seq bigint GENERATED ALWAYS AS IDENTITY,
       op smallint NOT NULL${columns})`,
    `CREATE INDEX ${logName(table.name)}_xid ON ${log} (xid)`,
    `${CREATE_FUNCTION} ${log}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $gh$
     BEGIN
       IF TG_OP = 'INSERT' THEN ${inserted};
       ELSIF TG_OP = 'UPDATE' THEN ${hasKey ? `${into} ${fromOld(LOG_OP.update)} UNION ALL ${newKeys}` : `${keysOnly} ${from(LOG_OP.update, 'new_rows')}`};${isDelayed(table) ? ` ${recordNew};` : ''}
       ELSIF TG_OP = 'DELETE' THEN ${hasKey ? `${into} ${fromOld(LOG_OP.delete)}` : `${keysOnly} ${from(LOG_OP.delete, 'old_rows')}`};
       ELSE UPDATE ${LOGS} SET epoch = gen_random_uuid() WHERE log = '${logName(table.name)}';
       END IF;
       RETURN NULL;
     END $gh$`,
    trigger('INSERT', 'REFERENCING NEW TABLE AS new_rows'),
    trigger('UPDATE', 'REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows'),
    trigger('DELETE', 'REFERENCING OLD TABLE AS old_rows'),
    trigger('TRUNCATE', ''),
  ]
}

const CREATE_FUNCTION = 'CREATE FUNCTION'

function logDigest(table: TableDefinition, always?: ReadonlySet<string>): string {
  return createHash('sha256').update(logStatements(table, always).join(';')).digest('hex')
}

/**
 * Tables of earlier versions and restored tables get a log; the log of a dropped table is removed. In a transaction. Returns the tables with
 * a new log, in lower case.
 */
export async function prepareLogs(
  client: PoolClient,
  tables: readonly TableDefinition[],
): Promise<ReadonlySet<string>> {
  const renewed = new Set<string>()
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT l.name, l.definition FROM ${LOGS} AS l JOIN pg_class AS c ON c.oid = l.relation AND c.relname = l.log
     WHERE (SELECT count(*) FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
            WHERE p.proname = l.log AND t.tgrelid = to_regclass('${SCHEMA}.' || quote_ident(l.name)) AND t.tgenabled = 'O') = 4`,
  )
  const known = new Map(rows.map(({ name, definition }) => [name, definition]))
  const wanted = new Set<string>()
  const always = alwaysLogged(tables)
  for (const table of tables) {
    if (!hasLog(table)) continue
    const key = table.name.toLowerCase()
    wanted.add(key)
    if (known.get(key) === logDigest(table, always.get(key))) continue
    await dropLog(client, key)
    await createLog(client, table, always.get(key))
    renewed.add(key)
  }
  const stored = await client.query<{ name: string }>(`SELECT name FROM ${LOGS}`)
  for (const { name } of stored.rows) if (!wanted.has(name)) await dropLog(client, name)
  return renewed
}

/** Only the triggers write the logs, and they run as the owner of the schema. */
export const REVOKE_WRITES = `DO $gh$ DECLARE name text; BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${ROLE}') THEN
    FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
      WHERE schemaname = '${SCHEMA}' AND (starts_with(tablename, '${LOG_PREFIX}') OR tablename = '_gh_logs') LOOP
      EXECUTE 'REVOKE INSERT, UPDATE, DELETE ON ' || name || ' FROM ${ROLE}';
    END LOOP;
    FOR name IN SELECT oid::regprocedure FROM pg_proc
      WHERE pronamespace = '${SCHEMA}'::regnamespace AND starts_with(proname, '${LOG_PREFIX}') LOOP
      EXECUTE 'REVOKE ALL ON FUNCTION ' || name || ' FROM PUBLIC, ${ROLE}';
    END LOOP;
  END IF; END $gh$`

/** Not of all logs: others may be changing them. */
function revokeWrites(log: string): string {
  return `DO $gh$ BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${ROLE}') THEN
    REVOKE INSERT, UPDATE, DELETE ON ${SCHEMA}.${log} FROM ${ROLE};
    REVOKE ALL ON FUNCTION ${SCHEMA}.${log}() FROM PUBLIC, ${ROLE};
  END IF; END $gh$`
}
