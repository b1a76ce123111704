/** The triggers that keep closed rows as they are, and all rows of a held table. They judge in the transaction of the writer, whichever program it is. */
import { createHash } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { SqlStatement } from '../../emit/parameters.ts'
import { CUTS, isGuarded, RETENTION, RETENTION_PREFIX, retentionName } from '../../retention.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { ROLE, SCHEMA } from '../representation.ts'

/** What the errors name as their constraint. Their detail is the table, and for closed rows the horizon in microseconds. */
export const TOO_OLD = '_gh_retention'
export const HELD = '_gh_hold'

/** In a transaction. */
export async function createTriggers(client: ClientBase, table: TableDefinition): Promise<void> {
  if (!isGuarded(table)) return
  for (const statement of buildTriggerStatements(table)) await client.query(statement)
  const name = `${SCHEMA}.${retentionName(table.name)}()`
  await client.query(`COMMENT ON FUNCTION ${name} IS '${digest(table)}'`)
  await client.query(REVOKE)
}

/** In a transaction. The triggers go with the function. */
export async function dropTriggers(client: ClientBase, table: string): Promise<void> {
  await client.query(`DROP FUNCTION IF EXISTS ${SCHEMA}.${retentionName(table)}() CASCADE`)
}

/** Whether both need the same triggers: creating them waits for every writer of the table. */
export function haveSameTriggers(one: TableDefinition, other: TableDefinition): boolean {
  return isGuarded(one) === isGuarded(other) && digest(one) === digest(other)
}

/** The tables whose triggers are not as they should be. */
export async function withoutTriggers(
  client: ClientBase,
  tables: readonly TableDefinition[],
): Promise<readonly TableDefinition[]> {
  const { rows } = await client.query<{ name: string; digest: string | null }>(
    `SELECT p.proname AS name, obj_description(p.oid, 'pg_proc') AS digest FROM pg_proc AS p
     WHERE p.pronamespace = '${SCHEMA}'::regnamespace AND starts_with(p.proname, '${RETENTION_PREFIX}')
       AND (SELECT count(*) FROM pg_trigger AS t WHERE t.tgfoid = p.oid AND t.tgenabled = 'O') = ${EVENTS.length}`,
  )
  const stored = new Map(rows.map(({ name, digest }) => [name, digest]))
  return tables.filter((table) => stored.get(retentionName(table.name)) !== digest(table))
}

/** Around statements that may delete closed rows of a table, in their transaction. The role of callers cannot do this. */
export function allowClosed(table: string): {
  readonly lead: readonly SqlStatement[]
  readonly tail: readonly SqlStatement[]
} {
  const name = table.toLowerCase()
  const asOwner = (sql: Sql): SqlStatement[] => [
    plain("SELECT set_config('gatehouse.role', current_setting('role'), true), set_config('role', 'none', true)"),
    { sql, parameters: [name] },
    plain("SELECT set_config('role', current_setting('gatehouse.role'), true)"),
  ]
  return {
    lead: asOwner(`INSERT INTO ${SCHEMA}.${CUTS} (name) VALUES ($1)`),
    tail: asOwner(`DELETE FROM ${SCHEMA}.${CUTS} WHERE name = $1`),
  }
}

function plain(sql: Sql): SqlStatement {
  return { sql, parameters: [] }
}

const EVENTS: readonly (readonly [event: Sql, referencing: Sql])[] = [
  ['INSERT', 'REFERENCING NEW TABLE AS new_rows'],
  ['UPDATE', 'REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows'],
  ['DELETE', 'REFERENCING OLD TABLE AS old_rows'],
  ['TRUNCATE', ''],
]

function buildTriggerStatements(table: TableDefinition): Sql[] {
  const { name, retention, isHeld = false } = table
  const own = retentionName(name)
  const target = `${SCHEMA}.${POSTGRES.identifier(name)}`
  const key = literal(name.toLowerCase())
  const column = POSTGRES.identifier(retention?.on ?? '')
  const refuse = (constraint: string, text: string, detail: Sql): Sql =>
    `RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = '${constraint}', TABLE = ${literal(name)},
       MESSAGE = ${literal(text)}, DETAIL = ${detail};`
  const held = refuse(HELD, `${name} is held: its rows may not be deleted`, "''")
  const tooOld = refuse(TOO_OLD, `rows of ${name} that are older than its retention are closed`, 'bound::text')
  const found = (rows: Sql): Sql => `EXISTS (SELECT FROM ${rows} WHERE ${column} < closed)`
  // A transaction with one snapshot for all its statements would not see a later horizon: it locks the row, which fails if it has changed.
  // Each expression is planned as a whole, so it names only rows that the event has.
  const closedRows = `SELECT horizon INTO bound FROM ${SCHEMA}.${RETENTION} WHERE name = ${key};
     IF current_setting('transaction_isolation') <> 'read committed' THEN
       SELECT horizon INTO bound FROM ${SCHEMA}.${RETENTION} WHERE name = ${key} FOR SHARE;
       IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = '40001',
         MESSAGE = ${literal(`could not serialize access: ${name} has a retention since`)};
       END IF;
     END IF;
     closed := timestamp 'epoch' + bound * interval '1 microsecond';
     IF TG_OP = 'INSERT' THEN IF ${found('new_rows')} THEN ${tooOld} END IF;
     ELSIF TG_OP = 'UPDATE' THEN IF ${found('old_rows')} OR ${found('new_rows')} THEN ${tooOld} END IF;
     ELSIF TG_OP = 'DELETE' THEN
       IF ${found('old_rows')} AND NOT EXISTS (SELECT FROM ${SCHEMA}.${CUTS} WHERE name = ${key}) THEN ${tooOld} END IF;
     ELSIF ${found(target)} THEN ${tooOld}
     END IF;`
  const heldRows = `IF TG_OP = 'TRUNCATE' THEN ${held}
     ELSIF TG_OP = 'DELETE' THEN IF EXISTS (SELECT FROM old_rows) THEN ${held} END IF;
     END IF;`
  return [
    `CREATE FUNCTION ${SCHEMA}.${own}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $gh$
     DECLARE bound bigint; closed timestamp;
     BEGIN
       ${isHeld ? heldRows : ''}
       ${retention === undefined ? '' : closedRows}
       RETURN NULL;
     END $gh$`,
    // Before the rows are gone.
    ...EVENTS.map(
      ([event, referencing]) =>
        `CREATE TRIGGER ${own}_${event.toLowerCase()} ${event === 'TRUNCATE' ? 'BEFORE' : 'AFTER'} ${event} ON ${target}
         ${referencing} FOR EACH STATEMENT EXECUTE FUNCTION ${SCHEMA}.${own}()`,
    ),
  ]
}

function digest(table: TableDefinition): string {
  return createHash('sha256').update(buildTriggerStatements(table).join(';')).digest('hex')
}

function literal(text: string): Sql {
  return `'${text.replaceAll("'", "''")}'`
}

/** Only the triggers read the state, and they run as the owner of the schema. */
export const REVOKE = `DO $gh$ DECLARE name text; BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${ROLE}') THEN
    EXECUTE 'REVOKE ALL ON ${SCHEMA}.${RETENTION}, ${SCHEMA}.${CUTS} FROM ${ROLE}';
    FOR name IN SELECT oid::regprocedure FROM pg_proc
      WHERE pronamespace = '${SCHEMA}'::regnamespace AND starts_with(proname, '${RETENTION_PREFIX}') LOOP
      EXECUTE 'REVOKE ALL ON FUNCTION ' || name || ' FROM PUBLIC, ${ROLE}';
    END LOOP;
  END IF; END $gh$`
