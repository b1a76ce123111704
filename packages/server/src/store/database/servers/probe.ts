/** Asks one server again and again what it is, on a connection of its own that it replaces when it breaks. */
import type { Client } from 'pg'
import type { ServerAddress } from './addresses.ts'
import { destroyClient } from './client.ts'
import { readIdentity, type ServerIdentity } from './identity.ts'

export type ProbeState =
  | { readonly status: 'unknown' }
  | { readonly status: 'unreachable'; readonly error: unknown }
  | { readonly status: 'answers'; readonly identity: ServerIdentity }

export interface ProbeOptions {
  readonly address: ServerAddress
  /** A server that has answered before, in less than the limit, is known. */
  readonly createClient: (address: ServerAddress, isKnown: boolean) => Client
  /** The pause before the next question. */
  readonly pauseMs: () => number
  readonly onState: (probe: ServerProbe) => void
  /** Asks further questions of a server that answers. */
  readonly onAnswer?: ((client: Client, identity: ServerIdentity) => Promise<void>) | undefined
}

/** To connect; well below the limit of a server that is known. */
const FAST_MS = 300

export class ServerProbe {
  readonly address: ServerAddress
  state: ProbeState = { status: 'unknown' }
  readonly #options: ProbeOptions
  #client: Client | undefined
  #wake: () => void = () => {}
  #isStopped = false
  #isKnown = false
  readonly #done: Promise<void>

  constructor(options: ProbeOptions) {
    this.address = options.address
    this.#options = options
    this.#done = this.#run()
  }

  /** Asks now, not after the pause. */
  wake(): void {
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake()
    this.#drop()
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const state = await this.#ask()
      if (this.#isStopped) break
      this.state = state
      this.#options.onState(this)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#options.pauseMs()).unref()
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#drop()
  }

  async #ask(): Promise<ProbeState> {
    try {
      this.#client ??= await this.#connect()
      const identity = await readIdentity(this.#client)
      await this.#options.onAnswer?.(this.#client, identity)
      return { status: 'answers', identity }
    } catch (error) {
      this.#drop()
      return { status: 'unreachable', error }
    }
  }

  async #connect(): Promise<Client> {
    const client = this.#options.createClient(this.address, this.#isKnown)
    client.on('error', () => {
      if (this.#client !== client) return
      this.#drop()
      this.#wake()
    })
    const start = performance.now()
    try {
      await client.connect()
    } catch (error) {
      // Not `end`: after an error that connect throws at once, the driver's own timer would end the process.
      destroyClient(client)
      throw error
    }
    // A server behind a slow link keeps the longer limit.
    this.#isKnown = performance.now() - start < FAST_MS
    return client
  }

  #drop(): void {
    const client = this.#client
    this.#client = undefined
    void client?.end().catch(() => {})
  }
}
