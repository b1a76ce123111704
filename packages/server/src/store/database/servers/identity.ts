/** What a PostgreSQL server says about itself, to every user: its cluster, its timeline, whether it is a standby, when it started. */
import type { ClientBase } from 'pg'

export interface ServerIdentity {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  /** The identifier that a cluster and all of its copies share. */
  readonly system: string
  /** Every promotion begins a new one, with the next number. Undefined on a standby. */
  readonly timeline: number | undefined
  /** From one start of the server to the next. A standby that is promoted keeps its own: it was no primary before. */
  readonly incarnation: string
  /** Seconds since 1970. */
  readonly startedAt: string
  /** Where recovery ended: at a promotion, where the timeline begins; undefined after a start without recovery. */
  readonly recoveredTo: bigint | undefined
  /** The next transaction has this number; undefined on a standby. */
  readonly nextXid: bigint | undefined
  /** Of the backend. It differs from what the connection says if a pooler is in between. */
  readonly pid: number
}

/** In SQL, because live queries read it with every snapshot. */
export const INCARNATION = `left(md5(extract(epoch FROM pg_postmaster_start_time())::text), 6)`

const IDENTITY = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    (SELECT system_identifier::text FROM pg_control_system()) AS system,
    CASE WHEN NOT pg_is_in_recovery() THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline,
    ${INCARNATION} AS incarnation, extract(epoch FROM pg_postmaster_start_time())::text AS "startedAt",
    pg_last_wal_replay_lsn()::text AS recovered,
    CASE WHEN NOT pg_is_in_recovery() THEN pg_snapshot_xmax(pg_current_snapshot())::text END AS "nextXid", pg_backend_pid() AS pid`

interface IdentityRow {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly system: string
  readonly timeline: number | null
  readonly incarnation: string
  readonly startedAt: string
  readonly recovered: string | null
  readonly nextXid: string | null
  readonly pid: number
}

export async function readIdentity(client: Pick<ClientBase, 'query'>): Promise<ServerIdentity> {
  const { rows } = await client.query<IdentityRow>(IDENTITY)
  const [row] = rows
  if (row === undefined) throw new Error('The database server did not say what it is')
  const { timeline, recovered, nextXid, ...same } = row
  return {
    ...same,
    timeline: timeline ?? undefined,
    recoveredTo: recovered === null ? undefined : readLsn(recovered),
    nextXid: nextXid === null ? undefined : BigInt(nextXid),
  }
}

/** A position in the write-ahead log: two hexadecimal numbers of 32 bits, such as 0/30161E0. */
export function readLsn(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

export function showLsn(lsn: bigint): string {
  return `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`.toUpperCase()
}
