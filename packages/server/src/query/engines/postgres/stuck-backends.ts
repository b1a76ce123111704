/** Backends that keep running a statement after a request to stop. Its slot stays occupied until they have ended. */
import type { Pool, PoolClient } from 'pg'
import type { Stoppable, StuckStatement } from '../engine.ts'
import type { SlotRequest } from '../slots/fair-slots.ts'
import { backendId } from './protocol/protocol.ts'

const CHECK_MS = 1000
/** How long a terminated backend may take to end when the server stops. */
const TERMINATION_MS = 2000
const TERMINATION_CHECK_MS = 100
/** As lists of running queries show a statement. */
const SHOWN_LENGTH = 500

const BATCH: Stoppable = new AbortController()

export type OnStuck = (stuck: StuckStatement) => void

interface Backend {
  readonly pid: number
  readonly statement: Omit<StuckStatement, 'pid' | 'ignores'>
  /** Process ids are reused: this distinguishes two backends. Known from the first check on. */
  startedAt: string | undefined
  readonly outlived: () => void
}

/** PostgreSQL checks for interrupts in many places, but not in all loops: see gatehouse-iql's bound/search.ts for one of them. */
export class StuckBackends {
  readonly #owner: Pool
  readonly #onStuck: OnStuck
  readonly #backends = new Set<Backend>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(owner: Pool, onStuck: OnStuck) {
    this.#owner = owner
    this.#onStuck = onStuck
  }

  get size(): number {
    return this.#backends.size
  }

  /** Its connection is closed already. `release` is called once, when the backend is gone. */
  watch(client: PoolClient, { owner, statement = '' }: SlotRequest, running: Stoppable, release: () => void): void {
    const pid = backendId(client)
    const end = running.outlive?.()
    const shown = running.statement ?? statement.slice(0, SHOWN_LENGTH)
    const outlived = (): void => {
      end?.()
      release()
    }
    this.#backends.add({ pid, statement: { owner, statement: shown }, startedAt: undefined, outlived })
    if (!this.#isClosed) this.#schedule(0)
  }

  /** For a batch of short statements, of which one does not end; it is not known which. They hold no slot. */
  watchBatch(client: PoolClient): void {
    this.watch(client, { owner: '', statement: 'one of several short statements' }, BATCH, () => {})
  }

  /** Terminates the remaining backends. They may ignore it and outlive the server. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    if (this.#backends.size === 0) return
    await this.#check()
    await this.#select('pg_terminate_backend(pid)')
    const until = performance.now() + TERMINATION_MS
    while (this.#backends.size > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, TERMINATION_CHECK_MS))
      await this.#check()
    }
    for (const { pid, statement } of this.#backends) this.#onStuck({ ...statement, pid, ignores: 'termination' })
  }

  #schedule(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(async () => {
      // A database that does not answer gives no information about its backends.
      await this.#check().catch(() => {})
      if (this.#backends.size > 0 && !this.#isClosed) this.#schedule(CHECK_MS)
    }, milliseconds).unref()
  }

  async #check(): Promise<void> {
    const checked = [...this.#backends]
    const found = new Map((await this.#select('pid')).map(({ pid, started }) => [pid, started]))
    for (const backend of checked) {
      const startedAt = found.get(backend.pid)
      if (startedAt === undefined || startedAt !== (backend.startedAt ?? startedAt)) {
        if (this.#backends.delete(backend)) backend.outlived()
      } else if (backend.startedAt === undefined) {
        backend.startedAt = startedAt
        this.#onStuck({ ...backend.statement, pid: backend.pid, ignores: 'cancellation' })
      }
    }
  }

  async #select(column: string) {
    const pids = [...this.#backends].map(({ pid }) => pid)
    const starts = [...this.#backends].map(({ startedAt }) => startedAt ?? null)
    const { rows } = await this.#owner.query<{ pid: number; started: string }>(
      `SELECT ${column}, a.pid, a.backend_start::text AS started
        FROM pg_stat_activity AS a JOIN unnest($1::int[], $2::text[]) AS w (pid, started) USING (pid)
        WHERE a.state = 'active' AND coalesce(w.started, a.backend_start::text) = a.backend_start::text`,
      [pids, starts],
    )
    return rows
  }
}
