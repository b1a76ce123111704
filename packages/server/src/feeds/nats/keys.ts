/** Idempotency keys of publishers: a stream of their own, in which each key is a subject that only one request can create. Also which delays nodes need. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PublishOnce } from '../engine.ts'
import { apiCode, type Nats } from './connection.ts'
import { KEY_MS } from './stream.ts'
import { encodeToken, KEYS_ROOT } from './subjects.ts'

const STREAM = 'gatehouse_idempotency_keys'
const WRONG_LAST_SEQUENCE = 10_071
const STREAM_NOT_FOUND = 10_059
const NO_MESSAGE = 10_037
/** After this time another request with the key takes over from one whose node has failed. */
const TAKE_OVER_MS = 2_000
const POLL_MS = 10

/** A request with a key, begun by this node or taken over. Its messages have the same ids everywhere. */
export interface KeyedRequest {
  readonly subject: string
  readonly id: string
  readonly fingerprint: string
  readonly time: number
  readonly isTakenOver: boolean
}

export type Begun =
  | { readonly kind: 'begun'; readonly request: KeyedRequest }
  | { readonly kind: 'done'; readonly seq: number; readonly time: number }
  | { readonly kind: 'used' }

interface Entry {
  readonly fingerprint: string
  readonly time: number
  /** Undefined until all messages are stored. */
  readonly seq: number | undefined
}

export class Keys {
  readonly #nats: Nats
  readonly #replicas: number
  #created: Promise<void> | undefined

  constructor(nats: Nats, replicas: number) {
    this.#nats = nats
    this.#replicas = replicas
  }

  async begin(generation: string, { owner, key, fingerprint }: PublishOnce, time: number): Promise<Begun> {
    await this.#create()
    const { id, subject } = keyPlace(generation, owner, key)
    const begun = (start: number, isTakenOver: boolean): Begun => ({
      kind: 'begun',
      request: { subject, id, fingerprint, time: start, isTakenOver },
    })
    for (const deadline = Date.now() + TAKE_OVER_MS; ; await sleep(POLL_MS)) {
      const entry = await this.#read(subject)
      if (entry === undefined) {
        if (await this.#write(subject, { fingerprint, time, seq: undefined }, { isNew: true }))
          return begun(time, false)
        continue
      }
      if (entry.fingerprint !== fingerprint) return { kind: 'used' }
      if (entry.seq !== undefined) return { kind: 'done', seq: entry.seq, time: entry.time }
      if (Date.now() >= deadline) return begun(entry.time, true)
    }
  }

  /** The fingerprint of the request that has used the key; undefined if there was none. */
  async fingerprint(generation: string, { owner, key }: PublishOnce): Promise<string | undefined> {
    await this.#create()
    return (await this.#read(keyPlace(generation, owner, key).subject))?.fingerprint
  }

  async finish({ subject, fingerprint, time }: KeyedRequest, seq: number): Promise<void> {
    await this.#write(subject, { fingerprint, time, seq }, { isNew: false })
  }

  /** Nothing was published: the key can be used again. */
  async cancel({ subject }: KeyedRequest): Promise<void> {
    await this.#nats.run(() => this.#nats.streams.purge(STREAM, { filter: subject }))
  }

  async forget(generation: string): Promise<void> {
    const filter = `${KEYS_ROOT}.${encodeToken(generation)}.>`
    await this.#nats.run(() => this.#nats.streams.purge(STREAM, { filter })).catch(unless(STREAM_NOT_FOUND))
  }

  /** A node needs the delay of a feed at this time. */
  async declareDelay(generation: string, delay: number, time: number): Promise<void> {
    await this.#create()
    await this.#write(delayPlace(generation, delay), { fingerprint: '', time, seq: undefined }, { isNew: false })
  }

  /** When a node needed the delay last; undefined if none did. */
  async readDelay(generation: string, delay: number): Promise<number | undefined> {
    await this.#create()
    return (await this.#read(delayPlace(generation, delay)))?.time
  }

  async #read(subject: string): Promise<Entry | undefined> {
    const found = await this.#nats
      .run(() => this.#nats.streams.getMessage(STREAM, { last_by_subj: subject }))
      .catch(unless(NO_MESSAGE))
    return found ? readEntry(found.json()) : undefined
  }

  async #write(subject: string, entry: Entry, { isNew }: { isNew: boolean }): Promise<boolean> {
    const headers = isNew ? this.#nats.headers({ 'Nats-Expected-Last-Subject-Sequence': '0' }) : undefined
    const reply: unknown = (await this.#nats.request(subject, JSON.stringify(entry), headers)).json()
    const error = readError(reply)
    if (error === undefined) return true
    if (error.code === WRONG_LAST_SEQUENCE) return false
    throw new Error(`JetStream does not store an idempotency key: ${error.description}`)
  }

  async #create(): Promise<void> {
    this.#created ??= this.#nats
      .run(() =>
        this.#nats.streams.add({
          name: STREAM,
          subjects: [`${KEYS_ROOT}.>`],
          description: 'Idempotency keys of publishers to feeds of Gatehouse',
          storage: 'file',
          max_msgs_per_subject: 1,
          max_age: KEY_MS * 1e6,
          duplicate_window: 120e9,
          num_replicas: this.#replicas,
          allow_direct: false,
        }),
      )
      .then(() => {})
      .catch((error: unknown) => {
        this.#created = undefined
        throw error
      })
    await this.#created
  }
}

function keyPlace(generation: string, owner: string, key: string): { readonly id: string; readonly subject: string } {
  const id = createHash('sha256')
    .update(JSON.stringify([generation, owner, key]))
    .digest('base64url')
  return { id, subject: `${KEYS_ROOT}.${encodeToken(generation)}.${id}` }
}

/** No id of a key is as short. */
function delayPlace(generation: string, delay: number): string {
  return `${KEYS_ROOT}.${encodeToken(generation)}.delay-${delay}`
}

/** The error in the reply to a published message; undefined if it is stored. */
export function readError(reply: unknown): { readonly code: number; readonly description: string } | undefined {
  if (typeof reply !== 'object' || reply === null || !('error' in reply)) return undefined
  const { error } = reply
  if (typeof error !== 'object' || error === null) return undefined
  const code = 'err_code' in error ? Number(error.err_code) : 0
  return { code, description: 'description' in error ? String(error.description) : 'an unknown error' }
}

function readEntry(value: unknown): Entry | undefined {
  if (typeof value !== 'object' || value === null || !('fingerprint' in value) || !('time' in value)) return undefined
  const seq = 'seq' in value && value.seq !== null ? Number(value.seq) : undefined
  return { fingerprint: String(value.fingerprint), time: Number(value.time), seq }
}

function unless(expected: number): (error: unknown) => undefined {
  return (error) => {
    if (apiCode(error) !== expected) throw error
  }
}
