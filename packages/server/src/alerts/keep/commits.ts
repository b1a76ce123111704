/** The commits of the keeper: what many alerts write at once is one transaction. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AlertDelivery,
  type AlertEvent,
  type AlertRun,
  type AlertState,
  type AlertWrite,
  type DeliveryAttempt,
  type KeeperTerm,
  LOST_RIGHTS,
} from '../../query/index.ts'

export interface CommitsEnv {
  readonly write: (term: KeeperTerm, write: AlertWrite) => Promise<void>
  readonly isLost: (error: unknown) => boolean
  /** The term is over: another node is the keeper. */
  readonly onLost: () => void
  readonly onError: (error: unknown) => void
}

/** So that a commit holds the event loop for a few milliseconds. */
const MOST_ROWS = 600
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [100, 5_000]

interface Waiting {
  readonly write: AlertWrite
  readonly done: (isDurable: boolean) => void
}

export class Commits {
  readonly #term: KeeperTerm
  readonly #env: CommitsEnv
  readonly #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #isOver = false

  constructor(term: KeeperTerm, env: CommitsEnv) {
    this.#term = term
    this.#env = env
  }

  /** Resolves to true when it is durable, and to false if the term ends before. Writes are committed in their order. */
  add(write: AlertWrite): Promise<boolean> {
    return new Promise((done) => {
      this.#waiting.push({ write, done })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when all is written. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Nothing more is written. */
  close(): void {
    this.#isOver = true
  }

  async #run(): Promise<void> {
    // What others add in this turn of the event loop is of the same commit.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0 && !this.#isOver) {
      const batch = this.#take()
      const isDurable = await this.#commit(mergeWrites(batch.map(({ write }) => write)))
      for (const { done } of batch) done(isDurable)
    }
    for (const { done } of this.#waiting.splice(0)) done(false)
    this.#running = undefined
  }

  #take(): Waiting[] {
    let rows = 0
    let count = 0
    while (count < this.#waiting.length && (count === 0 || rows < MOST_ROWS))
      rows += countRows(this.#waiting[count++]?.write)
    return this.#waiting.splice(0, count)
  }

  /** Until it is written, or the term is over: what is in memory counts on it. */
  async #commit(write: AlertWrite): Promise<boolean> {
    for (let delay = FIRST_RETRY_MS; !this.#isOver; delay = Math.min(2 * delay, LONGEST_RETRY_MS)) {
      try {
        await this.#env.write(this.#term, write)
        return true
      } catch (error) {
        if (this.#env.isLost(error)) {
          this.#isOver = true
          this.#env.onLost()
          return false
        }
        this.#env.onError(error)
        await sleep(delay, undefined, { ref: false })
      }
    }
    return false
  }
}

function countRows(write: AlertWrite | undefined): number {
  return Object.values(write ?? {}).reduce((sum, rows) => sum + rows.length, 0)
}

/** As if they were written one after the other. */
export function mergeWrites(writes: readonly AlertWrite[]): AlertWrite {
  const cleared = new Set<string>()
  const forgotten = new Set<string>()
  const runs = new Map<string, AlertRun>()
  const states = new Map<string, AlertState | Pick<AlertState, 'alert' | 'key'>>()
  const events: AlertEvent[] = []
  const deliveries = new Map<string, AlertDelivery>()
  const attempts = new Map<string, DeliveryAttempt>()
  const dropped = new Set<string>()
  const forget = (alert: string): void => {
    for (const [name, state] of states) if (state.alert === alert) states.delete(name)
  }
  for (const write of writes) {
    for (const alert of write.forgotten ?? []) {
      forgotten.add(alert)
      forget(alert)
      runs.delete(alert)
    }
    for (const alert of write.clearedStates ?? []) {
      cleared.add(alert)
      forget(alert)
    }
    for (const key of write.removedStates ?? []) states.set(stateName(key), key)
    for (const state of write.states ?? []) states.set(stateName(state), state)
    for (const run of write.runs ?? []) runs.set(run.alert, run)
    events.push(...(write.events ?? []))
    for (const alert of write.dropped ?? []) {
      dropped.add(alert)
      for (const [id, delivery] of deliveries)
        if (delivery.alert === alert)
          deliveries.set(id, { ...delivery, state: 'dropped', ended: delivery.created, error: LOST_RIGHTS })
    }
    for (const delivery of write.deliveries ?? []) deliveries.set(delivery.id, delivery)
    for (const attempt of write.attempts ?? []) attempts.set(attempt.id, attempt)
  }
  const all = [...states.values()]
  const isKept = (state: AlertState | Pick<AlertState, 'alert' | 'key'>): state is AlertState => 'state' in state
  return {
    forgotten: [...forgotten],
    clearedStates: [...cleared],
    removedStates: all.filter((state) => !isKept(state)),
    states: all.filter(isKept),
    runs: [...runs.values()],
    events,
    dropped: [...dropped],
    deliveries: [...deliveries.values()],
    attempts: [...attempts.values()],
  }
}

function stateName({ alert, key }: Pick<AlertState, 'alert' | 'key'>): string {
  return `${alert} ${key}`
}
