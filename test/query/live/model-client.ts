/** Clients of live statements over the real transports: streams in both sub-protocols, and server-sent events. */
import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { encode } from '@msgpack/msgpack'
import { WebSocket } from 'ws'
import { unpackMessage } from '../../../packages/server/src/streaming/codec/message-pack.ts'
import { EventParser } from '../../support/event-parser.ts'
import { Applier, type Data } from './applier.ts'
import type { ModelStatement } from './model-statements.ts'

export type TransportKind = 'PlatformJson' | 'PlatformMsgPack' | 'events'

/** What a client held at a position. */
export interface Held {
  readonly position: string
  readonly applier: Applier
}

/** Positions that a client can come back with. */
const KEPT = 12
const MAX_FRAME_BYTES = 256 * 1024

export class ModelClient {
  readonly statement: ModelStatement
  readonly maxRate: number
  applier = new Applier()
  readonly kept: Held[] = []
  /** Why the server ended it, if it did. */
  ended: string | undefined
  failure: unknown
  /** The last step whose state it held. */
  step = 0
  /** The answers to resumes. */
  readonly answers = { recovered: 0, reset: 0 }
  /** The last resume was answered so. */
  hasExpired = false
  #awaitsAnswer = false
  readonly #onState: (client: ModelClient) => void

  constructor(statement: ModelStatement, maxRate: number, onState: (client: ModelClient) => void) {
    this.statement = statement
    this.maxRate = maxRate
    this.#onState = onState
  }

  /** What it requests, and where it resumes. */
  opening(resume: Held | undefined): { readonly Resume?: string } {
    this.applier = resume === undefined ? new Applier() : Applier.resumed(resume.applier)
    this.#awaitsAnswer = resume !== undefined
    this.step = 0
    return resume === undefined ? {} : { Resume: resume.position }
  }

  receive(text: string): void {
    if (this.failure !== undefined) return
    try {
      this.#check(JSON.parse(text))
      this.applier.apply(text)
      if (!this.applier.isWhole || this.applier.position === undefined) return
      this.#answered()
      this.kept.push({ position: this.applier.position, applier: Applier.resumed(this.applier) })
      if (this.kept.length > KEPT) this.kept.shift()
      this.#onState(this)
    } catch (error) {
      this.failure = error
    }
  }

  /** `rerun` does not put rows again that are as they were. */
  #check({ Kind, Put = [], Recovered }: Data): void {
    if (Kind !== 'Change' || this.statement.method === 'keys' || Recovered === true) return
    for (const { Key, Row, Index } of Put) {
      if (Index !== undefined) continue
      const held = this.applier.buildRow(JSON.stringify(Key))
      assert.notEqual(JSON.stringify(Row), JSON.stringify(held), 'a row that has not changed is put again')
    }
  }

  #answered(): void {
    if (!this.#awaitsAnswer) return
    this.#awaitsAnswer = false
    assert.ok(this.applier.recovered !== undefined, 'the first message answers the resume')
    this.answers[this.applier.recovered ? 'recovered' : 'reset']++
    this.hasExpired = !this.applier.recovered && this.applier.reasons[0] === 'Expired'
  }

  /** The result as it holds it. */
  get text(): string {
    return readText(this.applier.rows, this.statement.isOrdered)
  }
}

/** The rows as one text, to be compared. */
export function readText(rows: readonly unknown[], isOrdered: boolean): string {
  const texts = rows.map((row) => JSON.stringify(row))
  return (isOrdered ? texts : texts.sort()).join('\n')
}

export interface Transport {
  readonly kind: TransportKind
  readonly clients: ReadonlySet<ModelClient>
  /** False: it has no room for another statement. */
  subscribe(client: ModelClient, resume?: Held): Promise<boolean>
  unsubscribe(client: ModelClient): void
  /** Stops reading. */
  pause(): void
  resume(): void
  close(): void
  readonly isClosed: boolean
  /** Of a stream that the server has closed. */
  readonly closeCode?: number | undefined
}

export interface TransportOptions {
  readonly port: number
  readonly token: string
}

export async function openStream(
  kind: 'PlatformJson' | 'PlatformMsgPack',
  { port, token }: TransportOptions,
): Promise<Transport> {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, [kind], {
    perMessageDeflate: false,
    headers,
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  const clients = new Map<string, ModelClient>()
  let topics = 0
  let isClosed = false
  let closeCode: number | undefined
  socket.on('error', () => {})
  socket.on('close', (code) => {
    closeCode ??= isClosed ? undefined : code
    isClosed = true
  })
  socket.on('message', (bytes: Buffer) => {
    const message = (kind === 'PlatformJson' ? JSON.parse(bytes.toString()) : unpackMessage(bytes)) as Message
    const client = clients.get(message.Topic)
    if (client === undefined) return
    const data = message.Data
    if (message.Action === 'Error') client.ended = `${data} ${JSON.stringify(message.Problem)}`
    if (message.Action !== 'Publish') return
    if (bytes.length > MAX_FRAME_BYTES && isLong(data)) client.failure = new Error(`${bytes.length} bytes in a message`)
    client.receive(JSON.stringify(data))
  })
  const send = (message: object): void =>
    socket.send(kind === 'PlatformJson' ? JSON.stringify(message) : encode(message))
  return {
    kind,
    get clients() {
      return new Set(clients.values())
    },
    get isClosed() {
      return isClosed
    },
    get closeCode() {
      return closeCode
    },
    async subscribe(client, resume) {
      const { text: Statement, parameters: Parameters } = client.statement
      const Topic = `Live/${++topics}`
      clients.set(Topic, client)
      const Data = { Statement, Parameters, MaxRate: client.maxRate, ...client.opening(resume) }
      send({ Controller: 'Query', Topic, Action: 'Sub', Data })
      return true
    },
    unsubscribe(client) {
      for (const [Topic, known] of clients) {
        if (known !== client) continue
        clients.delete(Topic)
        send({ Controller: 'Query', Topic, Action: 'Unsub' })
      }
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      isClosed = true
      clients.clear()
      socket.terminate()
    },
  }
}

interface Message {
  readonly Topic: string
  readonly Action: string
  readonly Data?: Data
  readonly Problem?: unknown
}

/** A row that exceeds the limit on its own is sent alone. */
function isLong(data: Data | undefined): boolean {
  return (data?.Put?.length ?? 0) + (data?.Remove?.length ?? 0) > 1
}

/** One statement for each connection. */
export function openEvents({ port, token }: TransportOptions): Transport {
  const clients = new Set<ModelClient>()
  let response: IncomingMessage | undefined
  let isPaused = false
  let isClosed = false
  let stop = (): void => {}
  return {
    kind: 'events',
    clients,
    get isClosed() {
      return isClosed
    },
    async subscribe(client, resume) {
      if (clients.size > 0) return false
      clients.add(client)
      const { text: Statement, parameters: Parameters } = client.statement
      const { Resume } = client.opening(resume)
      const headers = {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(Resume === undefined ? {} : { 'last-event-id': Resume }),
      }
      const asked = request({ host: '127.0.0.1', port, path: '/query', method: 'POST', headers, agent: false })
      stop = () => asked.destroy()
      asked.on('error', () => {
        isClosed = true
      })
      asked.on('response', (incoming) => {
        response = incoming
        const parser = new EventParser()
        incoming.setEncoding('utf8').on('error', () => {})
        incoming.on('close', () => {
          isClosed = true
        })
        incoming.on('data', (text: string) => {
          if (incoming.statusCode !== 200) client.ended = text
          for (const { type, data, lastId } of parser.push(text)) {
            if (isClosed) return
            if (type === 'end') client.ended = data
            else client.receive(data)
            if (client.applier.isWhole) assert.equal(lastId, client.applier.position)
          }
        })
        if (isPaused) incoming.pause()
      })
      asked.end(JSON.stringify({ Statement, Parameters, MaxRate: client.maxRate }))
      return true
    },
    unsubscribe() {
      this.close()
    },
    pause() {
      isPaused = true
      response?.pause()
    },
    resume() {
      isPaused = false
      response?.resume()
    },
    close() {
      isClosed = true
      clients.clear()
      stop()
    },
  }
}
