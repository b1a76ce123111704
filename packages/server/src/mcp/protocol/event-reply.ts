/** A reply to one request as server-sent events: progress while it takes long, then the result. */
import type { Context } from '../../http/context.ts'

const COMMENT_MS = 15_000
const PROGRESS_MS = 5_000
const EVENT_STREAM = 'text/event-stream'

export class EventReply {
  readonly #context: Context
  readonly #token: string | number
  readonly #timers: NodeJS.Timeout[]
  #isOpen = false
  #progress = 0

  /** Begins after some time, unless it is stopped before. */
  constructor(context: Context, token: string | number, afterMs: number) {
    this.#context = context
    this.#token = token
    this.#timers = [setTimeout(() => this.#begin(), afterMs)]
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  #begin(): void {
    const context = this.#context
    if (context.response.closed) return
    this.#isOpen = true
    context.setHeader('x-accel-buffering', 'no')
    context.stream(EVENT_STREAM).flushHeaders()
    this.#tell()
    this.#timers.push(
      setInterval(() => this.#tell(), PROGRESS_MS),
      setInterval(() => context.response.write(':\n\n'), COMMENT_MS),
    )
  }

  /** How many seconds it has taken: how long it will take is not known. */
  #tell(): void {
    this.#progress = Math.max(this.#progress + 1, Math.round((performance.now() - this.#context.startedAt) / 1000))
    const params = { progressToken: this.#token, progress: this.#progress, message: 'The statement is running' }
    this.#write({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }

  #write(message: object): void {
    this.#context.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
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
