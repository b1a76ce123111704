/** Passes messages between the workers. */
import { ReplayMemories } from '../lib/replay-memory.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { MetricsCollector } from './metrics.ts'
import type { WorkerProcess } from './worker-process.ts'

export class Exchange {
  readonly #onSign: (worker: WorkerProcess) => void
  readonly #workers = new Set<WorkerProcess>()
  readonly #metrics = new MetricsCollector()
  /** From when on used proofs are remembered. */
  readonly proofsSince = Date.now()
  #usedProofs: ReplayMemories | undefined

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
    else if (message.kind === 'proofs used') this.#answerProofs(from, message)
    else if (message.kind === 'metrics') this.#metrics.received(from, message.text, message.id)
    else if (message.kind === 'last metrics') this.#metrics.received(from, message.text)
    else if (message.kind === 'all metrics wanted')
      void this.#metrics.collect(this.#workers).then((text) => from.send({ kind: 'all metrics', id: message.id, text }))
  }

  /** Here, so that a proof counts once on all workers, also on those that are started later. */
  #answerProofs(from: WorkerProcess, { id, proofs }: Extract<FromWorker, { kind: 'proofs used' }>): void {
    this.#usedProofs ??= new ReplayMemories(Date.now)
    const memories = this.#usedProofs
    from.send({ kind: 'proofs', id, remembered: proofs.map((proof) => memories.add(proof)), size: memories.size })
  }

  #sendOthers(from: WorkerProcess, message: ToWorker): void {
    for (const worker of this.#workers) if (worker !== from && worker.state !== 'starting') worker.send(message)
  }
}
