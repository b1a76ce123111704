/**
 * The row of the keeper: the one node that does the work of views, retention and alerts. What both engines share. A commit of the keeper is
 * conditional on its term, so that a node that slept cannot write: see `requireTerm` of each engine. A holder renews the row each second, or
 * shows otherwise that it goes on: then an idle database has no commits.
 */
import type { BuildSql, ServiceStore, TermOfKeeper } from './service-store.ts'

export const KEEPER = '_gh_keeper'

/** How long a holder that does not renew its term keeps it, by the clock of the database. */
const LEASE_MS = 5_000
/** No holder writes such a time: the clock has been set back since. */
const IMPOSSIBLE_MS = 2 * LEASE_MS

export interface Candidate {
  /** Random, and new at every start. */
  readonly node: string
  /** For people, and on SQLite the process: see `nodeName`. */
  readonly name: string
}

/** The time in which a node is the keeper, without a gap. */
export type KeeperTerm = TermOfKeeper

export interface KeeperHolder extends Candidate {
  readonly isVoid: boolean
}

interface HolderRow extends Candidate {
  readonly until: number | string
  readonly state: string
}

/** What an engine knows of the process of a holder besides the row. */
export interface HolderProcesses {
  /** Whether the process of this name has ended. */
  isGone(name: string): boolean
  /** Shows that the holder goes on, without a commit. False if that is not possible: then it commits. */
  beat(): boolean
  /** When the holder last did so, in milliseconds. */
  lastBeat(): number | undefined
  /** There is no holder any more. */
  clear(): void
}

/** Those of this process, which has not ended. */
const CANDIDATES = new Set<string>()

export class KeeperLease {
  readonly #store: ServiceStore
  readonly #processes: HolderProcesses | undefined
  readonly #table: string

  constructor(store: ServiceStore, processes?: HolderProcesses) {
    this.#store = store
    this.#processes = processes
    this.#table = `${store.schema}.${KEEPER}`
  }

  async holder(): Promise<KeeperHolder | undefined> {
    const row = await this.#findRow()
    return row && { node: row.node, name: row.name, isVoid: this.#isVoid(row) }
  }

  async #findRow(): Promise<HolderRow | undefined> {
    const { now } = this.#store
    const [row] = await this.#store.read<HolderRow>(
      () =>
        `SELECT node, name, until, CASE WHEN ${isVoid('until', now)} THEN 'void' ELSE '' END AS state FROM ${this.#table}`,
    )
    return row
  }

  #isVoid({ node, name, state }: HolderRow): boolean {
    if (!CANDIDATES.has(node) && this.#processes?.isGone(name)) return true
    return state === 'void' && !this.#hasBeaten(LEASE_MS)
  }

  /** Whether a holder has shown within this time that it goes on. */
  #hasBeaten(withinMs: number): boolean {
    const beat = this.#processes?.lastBeat()
    // No holder writes a time that is later: the clock has been set back since.
    return beat !== undefined && Math.abs(Date.now() - beat) < withinMs
  }

  /** Undefined if another node is the keeper. */
  async take({ node, name }: Candidate): Promise<KeeperTerm | undefined> {
    CANDIDATES.add(node)
    const holder = await this.#findRow()
    if (holder !== undefined && !this.#isVoid(holder)) return undefined
    const { now } = this.#store
    // A new row begins with the time: the epochs of a row that was deleted were lower. The one that is there must be as it was read: its
    // holder may have renewed it, or another node taken it.
    const taken = await this.#store.write([
      (value) => `INSERT INTO ${this.#table} (id, node, name, epoch, until)
        VALUES (1, ${value(node)}, ${value(name)}, ${now}, ${now} + ${LEASE_MS})
        ON CONFLICT (id) DO UPDATE SET node = excluded.node, name = excluded.name, epoch = ${KEEPER}.epoch + 1, until = excluded.until
        WHERE ${KEEPER}.node = ${value(holder?.node ?? '')} AND ${KEEPER}.until = ${value(BigInt(holder?.until ?? 0))}`,
    ])
    if (taken === 0) return undefined
    this.#processes?.beat()
    return this.#findTerm(node)
  }

  async #findTerm(node: string): Promise<KeeperTerm | undefined> {
    const [row] = await this.#store.read<{ epoch: number | string }>(
      (value) => `SELECT epoch FROM ${this.#table} WHERE node = ${value(node)}`,
    )
    return row && { node, epoch: Number(row.epoch) }
  }

  /** False if another node is the keeper now. */
  async renew(term: KeeperTerm): Promise<boolean> {
    // After a sleep another node may be about to take the row, which a commit decides.
    if (this.#hasBeaten(LEASE_MS / 2) && this.#processes?.beat()) return this.#isHeld(term)
    const until = `${this.#store.now} + ${LEASE_MS}`
    const changed = await this.#store.write([
      (value) => `UPDATE ${this.#table} SET until = ${until} WHERE ${isOfTerm(term, value)}`,
    ])
    if (changed > 0) this.#processes?.beat()
    return changed > 0
  }

  async #isHeld(term: KeeperTerm): Promise<boolean> {
    const rows = await this.#store.read(
      (value) => `SELECT 1 AS held FROM ${this.#table} WHERE ${isOfTerm(term, value)}`,
    )
    return rows.length > 0
  }

  async release(term: KeeperTerm): Promise<void> {
    const removed = await this.#store.write([(value) => `DELETE FROM ${this.#table} WHERE ${isOfTerm(term, value)}`])
    if (removed > 0) this.#processes?.clear()
  }
}

/** The condition of a commit of the keeper. */
export function isOfTerm({ node, epoch }: KeeperTerm, value: Parameters<BuildSql>[0]): string {
  return `node = ${value(node)} AND epoch = ${value(BigInt(epoch))}`
}

function isVoid(until: string, now: string): string {
  return `(${until} <= ${now} OR ${until} > ${now} + ${IMPOSSIBLE_MS})`
}

/** The node is no longer the keeper: what it was about to commit is rolled back. */
export class TermLost extends Error {
  constructor() {
    super('Another node is the keeper now')
  }
}
