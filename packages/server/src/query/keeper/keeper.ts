/**
 * Makes one node the keeper, which does the work of views, retention and alerts for all nodes. While something is kept, each node that runs
 * the query service asks for the row `_gh_keeper` every second, and the one that holds it renews it, or shows otherwise that it goes on.
 */
import { randomUUID } from 'node:crypto'
import { nodeName, upgradePending } from '../../store/cluster/nodes.ts'
import type { KeeperLease, KeeperTerm } from '../engines/keeper-lease.ts'

export interface Kept {
  readonly name: string
  /** Begins the work of a term; the returned function ends it. */
  start(term: KeeperTerm): Stop
}

/** Resolves when nothing runs any more. */
export type Stop = () => void | Promise<void>

export interface KeeperOptions {
  readonly lease: KeeperLease
  readonly onError: (error: unknown) => void
  /** The names of running nodes that do not know what is kept. */
  readonly older?: (() => Promise<readonly string[]>) | undefined
  readonly renewMs?: number
}

const RENEW_MS = 1_000
/** Less than the time after which another node may take over. */
const SURE_MS = 4_500

export class Keeper {
  readonly #options: KeeperOptions
  readonly #candidate = { node: randomUUID(), name: nodeName() }
  readonly #kept = new Set<Kept>()
  readonly #started = new Map<Kept, Stop>()
  #term: KeeperTerm | undefined
  #loop: Promise<void> | undefined
  /** When the last renewal began that has succeeded. */
  #renewedAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  #wake: () => void = () => {}

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  /** Starts the work whenever this node becomes the keeper. The returned function ends that. */
  keep(kept: Kept): () => void {
    this.#kept.add(kept)
    this.#loop ??= this.#run()
    this.#wake()
    return () => {
      this.#kept.delete(kept)
      this.#wake()
    }
  }

  /** Whether no other node can be the keeper yet, also if this one has slept. */
  get isSure(): boolean {
    return this.#term !== undefined && performance.now() - this.#renewedAt < SURE_MS
  }

  get isHolding(): boolean {
    return this.#term !== undefined
  }

  /** Call it before something is made that is kept: nodes of earlier versions would not keep it. */
  async requireUpgraded(): Promise<void> {
    const older = (await this.#options.older?.()) ?? []
    if (older.length > 0) throw upgradePending(older)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#isClosed && this.#kept.size > 0) {
      // Set before this turn, so that nothing that is kept meanwhile waits for the next one.
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await this.#attempt(() => this.#turn())
      const timer = setTimeout(this.#wake, this.#options.renewMs ?? RENEW_MS).unref()
      await woken
      clearTimeout(timer)
    }
    await this.#endTerm()
    this.#loop = undefined
    if (!this.#isClosed && this.#kept.size > 0) this.#loop = this.#run()
  }

  async #turn(): Promise<void> {
    const { lease } = this.#options
    const began = performance.now()
    if (this.#term === undefined) this.#term = await lease.take(this.#candidate)
    else if (!(await lease.renew(this.#term))) {
      this.#term = undefined
      await this.#stop([...this.#started.keys()])
      return
    }
    this.#renewedAt = began
    await this.#stop([...this.#started.keys()].filter((kept) => !this.#kept.has(kept)))
    if (this.#term !== undefined) await this.#start(this.#term)
  }

  async #start(term: KeeperTerm): Promise<void> {
    for (const kept of this.#kept)
      if (!this.#started.has(kept)) await this.#attempt(() => this.#started.set(kept, kept.start(term)))
  }

  async #stop(ended: readonly Kept[]): Promise<void> {
    for (const kept of ended) {
      const stop = this.#started.get(kept)
      this.#started.delete(kept)
      await this.#attempt(() => stop?.())
    }
  }

  async #endTerm(): Promise<void> {
    await this.#stop([...this.#started.keys()])
    const term = this.#term
    this.#term = undefined
    if (term !== undefined) await this.#attempt(() => this.#options.lease.release(term))
  }

  async #attempt(step: () => unknown): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#options.onError(error)
    }
  }
}
