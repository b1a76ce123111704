/** The role that queries run as: it can use the query data and nothing else, whatever the role that connects can do. */
import type { PoolClient } from 'pg'
import { SCHEMA } from './representation.ts'
import { POSTGRES_AUDIT_TABLE } from './system-tables.ts'

const ROLE = 'gatehouse_query'

/** Gives the role's name, or '' when the connecting role may not make or use one; then its own rights are the bound. */
export async function prepareRole(client: PoolClient): Promise<string> {
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock(7301945120367)')
    // Another's role of this name, in another database of the same server, may not be ours to use.
    const isOurs = (await isThere(client)) ? await becomes(client) : await succeeds(client, CREATE)
    const isUsable = isOurs || ((await succeeds(client, JOIN)) && (await becomes(client)))
    if (isUsable) for (const grant of GRANTS) await client.query(grant)
    await client.query('COMMIT')
    return isUsable ? ROLE : ''
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

const JOIN = `GRANT ${ROLE} TO CURRENT_USER`
// Others may make it at the same moment, from another database.
const CREATE = `DO $$ BEGIN CREATE ROLE ${ROLE} NOLOGIN NOINHERIT; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$; ${JOIN}`

const GRANTS = [
  `GRANT USAGE ON SCHEMA ${SCHEMA} TO ${ROLE}`,
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${ROLE}`,
  `REVOKE INSERT, UPDATE, DELETE ON ${SCHEMA}._gh_tables, ${POSTGRES_AUDIT_TABLE} FROM ${ROLE}`,
  `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO ${ROLE}`,
  `ALTER DEFAULT PRIVILEGES IN SCHEMA ${SCHEMA} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${ROLE}`,
]

async function isThere(client: PoolClient): Promise<boolean> {
  return (await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [ROLE])).rowCount !== 0
}

function becomes(client: PoolClient): Promise<boolean> {
  return succeeds(client, `SET LOCAL ROLE ${ROLE}; RESET ROLE`)
}

/** False when the connecting role lacks the right. */
async function succeeds(client: PoolClient, statement: string): Promise<boolean> {
  await client.query('SAVEPOINT attempt')
  try {
    await client.query(statement)
    return true
  } catch (error) {
    await client.query('ROLLBACK TO attempt')
    if (error instanceof Error && 'code' in error && error.code === '42501') return false
    throw error
  }
}
