/** The primaries that the database has had, as its own table records them: whether what was true on one of them is still true. */
import type { ClientBase } from 'pg'
import { readIdentity, type ServerIdentity, showLsn } from './identity.ts'

export const HISTORY_TABLE = 'gatehouse.database_history'

/** A primary, from its start or promotion until the next one. */
export interface Incarnation {
  readonly id: string
  readonly timeline: number
  /** Seconds since 1970. */
  readonly startedAt: number
  /** The first transaction that it ran: earlier primaries may have given this number and higher ones to transactions that are lost. */
  readonly nextXid: bigint
  /** Where its recovery ended. */
  readonly recoveredTo: bigint | undefined
  /** What a node had acknowledged and does not find on it. */
  readonly lost: string | undefined
  readonly isAccepted: boolean
}

/** The transactions that a snapshot of the database sees as ended. */
export interface SeenTransactions {
  readonly xmax: bigint
  readonly running: readonly bigint[]
}

export class ServerHistory {
  /** In order. */
  #incarnations: readonly Incarnation[] = []

  replace(incarnations: readonly Incarnation[]): void {
    this.#incarnations = incarnations.toSorted((a, b) => a.timeline - b.timeline || a.startedAt - b.startedAt)
  }

  get incarnations(): readonly Incarnation[] {
    return this.#incarnations
  }

  /** The loss that no operator has accepted yet. */
  get lost(): string | undefined {
    return this.#incarnations.find(({ lost, isAccepted }) => lost !== undefined && !isAccepted)?.lost
  }

  /** Whether everything that the snapshot saw on the primary `from` is also true on the primary `to`; undefined if that is not known. */
  isContinued(from: string, to: string, { xmax, running }: SeenTransactions): boolean | undefined {
    const first = this.#incarnations.findIndex(({ id }) => id === from)
    const last = this.#incarnations.findIndex(({ id }) => id === to)
    if (first === -1 || last < first) return undefined
    return this.#incarnations.slice(first + 1, last + 1).every(({ nextXid, lost }) => {
      // Numbers from this one on are used again. Those that were running may be: what they write is new in any case.
      const again = xmax > nextXid ? xmax - nextXid : 0n
      return lost === undefined && again === BigInt(running.filter((xid) => xid >= nextXid).length)
    })
  }
}

interface HistoryRow {
  readonly incarnation: string
  readonly timeline: string
  readonly started_at: string
  readonly next_xid: string
  readonly recovered_to: string | null
  readonly lost: string | null
  readonly accepted_at: string | null
}

/** Undefined before the table is created, and for a user that may not read it: other checks say so. */
export async function readHistory(client: ClientBase, system: string): Promise<Incarnation[] | undefined> {
  const found = await client.query<{ readable: boolean | null }>(
    `SELECT CASE WHEN n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'USAGE')
       THEN has_table_privilege(to_regclass('${HISTORY_TABLE}')::oid, 'SELECT') END AS readable
     FROM (SELECT) AS one LEFT JOIN pg_namespace AS n ON n.nspname = 'gatehouse'`,
  )
  if (found.rows[0]?.readable !== true) return undefined
  const { rows } = await client.query<HistoryRow>(
    `SELECT incarnation, timeline::text, started_at, next_xid, recovered_to, lost, accepted_at::text
     FROM ${HISTORY_TABLE} WHERE system_id = $1`,
    [system],
  )
  return rows.map((row) => ({
    id: row.incarnation,
    timeline: Number(row.timeline),
    startedAt: Number(row.started_at),
    nextXid: BigInt(row.next_xid),
    recoveredTo: row.recovered_to === null ? undefined : BigInt(row.recovered_to),
    lost: row.lost ?? undefined,
    isAccepted: row.accepted_at !== null,
  }))
}

/**
 * Records a primary before this node writes to it. Does not wait for standbys: a row that is lost with this primary is not needed. Of
 * several nodes the one that came first knows the number of the first transaction best.
 */
export async function recordIncarnation(
  client: ClientBase,
  { system, incarnation, timeline, startedAt, nextXid, recoveredTo }: ServerIdentity,
  lost: string | undefined,
): Promise<void> {
  await client.query('BEGIN')
  await client.query('SET LOCAL synchronous_commit = local')
  await client.query(
    `INSERT INTO ${HISTORY_TABLE} AS h (system_id, incarnation, timeline, started_at, next_xid, recovered_to, lost, recorded_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (system_id, incarnation) DO UPDATE
     SET next_xid = least(h.next_xid::numeric, excluded.next_xid::numeric)::text, lost = coalesce(h.lost, excluded.lost)`,
    [
      system,
      incarnation,
      timeline ?? 0,
      startedAt,
      String(nextXid ?? 0n),
      recoveredTo === undefined ? null : String(recoveredTo),
      lost ?? null,
      Date.now(),
    ],
  )
  await client.query('COMMIT')
}

export interface AcceptedServer {
  readonly system: string
  readonly timeline: number | undefined
  readonly lost: readonly string[]
}

/** Continues with a database that lacks acknowledged writes. Returns what was lost, and the server that has no more than this. */
export async function acceptLoss(client: ClientBase): Promise<AcceptedServer> {
  const { system, timeline } = await readIdentity(client)
  if ((await readHistory(client, system)) === undefined) return { system, timeline, lost: [] }
  await client.query('SET default_transaction_read_only = off')
  const { rows } = await client.query<{ lost: string }>(
    `UPDATE ${HISTORY_TABLE} SET accepted_at = $2 WHERE system_id = $1 AND lost IS NOT NULL AND accepted_at IS NULL RETURNING lost`,
    [system, Date.now()],
  )
  return { system, timeline, lost: rows.map(({ lost }) => lost) }
}

/** In words, for operators. */
export function describeLoss(
  node: string,
  upTo: bigint,
  identity: ServerIdentity,
  takenOverAt: bigint | undefined,
): string {
  const where = takenOverAt === undefined ? '' : ` at ${showLsn(takenOverAt)}`
  return `the node ${node} has acknowledged writes up to ${showLsn(upTo)} in the write-ahead log, and the server that began timeline ${identity.timeline}${where} does not have all of them`
}
