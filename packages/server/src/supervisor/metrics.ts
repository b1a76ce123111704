/** Collects the metrics of all workers for a scrape, which reaches any one of them. */
import { MergedMetrics } from '../telemetry/merge-metrics.ts'
import type { WorkerProcess } from './worker-process.ts'

/** A worker that does not answer within this time is shown as it was at the last scrape. */
const TIMEOUT_MS = 500

interface Scrape {
  readonly waitsFor: Set<WorkerProcess>
  readonly finish: () => void
}

export class MetricsCollector {
  readonly #merged = new MergedMetrics()
  /** The last metrics of each running worker. */
  readonly #last = new Map<WorkerProcess, string>()
  readonly #scrapes = new Map<number, Scrape>()
  #scrapeId = 0

  add(worker: WorkerProcess): void {
    void worker.ended.then(() => {
      const last = this.#last.get(worker)
      this.#last.delete(worker)
      if (last !== undefined) this.#merged.addEnded(last)
      for (const id of this.#scrapes.keys()) this.#arrived(worker, id)
    })
  }

  async collect(workers: Iterable<WorkerProcess>): Promise<string> {
    const id = ++this.#scrapeId
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const asked = [...workers].filter(({ state }) => state !== 'starting')
    this.#scrapes.set(id, { waitsFor: new Set(asked), finish })
    for (const worker of asked) worker.send({ kind: 'metrics wanted', id })
    const timer = setTimeout(finish, TIMEOUT_MS)
    await finished
    clearTimeout(timer)
    this.#scrapes.delete(id)
    const texts = [...this.#last].map(([{ number }, text]) => ({ worker: number, text }))
    return this.#merged.render(texts.toSorted((a, b) => a.worker - b.worker))
  }

  received(worker: WorkerProcess, text: string, id?: number): void {
    this.#last.set(worker, text)
    if (id !== undefined) this.#arrived(worker, id)
  }

  #arrived(worker: WorkerProcess, id: number): void {
    const scrape = this.#scrapes.get(id)
    if (scrape === undefined) return
    scrape.waitsFor.delete(worker)
    if (scrape.waitsFor.size === 0) scrape.finish()
  }
}
