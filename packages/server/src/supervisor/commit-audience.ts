/** Which workers listen to commits of which file. Each worker is informed whether any other one listens. */
import type { SharedFileName } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'

/** A message about a commit wakes two processes, so a worker sends it only while another worker listens. */
export class CommitAudience {
  readonly #listening = new Map<WorkerProcess, Set<SharedFileName>>()
  /** The files that each worker knows to have a listener among the others. */
  readonly #informed = new Map<WorkerProcess, Set<SharedFileName>>()

  add(worker: WorkerProcess): void {
    this.#listening.set(worker, new Set())
    this.#informed.set(worker, new Set())
    void worker.ended.then(() => {
      const files = this.#listening.get(worker) ?? []
      this.#listening.delete(worker)
      this.#informed.delete(worker)
      for (const file of files) this.#inform(file)
    })
  }

  /** Informs all workers. One that started later learns about the others here: every worker begins to listen to the identity file. */
  change(worker: WorkerProcess, file: SharedFileName, isListening: boolean): void {
    const files = this.#listening.get(worker)
    if (isListening) files?.add(file)
    else files?.delete(file)
    for (const each of ['identity', 'query'] as const) this.#inform(each)
  }

  #inform(file: SharedFileName): void {
    for (const [worker, informed] of this.#informed) {
      const isListened = [...this.#listening].some(([other, files]) => other !== worker && files.has(file))
      if (isListened === informed.has(file)) continue
      if (isListened) informed.add(file)
      else informed.delete(file)
      worker.send({ kind: 'listened', file, isListened })
    }
  }
}
