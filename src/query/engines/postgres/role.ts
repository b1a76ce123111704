/** The role that queries run as: it can use the query data and nothing else, whatever the role that connects can do. */
import type { PoolClient } from 'pg'
import { SCHEMA } from './representation.ts'
import { POSTGRES_AUDIT_TABLE } from './system-tables.ts'

/** Gives the role's name, or '' when the connecting role may not make one; then its own rights are the bound. */
export async function prepareRole(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ database: string; exists: boolean; creates: boolean }>(
    `SELECT current_database() AS database, EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'gatehouse_query') AS exists,
       (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS creates`,
  )
  const found = rows[0]
  if (found === undefined || (!found.exists && !found.creates)) return ''
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock(7301945120367)')
    if (!found.exists) {
      await client.query(
        `DO $$ BEGIN CREATE ROLE gatehouse_query NOLOGIN NOINHERIT; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
      )
    }
    if (found.creates) await client.query('GRANT gatehouse_query TO CURRENT_USER')
    await client.query(`GRANT USAGE ON SCHEMA ${SCHEMA} TO gatehouse_query`)
    await client.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO gatehouse_query`)
    await client.query(
      `REVOKE INSERT, UPDATE, DELETE ON ${SCHEMA}._gh_tables, ${POSTGRES_AUDIT_TABLE} FROM gatehouse_query`,
    )
    await client.query(`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO gatehouse_query`)
    await client.query(
      `ALTER DEFAULT PRIVILEGES IN SCHEMA ${SCHEMA} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO gatehouse_query`,
    )
    await client.query('COMMIT')
    return 'gatehouse_query'
  } catch (error) {
    await client.query('ROLLBACK')
    // Another owner's role of this name: not ours to grant or to use.
    if (error instanceof Error && 'code' in error && error.code === '42501') return ''
    throw error
  }
}
