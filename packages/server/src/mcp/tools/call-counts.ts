/** How often agents call, and how many rows they read: counted here, and written for all nodes every few seconds. */
import type { Clock, Principal } from 'gatehouse-protocol'
import type { AgentCallRows } from '../../query/index.ts'
import { grantKey } from '../watches/watch-store.ts'

interface Count {
  calls: number
  rows: number
  last: number
}

const WRITE_MS = 2_000
const FORGET_MS = 3_600_000
/** Longer than a grant can be without a use. */
const KEPT_MS = 90 * 86_400_000
/** Grants in one statement. */
const AT_ONCE = 500

export class CallCounts {
  readonly #rows: AgentCallRows
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #counts = new Map<string, Count>()
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(rows: AgentCallRows, clock: Clock, onError: (error: unknown) => void) {
    this.#rows = rows
    this.#clock = clock
    this.#onError = onError
    this.#timers = [
      setInterval(() => void this.#write(), WRITE_MS).unref(),
      setInterval(() => this.#rows.removeUnused(this.#clock() - KEPT_MS).catch(onError), FORGET_MS).unref(),
    ]
  }

  add(principal: Principal, rows: number): void {
    const key = grantKey(principal)
    const count = this.#counts.get(key) ?? { calls: 0, rows: 0, last: 0 }
    count.calls++
    count.rows += rows
    count.last = this.#clock()
    this.#counts.set(key, count)
  }

  async #write(): Promise<void> {
    const counts = [...this.#counts].map(([owner, count]) => ({
      ...{ owner, ...count },
      day: new Date(count.last).toISOString().slice(0, 10),
    }))
    this.#counts = new Map()
    try {
      for (let at = 0; at < counts.length; at += AT_ONCE) await this.#rows.add(counts.slice(at, at + AT_ONCE))
    } catch (error) {
      // What was counted is lost: it is for people, and limits nothing.
      this.#onError(error)
    }
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    void this.#write()
  }
}
