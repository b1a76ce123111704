/**
 * The row of the keeper: the one node that does the work of views, retention and alerts. What both engines share. A commit of the keeper is
 * conditional on its term, so that a node that slept cannot write: see `requireTerm` of each engine.
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

/** Those of this process, which has not ended. */
const CANDIDATES = new Set<string>()

export class KeeperLease {
  readonly #store: ServiceStore
  readonly #isGone: (name: string) => boolean
  readonly #table: string

  /** `isGone` says that the process of this name has ended. */
  constructor(store: ServiceStore, isGone: (name: string) => boolean = () => false) {
    this.#store = store
    this.#isGone = isGone
    this.#table = `${store.schema}.${KEEPER}`
  }

  async holder(): Promise<KeeperHolder | undefined> {
    const { now } = this.#store
    const [row] = await this.#store.read<Candidate & { state: string }>(
      () => `SELECT node, name, CASE WHEN ${isVoid('until', now)} THEN 'void' ELSE '' END AS state FROM ${this.#table}`,
    )
    return row && { node: row.node, name: row.name, isVoid: row.state === 'void' || this.#hasEnded(row) }
  }

  #hasEnded({ node, name }: Candidate): boolean {
    return !CANDIDATES.has(node) && this.#isGone(name)
  }

  /** Undefined if another node is the keeper. */
  async take({ node, name }: Candidate): Promise<KeeperTerm | undefined> {
    CANDIDATES.add(node)
    const holder = await this.holder()
    if (holder?.isVoid === false) return undefined
    const { now } = this.#store
    // A new row begins with the time: the epochs of a row that was deleted were lower.
    const taken = await this.#store.write([
      (value) => `INSERT INTO ${this.#table} (id, node, name, epoch, until)
        VALUES (1, ${value(node)}, ${value(name)}, ${now}, ${now} + ${LEASE_MS})
        ON CONFLICT (id) DO UPDATE SET node = excluded.node, name = excluded.name, epoch = ${KEEPER}.epoch + 1, until = excluded.until
        WHERE ${isVoid(`${KEEPER}.until`, now)} OR ${KEEPER}.node = ${value(holder?.node ?? '')}`,
    ])
    return taken === 0 ? undefined : this.#findTerm(node)
  }

  async #findTerm(node: string): Promise<KeeperTerm | undefined> {
    const [row] = await this.#store.read<{ epoch: number | string }>(
      (value) => `SELECT epoch FROM ${this.#table} WHERE node = ${value(node)}`,
    )
    return row && { node, epoch: Number(row.epoch) }
  }

  /** False if another node is the keeper now. */
  async renew(term: KeeperTerm): Promise<boolean> {
    const until = `${this.#store.now} + ${LEASE_MS}`
    const changed = await this.#store.write([
      (value) => `UPDATE ${this.#table} SET until = ${until} WHERE ${isOfTerm(term, value)}`,
    ])
    return changed > 0
  }

  async release(term: KeeperTerm): Promise<void> {
    await this.#store.write([(value) => `DELETE FROM ${this.#table} WHERE ${isOfTerm(term, value)}`])
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
