/** Prepares a database for the query data: checks that it fits, then creates the schema and the role that queries run as. */
import type { PoolClient } from 'pg'
import { retry } from '../../../../lib/retry.ts'
import { readDefinition } from '../../../catalogue/definition.ts'
import { systemDefinitions } from '../../../catalogue/system-tables.ts'
import { addIdColumn, createSystemTables, ENTRIES, ID_COLUMN, numberEntries, storeEntry } from '../../catalogue-sql.ts'
import { listCopies } from '../../delayed-copies.ts'
import { CATALOGUE, CATALOGUE_LOCK, readCatalogue, runStatement } from '../catalogue.ts'
import { beginCopies, prepareCopies } from '../delayed/copies.ts'
import { revokeWrites } from '../kept/kept-changes.ts'
import { CREATE_LOGS, prepareLogs, REVOKE_WRITES } from '../live/change-log.ts'
import { SCHEMA } from '../representation.ts'
import { prepareRetention } from '../retention/retention-changes.ts'
import { createUnicodeCollation, refuseUnfit } from './fitness.ts'
import { HELPER_AGGREGATES, HELPER_FUNCTIONS } from './functions.ts'
import { functionSql } from './helper-function.ts'
import { prepareRole } from './role.ts'

const RETRIES = { attempts: 8, firstMs: 20, longestMs: 160, mayRetry: isLostRace }

/** Returns the name of the role that queries run as, or '' for the connecting user itself. */
export async function prepareDatabase(client: PoolClient): Promise<string> {
  await refuseUnfit(client)
  return retry(() => prepareOnce(client), RETRIES)
}

/** One transaction under one lock: GRANT and CREATE OR REPLACE of two nodes would update the same rows of the catalog. */
async function prepareOnce(client: PoolClient): Promise<string> {
  await client.query('BEGIN')
  try {
    await client.query(CATALOGUE_LOCK)
    await createSchema(client)
    const tables = (await readCatalogue(client)).map(readDefinition)
    await prepareCopies(client, tables, CATALOGUE)
    const renewed = await prepareLogs(client, [...tables, ...listCopies(tables).map(({ definition }) => definition)])
    const role = await prepareRole(client)
    await revokeWrites(client, tables)
    await prepareRetention(client, tables)
    await beginCopies(client, tables, renewed)
    await client.query(REVOKE_WRITES)
    await client.query('COMMIT')
    return role
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function createSchema(client: PoolClient): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
  await client.query(`REVOKE ALL ON SCHEMA ${SCHEMA} FROM PUBLIC`)
  await createUnicodeCollation(client)
  for (const statement of [...createSystemTables(CATALOGUE), CREATE_LOGS]) await client.query(statement)
  await addIds(client)
  // The functions call one another: bodies are not checked before all exist.
  await client.query('SET LOCAL check_function_bodies = off')
  for (const helper of HELPER_FUNCTIONS) await client.query(functionSql(helper))
  for (const statement of HELPER_AGGREGATES) await client.query(statement)
  for (const table of systemDefinitions()) await runStatement(client, storeEntry(table, true, CATALOGUE))
}

/** Not with IF NOT EXISTS, which takes an exclusive lock on the table in any case. */
async function addIds(client: PoolClient): Promise<void> {
  const find = 'SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2 AND NOT attisdropped'
  const { rowCount } = await client.query(find, [`${SCHEMA}.${ENTRIES}`, ID_COLUMN])
  if (rowCount === 0) await client.query(addIdColumn(CATALOGUE))
  await client.query(numberEntries(CATALOGUE))
}

/** Roles belong to the whole server, and the lock to one database: a node in another database may change the role too. */
function isLostRace(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false
  return error.code === '40P01' || error.code === '23505' || error.message === 'tuple concurrently updated'
}
