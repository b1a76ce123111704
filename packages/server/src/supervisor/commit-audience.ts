/** Which workers listen to commits of which file, and what each of the others has been told about that. */
import type { SharedFileName } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'

/** A message for each group of writes wakes two processes: it is sent only where somebody listens. */
export class CommitAudience {
  readonly #listening = new Map<WorkerProcess, Set<SharedFileName>>()
  /** The files of which each worker knows that another one listens. */
  readonly #told = new Map<WorkerProcess, Set<SharedFileName>>()

  add(worker: WorkerProcess): void {
    this.#listening.set(worker, new Set())
    this.#told.set(worker, new Set())
    void worker.ended.then(() => {
      const files = this.#listening.get(worker) ?? []
      this.#listening.delete(worker)
      this.#told.delete(worker)
      for (const file of files) this.#tell(file)
    })
  }

  /** A worker that was started later learns of the others when it begins to listen itself, as each does to the identity file. */
  change(worker: WorkerProcess, file: SharedFileName, isListening: boolean): void {
    const files = this.#listening.get(worker)
    if (isListening) files?.add(file)
    else files?.delete(file)
    for (const each of ['identity', 'query'] as const) this.#tell(each)
  }

  #tell(file: SharedFileName): void {
    for (const [worker, told] of this.#told) {
      const isListened = [...this.#listening].some(([other, files]) => other !== worker && files.has(file))
      if (isListened === told.has(file)) continue
      if (isListened) told.add(file)
      else told.delete(file)
      worker.send({ kind: 'listened', file, isListened })
    }
  }
}
