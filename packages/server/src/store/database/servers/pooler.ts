/** Refuses a connection pooler that gives each transaction another connection: locks, LISTEN and session settings would not hold. */
import { UnfitDatabase } from '../unfit-database.ts'
import type { DatabaseServers } from './servers.ts'

const WITHIN_MS = 3000

/** Throws UnfitDatabase. Two transactions of one client run on two connections if another client takes the first in between. */
export async function refuseTransactionPooling(servers: DatabaseServers): Promise<void> {
  const config = { application_name: 'gatehouse start', connectionTimeoutMillis: WITHIN_MS, query_timeout: WITHIN_MS }
  const [client, ...others] = [servers.createClient(config), servers.createClient(config), servers.createClient(config)]
  const readPid = async (): Promise<number | undefined> =>
    (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
  try {
    await client.connect()
    for (const other of others) await other.connect()
    const before = await readPid()
    for (const other of others) await other.query('BEGIN')
    for (const other of others) await other.query('SELECT 1')
    if ((await readPid()) !== before) throw refusal()
  } catch (error) {
    throw error instanceof UnfitDatabase ? error : refusal(error)
  } finally {
    for (const each of [client, ...others]) await each.end().catch(() => {})
  }
}

function refusal(cause?: unknown): UnfitDatabase {
  return new UnfitDatabase(
    'A connection pooler between Gatehouse and PostgreSQL does not keep a connection for each client, which locks, LISTEN and session settings need: set pool_mode = session (PgBouncer) for this database with a pool for at least 25 connections per node, or connect to PostgreSQL itself.',
    { cause },
  )
}
