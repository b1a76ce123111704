/** Carries out the requests of one connection one after another, so that replies leave in the order of arrival. */

export interface Job {
  /** Starts the work: true when it is done at once, false when `finish` will be called. */
  start(): boolean
  /** Ends the work early; the job answers for itself. */
  abort(why: AbortReason): void
  /** When it must be done, once it has started. */
  readonly due: number
  isFor(id: unknown): boolean
}

export type AbortReason = 'cancelled' | 'timeout' | 'closed' | 'ended'

export class Pipeline {
  #running: Job | undefined
  #waiting: Job[] | undefined
  #held = false

  /** How many requests wait for their turn. */
  get length(): number {
    return this.#waiting?.length ?? 0
  }

  get idle(): boolean {
    return this.#running === undefined && this.length === 0
  }

  /** When the running job must be done. */
  get due(): number {
    return this.#running?.due ?? Number.POSITIVE_INFINITY
  }

  add(job: Job): void {
    if (this.#running === undefined && !this.#held && this.length === 0) this.#start(job)
    else {
      this.#waiting ??= []
      this.#waiting.push(job)
    }
  }

  /** The running job has answered. */
  finish(job: Job): void {
    if (this.#running !== job) return
    this.#running = undefined
    this.#proceed()
  }

  /** Nothing new is started while replies cannot be taken away. */
  hold(held: boolean): void {
    this.#held = held
    if (!held) this.#proceed()
  }

  /** Ends the oldest unanswered job with this id; a job that still waits is answered in its turn. */
  cancel(id: unknown): boolean {
    const running = this.#running
    if (running?.isFor(id)) {
      running.abort('cancelled')
      this.finish(running)
      return true
    }
    const waiting = this.#waiting?.find((job) => job.isFor(id))
    waiting?.abort('cancelled')
    return waiting !== undefined
  }

  expire(): void {
    const running = this.#running
    running?.abort('timeout')
    if (running !== undefined) this.finish(running)
  }

  /** Ends everything that is unanswered; nothing starts any more. */
  end(why: 'closed' | 'ended'): void {
    const unanswered = [...(this.#running === undefined ? [] : [this.#running]), ...(this.#waiting ?? [])]
    this.#held = true
    this.#running = undefined
    this.#waiting = undefined
    for (const job of unanswered) job.abort(why)
  }

  #start(job: Job): void {
    this.#running = job
    if (job.start() && this.#running === job) this.#running = undefined
  }

  /** A loop, not a recursion: thousands of waiting requests may be done at once. */
  #proceed(): void {
    while (this.#running === undefined && !this.#held) {
      const job = this.#waiting?.shift()
      if (job === undefined) break
      this.#start(job)
    }
    if (this.#waiting?.length === 0) this.#waiting = undefined
  }
}
