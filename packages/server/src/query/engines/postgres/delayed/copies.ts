/** The copies of delayed tables on PostgreSQL follow the definitions of their tables. */
import type { PoolClient } from 'pg'
import type { CatalogueChange, TableDefinition } from '../../../catalogue/definition.ts'
import { createIndex, createTable, dropIndex, type TableDialect } from '../../catalogue-sql.ts'
import { COPIES, type Copy, listCopies, MARKS, toCopyChange } from '../../delayed-copies.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { createLog, dropLog } from '../live/change-log.ts'
import { ROLE, SCHEMA } from '../representation.ts'
import { headSql } from './copy-sql.ts'

/** In the transaction of a change of the catalogue, after it. */
export async function changeCopies(
  client: PoolClient,
  change: CatalogueChange,
  before: TableDefinition | undefined,
  dialect: TableDialect,
): Promise<void> {
  const { drop, create, indexed } = toCopyChange(change, before)
  for (const { definition } of drop) await dropCopy(client, definition.name)
  for (const copy of create) {
    await createCopy(client, copy, dialect)
    await createLog(client, copy.definition)
    // The copy of a new table is what that was before: empty.
    await begin(client, copy, change.kind === 'create')
  }
  for (const [{ definition: old }, { definition }] of indexed) {
    for (const { name } of old.indexes) await client.query(dropIndex(name, dialect))
    for (const index of definition.indexes) await client.query(createIndex(definition.name, index, dialect).sql)
  }
  if (create.length > 0) await client.query(REVOKE_COPIES)
}

async function createCopy(client: PoolClient, { definition }: Copy, dialect: TableDialect): Promise<void> {
  await client.query(createTable(definition, dialect))
  for (const index of definition.indexes) await client.query(createIndex(definition.name, index, dialect).sql)
}

async function dropCopy(client: PoolClient, name: string): Promise<void> {
  await dropLog(client, name)
  await client.query(`DROP TABLE IF EXISTS ${SCHEMA}.${POSTGRES.identifier(name)}`)
  await client.query(`DELETE FROM ${SCHEMA}.${COPIES} WHERE name = $1`, [name])
}

/** It gets its rows from now on. */
async function begin(client: PoolClient, { definition, base, delay }: Copy, isWhole: boolean): Promise<void> {
  await client.query(
    `INSERT INTO ${SCHEMA}.${COPIES} (name, base, delay, phase, position, filled, asof)
     VALUES ($1, $2, $3, $4, ${headSql(base)}, NULL, NULL)
     ON CONFLICT (name) DO UPDATE SET phase = excluded.phase, position = excluded.position, filled = NULL, asof = NULL`,
    [definition.name, base.name.toLowerCase(), delay, isWhole ? 'open' : 'filling'],
  )
}

/** In a transaction, when a node starts, before logs are prepared: those of copies too. */
export async function prepareCopies(
  client: PoolClient,
  tables: readonly TableDefinition[],
  dialect: TableDialect,
): Promise<void> {
  const wanted = new Map(listCopies(tables).map((copy) => [copy.definition.name, copy]))
  const stored = await storedNames(client)
  for (const name of stored) if (!wanted.has(name)) await dropCopy(client, name)
  for (const [name, copy] of wanted) {
    if (stored.has(name) && (await hasForm(client, copy))) continue
    await dropCopy(client, name)
    await createCopy(client, copy, dialect)
  }
}

async function storedNames(client: PoolClient): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${SCHEMA}.${COPIES}`)
  return new Set(rows.map(({ name }) => name))
}

async function hasForm(client: PoolClient, { definition }: Copy): Promise<boolean> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum',
    [`${SCHEMA}.${POSTGRES.identifier(definition.name)}`],
  )
  return rows.map(({ name }) => name).join('\n') === definition.columns.map(({ name }) => name).join('\n')
}

/** After that: copies of a table whose log begins anew do so too. */
export async function beginCopies(
  client: PoolClient,
  tables: readonly TableDefinition[],
  renewed: ReadonlySet<string>,
): Promise<void> {
  const stored = await storedNames(client)
  for (const copy of listCopies(tables)) {
    const { name } = copy.definition
    if (stored.has(name) && !renewed.has(copy.base.name.toLowerCase())) continue
    await client.query(`DELETE FROM ${SCHEMA}.${POSTGRES.identifier(name)}`)
    await begin(client, copy, false)
  }
  await client.query(REVOKE_COPIES)
}

/** Only the keeper writes to them, as the owner of the schema. */
const REVOKE_COPIES = `DO $gh$ DECLARE name text; BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${ROLE}') THEN
    REVOKE ALL ON ${SCHEMA}.${COPIES}, ${SCHEMA}.${MARKS} FROM ${ROLE};
    FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
      WHERE schemaname = '${SCHEMA}' AND starts_with(tablename, '_gh_delayed_') LOOP
      EXECUTE 'REVOKE INSERT, UPDATE, DELETE ON ' || name || ' FROM ${ROLE}';
    END LOOP;
  END IF; END $gh$`
