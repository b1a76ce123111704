/** A reply to one request as server-sent events: progress while it takes long, then the result. */
import type { Context } from '../../http/context.ts'
import { EVENT_STREAM } from '../../http/events/event-response.ts'

const COMMENT_MS = 15_000
const PROGRESS_MS = 5_000

export class EventReply {
  readonly #context: Context
  readonly #token: string | number
  readonly #timers: NodeJS.Timeout[]
  #isOpen = false
  #isReported = false
  #seconds = 0

  /** Begins by itself after some time, unless it is stopped before. */
  constructor(context: Context, token: string | number, afterMs: number) {
    this.#context = context
    this.#token = token
    this.#timers = [setTimeout(() => this.#sendSeconds(), afterMs)]
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  #begin(): void {
    if (this.#isOpen || this.#context.response.closed) return
    this.#isOpen = true
    const { response } = this.#context
    this.#context.setHeader('x-accel-buffering', 'no')
    this.#context.stream(EVENT_STREAM).flushHeaders()
    this.#timers.push(
      setInterval(() => this.#sendSeconds(), PROGRESS_MS),
      setInterval(() => response.write(':\n\n'), COMMENT_MS),
    )
  }

  /** Replaces the default progress, which is the number of seconds. */
  report(progress: number, total?: number, message?: string): void {
    this.#isReported = true
    this.#notify({ progress, ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) })
  }

  /** How long it will take is not known. */
  #sendSeconds(): void {
    if (this.#isReported) return
    this.#seconds = Math.max(this.#seconds + 1, Math.round((performance.now() - this.#context.startedAt) / 1000))
    this.#notify({ progress: this.#seconds, message: 'The statement is running' })
  }

  #notify(params: object): void {
    this.#begin()
    const message = { progressToken: this.#token, ...params }
    this.#write({ jsonrpc: '2.0', method: 'notifications/progress', params: message })
  }

  #write(message: object): void {
    if (this.#isOpen) this.#context.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }

  /** The response of the request, which ends the stream. */
  end(message: object): void {
    this.#write(message)
    this.#context.response.end()
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}
