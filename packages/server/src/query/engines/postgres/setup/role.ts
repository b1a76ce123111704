/** The role that queries run as, which can use the query data and nothing else. */
import type { PoolClient } from 'pg'
import { AGENT_CALLS } from '../../agent-calls.ts'
import { ALERT_EVENTS, ALERT_RUNS, ALERT_STATES, ALERT_TABLES } from '../../alert-tables.ts'
import { DOCUMENT_READERS, DOCUMENTS } from '../../document-rows.ts'
import { KEEPER } from '../../keeper-lease.ts'
import { KEPT_STATES } from '../../kept-state-sql.ts'
import { WATCHES } from '../../watch-rows.ts'
import { POSTGRES_AUDIT_TABLE } from '../dialect/system-tables.ts'
import { ROLE, SCHEMA } from '../representation.ts'

const JOIN_ROLE = `GRANT ${ROLE} TO CURRENT_USER`
// Another node, in another database of the same server, may create it at the same time.
const CREATE_ROLE = `DO $$ BEGIN CREATE ROLE ${ROLE} NOLOGIN NOINHERIT; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$; ${JOIN_ROLE}`

const GRANTS = [
  `GRANT USAGE ON SCHEMA ${SCHEMA} TO ${ROLE}`,
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${ROLE}`,
  `REVOKE INSERT, UPDATE, DELETE ON ${SCHEMA}._gh_tables, ${POSTGRES_AUDIT_TABLE} FROM ${ROLE}`,
  `REVOKE ALL ON ${SCHEMA}.${DOCUMENTS}, ${SCHEMA}.${DOCUMENT_READERS}, ${SCHEMA}.${WATCHES}, ${SCHEMA}.${AGENT_CALLS}, ${SCHEMA}.${KEEPER}, ${SCHEMA}.${KEPT_STATES} FROM ${ROLE}`,
  `REVOKE ALL ON ${ALERT_TABLES.map(({ name }) => `${SCHEMA}.${name}`).join(', ')} FROM ${ROLE}`,
  // The system tables of alerts show each caller their own.
  `GRANT SELECT ON ${[ALERT_RUNS, ALERT_STATES, ALERT_EVENTS].map(({ name }) => `${SCHEMA}.${name}`).join(', ')} TO ${ROLE}`,
  `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO ${ROLE}`,
  `ALTER DEFAULT PRIVILEGES IN SCHEMA ${SCHEMA} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${ROLE}`,
]

/** In a transaction. Returns '' when the connecting user may not create or use the role: then queries run as that user. */
export async function prepareRole(client: PoolClient): Promise<string> {
  const isThere = (await roleExists(client)) || (await isAllowed(client, CREATE_ROLE))
  if (!isThere || !(await canUseRole(client))) return ''
  for (const grant of GRANTS) await client.query(grant)
  return ROLE
}

/** A role of this name may belong to another database of the same server, and this user may not be allowed to use it. */
async function canUseRole(client: PoolClient): Promise<boolean> {
  return (await canSetRole(client)) || ((await isAllowed(client, JOIN_ROLE)) && (await canSetRole(client)))
}

async function roleExists(client: PoolClient): Promise<boolean> {
  return (await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [ROLE])).rowCount !== 0
}

function canSetRole(client: PoolClient): Promise<boolean> {
  return isAllowed(client, `SET LOCAL ROLE ${ROLE}; RESET ROLE`)
}

/** insufficient_privilege, and undefined_object if the role has just been dropped. */
const REFUSED = new Set(['42501', '42704'])

/** Runs the statement; false when the connecting user may not. */
async function isAllowed(client: PoolClient, statement: string): Promise<boolean> {
  await client.query('SAVEPOINT attempt')
  try {
    await client.query(statement)
    return true
  } catch (error) {
    await client.query('ROLLBACK TO attempt')
    if (error instanceof Error && 'code' in error && REFUSED.has(String(error.code))) return false
    throw error
  }
}
