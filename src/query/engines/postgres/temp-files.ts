/** The limit of temporary files (`temp_file_limit`), which PostgreSQL lets only some users set. */
import type { ClientBase } from 'pg'
import { loadPg } from '../../../store/pg.ts'
import type { TempLimits } from '../engine.ts'

const KIB = 1024
/** The largest value of the parameter. */
const MAX_KIB = 2 ** 31 - 1
const INSUFFICIENT_PRIVILEGE = '42501'

export interface TempFileLimit {
  /** In KiB; undefined without a limit. */
  readonly current: number | undefined
  /** Whether the connecting user may set it. */
  readonly isSettable: boolean
}

export interface TempFileSetting {
  /** In KiB. */
  readonly temp_file_limit?: number
}

/** Outside of a transaction. */
export async function readTempFileLimit(client: ClientBase): Promise<TempFileLimit> {
  const { rows } = await client.query<{ kib: string }>(
    "SELECT setting AS kib FROM pg_settings WHERE name = 'temp_file_limit'",
  )
  const kib = Number(rows[0]?.kib ?? -1)
  return { current: kib < 0 ? undefined : kib, isSettable: await isSettable(client) }
}

/** For a check of an installation. */
export async function readTempFileLimitOf(url: string): Promise<TempFileLimit> {
  const client = new (loadPg().Client)({ connectionString: url, application_name: 'gatehouse doctor' })
  client.on('error', () => {})
  try {
    await client.connect()
    return await readTempFileLimit(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * The setting of the connections that run queries; nothing where it may not be set. PostgreSQL counts each process for itself, so
 * that every connection that a user can have gets a share. A limit of the database's own that is lower remains.
 */
export function tempFileSetting(
  { current = MAX_KIB, isSettable: canSet }: TempFileLimit,
  limits: TempLimits,
  connections: number,
): TempFileSetting {
  if (!canSet) return {}
  // Nobody gets the last connection as a second one.
  const bytes = Math.min(limits.statement, limits.user / Math.max(1, connections - 1))
  return { temp_file_limit: Math.min(Math.floor(bytes / KIB), current) }
}

/** A superuser may, and whom one allows it (PostgreSQL 15 and later). */
async function isSettable(client: ClientBase): Promise<boolean> {
  await client.query('BEGIN')
  try {
    await client.query('SET LOCAL temp_file_limit = -1')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === INSUFFICIENT_PRIVILEGE) return false
    throw error
  } finally {
    await client.query('ROLLBACK')
  }
}
