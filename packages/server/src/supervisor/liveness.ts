/** Finds workers that hang: they send no message within the timeout. A worker sends several signs of life in that time. */
import type { WorkerProcess } from './worker-process.ts'

/** Signs of life within the timeout. */
const SIGNS = 10
/** A start may block the event loop for longer, as a migration does. */
const START_FACTOR = 10

/** From one sign of life to the next. */
export function signInterval(timeoutMs: number): number {
  return timeoutMs / SIGNS
}

export class Liveness {
  readonly #onHung: (worker: WorkerProcess) => void
  /** The checks since the last sign of each worker. Counts, not times: after a machine has slept, no worker is late. */
  readonly #silent = new Map<WorkerProcess, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(onHung: (worker: WorkerProcess) => void) {
    this.#onHung = onHung
  }

  /** 0 turns the checks off. */
  setTimeout(timeoutMs: number): void {
    clearInterval(this.#timer)
    if (timeoutMs > 0) this.#timer = setInterval(() => this.#look(), signInterval(timeoutMs)).unref()
  }

  add(worker: WorkerProcess): void {
    this.#silent.set(worker, 0)
    void worker.ended.then(() => this.#silent.delete(worker))
  }

  /** Every message is a sign of life. */
  receivedSign(worker: WorkerProcess): void {
    if (this.#silent.has(worker)) this.#silent.set(worker, 0)
  }

  #look(): void {
    for (const [worker, silent] of this.#silent) {
      this.#silent.set(worker, silent + 1)
      if (silent === (worker.state === 'starting' ? SIGNS * START_FACTOR : SIGNS)) this.#onHung(worker)
    }
  }
}
