/** The abort signal of a call. Its listeners run in the context of the handler that asked for it, where their errors are its own. */
import { AsyncResource } from 'node:async_hooks'

export class CallAbort {
  readonly #controller = new AbortController()
  #abort: (() => void) | undefined

  get signal(): AbortSignal {
    this.#abort ??= AsyncResource.bind(() => this.#controller.abort())
    return this.#controller.signal
  }

  get isAborted(): boolean {
    return this.#controller.signal.aborted
  }

  abort(): void {
    if (this.#abort === undefined) this.#controller.abort()
    else this.#abort()
  }
}
