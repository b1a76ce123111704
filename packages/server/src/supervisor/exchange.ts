/** Passes messages between the workers. */
import type { FromWorker, ToWorker } from './messages.ts'
import { MetricsCollector } from './metrics.ts'
import type { WorkerProcess } from './worker-process.ts'

export class Exchange {
  readonly #onSign: (worker: WorkerProcess) => void
  readonly #workers = new Set<WorkerProcess>()
  readonly #metrics = new MetricsCollector()

  /** `onSign` is called for every message of a worker. */
  constructor(onSign: (worker: WorkerProcess) => void) {
    this.#onSign = onSign
  }

  add(worker: WorkerProcess): void {
    this.#workers.add(worker)
    this.#metrics.add(worker)
    worker.onMessage((message) => this.#receive(worker, message))
    void worker.ended.then(() => this.#workers.delete(worker))
  }

  /** WorkerProcess handles the messages about its start and its stop. */
  #receive(from: WorkerProcess, message: FromWorker): void {
    this.#onSign(from)
    if (message.kind === 'committed' || message.kind === 'waiting' || message.kind === 'feed messages')
      this.#sendOthers(from, message)
    else if (message.kind === 'rates') this.#sendOthers(from, { ...message, from: String(from.pid) })
    else if (message.kind === 'metrics') this.#metrics.received(from, message.text, message.id)
    else if (message.kind === 'last metrics') this.#metrics.received(from, message.text)
    else if (message.kind === 'all metrics wanted')
      void this.#metrics.collect(this.#workers).then((text) => from.send({ kind: 'all metrics', id: message.id, text }))
  }

  #sendOthers(from: WorkerProcess, message: ToWorker): void {
    for (const worker of this.#workers) if (worker !== from && worker.state !== 'starting') worker.send(message)
  }
}
