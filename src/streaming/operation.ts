/** One message on its way through a connection: started in its turn, answered exactly once. */
import type { Principal } from '../protocol/principal.ts'
import { type Call, type Caller, refuse, type Topic } from './controller.ts'
import type { AbortReason, Job } from './pipeline.ts'
import type { Request, Unfit } from './request.ts'

/** Does the work and writes the answers. */
export interface Performer {
  readonly caller: Caller
  principal(): Principal | undefined
  /** The result, or a promise of it; throws what `fail` answers. */
  perform(operation: Operation, request: Request): unknown
  complete(operation: Operation, request: Request, result: unknown): void
  fail(operation: Operation, error: unknown): void
  dueOf(request: Request): number
  finished(operation: Operation): void
}

export class Operation implements Job, Call {
  readonly request: Request | Unfit
  due = Number.POSITIVE_INFINITY
  /** What the request turned out to be for, once it has been carried out. */
  topicRules: Topic | undefined
  readonly #performer: Performer
  #abort: AbortController | undefined
  #state: 'waiting' | 'cancelled' | 'running' | 'answered' = 'waiting'

  constructor(request: Request | Unfit, performer: Performer) {
    this.request = request
    this.#performer = performer
  }

  start(): boolean {
    const cancelled = this.#state === 'cancelled'
    this.#state = 'running'
    try {
      if (cancelled) throw refuse('Operation.Abort')
      const { request } = this
      if (request.kind === 'unfit') throw refuse(request.code, request.context)
      const result = this.#performer.perform(this, request)
      if (result instanceof Promise) {
        this.due = this.#performer.dueOf(request)
        this.#await(request, result)
        return false
      }
      this.#performer.complete(this, request, result)
    } catch (error) {
      this.#performer.fail(this, error)
    }
    this.#state = 'answered'
    return true
  }

  async #await(request: Request, result: Promise<unknown>): Promise<void> {
    let answer = (): void => {}
    try {
      const value = await result
      answer = () => this.#performer.complete(this, request, value)
    } catch (error) {
      answer = () => this.#performer.fail(this, error)
    }
    if (this.#answer()) {
      try {
        answer()
      } catch (error) {
        this.#performer.fail(this, error)
      }
    }
    this.#performer.finished(this)
  }

  abort(why: AbortReason): void {
    this.#abort?.abort()
    if (why === 'cancelled' && this.#state === 'waiting') this.#state = 'cancelled'
    else if (why === 'closed') this.#state = 'answered'
    else if (this.#answer()) this.#performer.fail(this, refuse(ABORTED[why]))
  }

  /** True for the one who may answer. */
  #answer(): boolean {
    if (this.#state === 'answered') return false
    this.#state = 'answered'
    return true
  }

  isFor(id: unknown): boolean {
    return this.request.id === id && (this.#state === 'waiting' || this.#state === 'running')
  }

  get controller(): string {
    return this.request.controller ?? ''
  }

  get topic(): string {
    return this.request.topic ?? ''
  }

  get data(): unknown {
    return this.request.kind === 'request' ? this.request.data : undefined
  }

  get principal(): Principal | undefined {
    return this.#performer.principal()
  }

  get caller(): Caller {
    return this.#performer.caller
  }

  /** Made when a handler asks for it: most answer at once and never do. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#state === 'answered') this.#abort.abort()
    return this.#abort.signal
  }
}

const ABORTED = { cancelled: 'Operation.Abort', timeout: 'Operation.Timeout', ended: 'Session' } as const
