/** Keeps the declared controllers of the gateway as they are in the database. Remote controllers are loaded when there is one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../events/bus.ts'
import { pauseAfter } from '../lib/retry.ts'
import { unavailableReason } from '../lib/unavailable.ts'
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
  #isClosed = false

  constructor(options: DeclaredControllersOptions) {
    this.#options = options
    this.#unsubscribe = options.bus.subscribe((event) => {
      if (event.kind === 'controllers-changed') void this.#reload()
    })
  }

  /** One at a time: an older list must not replace a newer one. */
  load(): Promise<void> {
    this.#loading = this.#loading.catch(() => {}).then(() => this.#load())
    return this.#loading
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    this.#remotes?.close()
  }

  /** Again and again, until the database answers. */
  async #reload(): Promise<void> {
    for (let failures = 0; !this.#isClosed; ) {
      try {
        return await this.load()
      } catch (error) {
        if (unavailableReason(error) === undefined)
          this.#options.logger.error({ err: error }, 'the declared controllers could not be read')
        failures++
        await sleep(pauseAfter(failures, BACKOFF), undefined, { ref: false })
      }
    }
  }

  async #load(): Promise<void> {
    const { store, gateway, logger } = this.#options
    const definitions = await store.list()
    if (this.#isClosed || (definitions.length === 0 && this.#remotes === undefined)) return
    this.#remotes ??= await this.#open()
    for (const controller of gateway.setDeclared('remote', this.#remotes.set(definitions)))
      logger.warn({ controller }, 'a loaded controller has the name of a remote one, which is not used')
  }

  async #open(): Promise<Remotes> {
    const { Remotes } = await import('./remote/remote.ts')
    return new Remotes(this.#options)
  }
}
