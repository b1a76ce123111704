/** A client of live queries in this process: it subscribes, applies what it is sent, and waits for states instead of times. */

import assert from 'node:assert/strict'
import type { Principal, Refusal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import type { Json } from '../../../packages/server/src/lib/exact-json.ts'
import { parameterInput } from '../../../packages/server/src/query/http/statement.ts'
import type { LiveMessage, LiveRequest } from '../../../packages/server/src/query/live/contract.ts'
import { CALLERS, type QueryServer } from '../query-server.ts'
import { Applier } from './applier.ts'

export interface ClientOptions {
  readonly as?: string | Principal
  readonly parameters?: Readonly<Record<string, Json>>
  readonly maxRate?: number
  readonly connectionId?: string
  /** The client that it continues. */
  readonly resumes?: LiveClient
  /** What a client held when it left. */
  readonly from?: Applier
  /** A position other than the last of that client. */
  readonly position?: string
  readonly encoding?: LiveRequest['encoding']
}

const PATIENCE_MS = 30_000
let requests = 0
const opened = new Set<LiveClient>()

export class LiveClient implements SubscriberSink<LiveMessage> {
  readonly applier: Applier
  readonly texts: string[] = []
  maySend = true
  ended: Refusal | undefined
  /** The service ends a statement whose sink throws; that a check has failed must not be lost. */
  #failure: unknown
  #subscription: RunningSubscription | undefined
  #waiting: {
    readonly isMet: () => boolean
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }[] = []
  #onMessage: (message: LiveMessage) => void = () => {}

  constructor(applier = new Applier()) {
    this.applier = applier
  }

  static async open(server: QueryServer, statement: string, options: ClientOptions = {}): Promise<LiveClient> {
    const { as = 'admin', from = options.resumes?.applier } = options
    const client = new LiveClient(from === undefined ? new Applier() : Applier.resumed(from))
    const principal = typeof as === 'string' ? CALLERS[as] : as
    assert.ok(principal !== undefined)
    const inputs = Object.entries(options.parameters ?? {}).map(
      ([name, value]) => [name, parameterInput(value)] as const,
    )
    client.#subscription = await server.service.live.subscribe(
      {
        principal,
        statement,
        parameters: new Map(inputs),
        maxRate: options.maxRate ?? 50,
        resume: options.position ?? from?.position,
        encoding: options.encoding ?? { rows: 'objects', integers: 'numbers' },
        connectionId: options.connectionId ?? `connection-${++requests}`,
        requestId: `live-${++requests}`,
        address: '127.0.0.1',
      },
      client,
    )
    opened.add(client)
    assert.equal(client.texts.length, 0, 'nothing is sent before the caller can confirm')
    return client
  }

  static closeAll(): void {
    const clients = [...opened]
    opened.clear()
    for (const client of clients) client.close()
    for (const client of clients) if (client.#failure !== undefined) throw client.#failure
  }

  /** Opens, and waits for the first state. */
  static async follow(server: QueryServer, statement: string, options: ClientOptions = {}): Promise<LiveClient> {
    const client = await LiveClient.open(server, statement, options)
    await client.until('the first state', () => client.applier.isWhole && client.texts.length > 0)
    return client
  }

  get subscription(): RunningSubscription {
    assert.ok(this.#subscription !== undefined)
    return this.#subscription
  }

  /** Called after each message has been applied. */
  onMessage(listener: (message: LiveMessage) => void): void {
    this.#onMessage = listener
  }

  send(message: LiveMessage): void {
    try {
      this.#receive(message)
    } catch (error) {
      this.#failure ??= error
      throw error
    } finally {
      this.#wake()
    }
  }

  #receive(message: LiveMessage): void {
    assert.equal(this.maySend, true, 'a sink that may not send is sent nothing')
    assert.equal(this.ended, undefined, 'nothing follows the end')
    this.texts.push(message.text)
    this.applier.apply(message.text)
    assert.equal(message.position, JSON.parse(message.text).Position)
    this.#onMessage(message)
  }

  end(reason: Refusal): void {
    assert.equal(this.ended, undefined, 'it ends once')
    this.ended = reason
    this.#wake()
  }

  release(): void {
    this.maySend = true
    this.subscription.drained()
  }

  close(): void {
    this.subscription.close()
  }

  async until(what: string, isMet: () => boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (isMet()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const late = (): void => reject(new Error(`It did not happen: ${what}. The client holds ${this.#shown()}`))
    const timer = setTimeout(late, PATIENCE_MS)
    this.#waiting.push({ isMet, resolve, reject })
    await promise.finally(() => clearTimeout(timer))
  }

  /** Waits until it holds these rows; in this order if the statement has one. */
  async holds(rows: readonly unknown[], order: 'in any order' | 'in order' = 'in any order'): Promise<void> {
    const form = (given: readonly unknown[]): string => {
      const texts = given.map((row) => JSON.stringify(row))
      return (order === 'in order' ? texts : texts.sort()).join('\n')
    }
    const wanted = form(rows)
    await this.until(`it holds ${wanted}`, () => this.applier.isWhole && form(this.applier.rows) === wanted)
  }

  #wake(): void {
    if (this.#failure !== undefined) for (const { reject } of this.#waiting.splice(0)) reject(this.#failure)
    const met = this.#waiting.filter(({ isMet }) => isMet())
    this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting))
    for (const { resolve } of met) resolve()
  }

  #shown(): string {
    const { rows, seen, reasons } = this.applier
    return `${rows.length} rows ${JSON.stringify(rows).slice(0, 500)}, ${JSON.stringify({ seen, reasons, ended: this.ended?.message })}`
  }
}
