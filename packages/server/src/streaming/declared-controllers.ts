/** Keeps the declared controllers of the gateway as they are in the database. Remote controllers are loaded when there is one. */
import type { Bus } from '../events/bus.ts'
import { retryUntilDone } from '../lib/retry.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { RemoteControllers } from '../store/controllers/controllers.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { RemoteOptions, Remotes } from './remote/remote.ts'

export interface DeclaredControllersOptions extends RemoteOptions {
  readonly store: Pick<RemoteControllers, 'list'>
  readonly bus: Bus
  readonly gateway: Pick<Gateway, 'setDeclared'>
}

const BACKOFF = { firstMs: 200, longestMs: 5_000 }

export class DeclaredControllers {
  readonly #options: DeclaredControllersOptions
  readonly #unsubscribe: () => void
  #loading: Promise<void> = Promise.resolve()
  #remotes: Remotes | undefined
  readonly #closing = new AbortController()

  constructor(options: DeclaredControllersOptions) {
    this.#options = options
    const onError = exceptOutages((error) =>
      options.logger.error({ err: error }, 'the declared controllers could not be read'),
    )
    this.#unsubscribe = options.bus.subscribe(({ kind }) =>
      kind === 'controllers-changed'
        ? retryUntilDone(() => this.load(), BACKOFF, onError, this.#closing.signal)
        : undefined,
    )
  }

  /** One at a time: an older list must not replace a newer one. */
  load(): Promise<void> {
    this.#loading = this.#loading.catch(() => {}).then(() => this.#load())
    return this.#loading
  }

  close(): void {
    this.#closing.abort()
    this.#unsubscribe()
    this.#remotes?.close()
  }

  async #load(): Promise<void> {
    const { store, gateway, logger } = this.#options
    const definitions = await store.list()
    if (this.#closing.signal.aborted || (definitions.length === 0 && this.#remotes === undefined)) return
    this.#remotes ??= await this.#open()
    for (const controller of gateway.setDeclared('remote', this.#remotes.set(definitions)))
      logger.warn({ controller }, 'a loaded controller has the name of a remote one, which is not used')
  }

  async #open(): Promise<Remotes> {
    const { Remotes } = await import('./remote/remote.ts')
    return new Remotes(this.#options)
  }
}
