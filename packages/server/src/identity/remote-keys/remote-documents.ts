/** JSON documents of other servers, in memory: fetched with the guard, cached as their headers say, and kept for a day while they cannot be fetched. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from 'gatehouse-protocol'
import { guardedRequest, type Resolve } from '../../http/outgoing/guarded-request.ts'
import { parseJson } from '../../lib/exact-json.ts'
import { LruMap } from '../../lib/lru-map.ts'

export interface FetchOptions {
  /** Allows private and loopback addresses, and http. */
  readonly allowPrivate: boolean
  readonly mostBytes: number
}

export interface RemoteDocumentsOptions<Document> {
  readonly clock: Clock
  /** Throws with a reason if the document is not what it must be. */
  readonly parse: (value: unknown, uri: string) => Document
  readonly onFetched: (uri: string, fault: string | undefined) => void
  readonly resolve?: Resolve | undefined
  /** How long a document is used while it cannot be fetched again; a day where absent. */
  readonly keptMs?: number
  /** How long nothing is fetched again after a failure, while there is nothing cached. */
  readonly failedMs?: number
}

/** There is no document that may still be used. The message says what is wrong with the last fetch. */
export class DocumentUnavailable extends Error {
  override readonly name = 'DocumentUnavailable'
  readonly reason: string

  constructor(uri: string, reason: string) {
    super(`${uri}: ${reason}`)
    this.reason = reason
  }
}

const MINUTE_MS = 60_000
const LEAST_CACHED_MS = 5 * MINUTE_MS
const MOST_CACHED_MS = 60 * MINUTE_MS
const KEPT_MS = 24 * 60 * MINUTE_MS
/** Between two fetches of what is cached already: for unknown key ids, and after a failure. */
const AGAIN_MS = MINUTE_MS
/** Between two fetches while there is nothing cached. */
const AGAIN_WITHOUT_MS = 10_000
const MAX_DOCUMENTS = 2_000

interface Cached<Document> {
  readonly document: Document
  readonly at: number
  readonly until: number
}

interface Entry<Document> {
  cached: Cached<Document> | undefined
  triedAt: number
  fault: string
  /** At most one at a time for each document. */
  fetching: Promise<void> | undefined
}

export class RemoteDocuments<Document extends NonNullable<unknown>> {
  readonly #options: RemoteDocumentsOptions<Document>
  readonly #entries = new LruMap<Entry<Document>>(MAX_DOCUMENTS)

  constructor(options: RemoteDocumentsOptions<Document>) {
    this.#options = options
  }

  /** Rejects with DocumentUnavailable. Only callers that need this document wait for it. */
  async get(uri: string, options: FetchOptions): Promise<Document> {
    const entry = this.#findOrAddEntry(uri, options)
    const { cached } = entry
    const now = this.#options.clock()
    if (cached !== undefined && isWithin(now, cached.at, cached.until - cached.at)) return cached.document
    return this.#fetched(entry, uri, options)
  }

  /** Whether `get` would make a request. What is not known takes no place by being asked about. */
  isDue(uri: string, options: FetchOptions): boolean {
    const entry = this.#entries.get(entryKey(uri, options))
    if (entry === undefined) return true
    const { cached, fetching, triedAt } = entry
    const now = this.#options.clock()
    if (cached !== undefined && isWithin(now, cached.at, cached.until - cached.at)) return false
    return fetching === undefined && !isWithin(now, triedAt, this.#pause(cached))
  }

  /** For a caller that misses something in the cached document: fetched again, but not within a minute after the last time. */
  async getNewer(uri: string, options: FetchOptions): Promise<Document> {
    return this.#fetched(this.#findOrAddEntry(uri, options), uri, options)
  }

  async #fetched(entry: Entry<Document>, uri: string, options: FetchOptions): Promise<Document> {
    const { clock, keptMs = KEPT_MS } = this.#options
    if (entry.fetching !== undefined || !isWithin(clock(), entry.triedAt, this.#pause(entry.cached))) {
      entry.fetching ??= this.#fetch(entry, uri, options)
      await entry.fetching
    }
    const { cached } = entry
    const lasts = cached === undefined ? 0 : Math.max(keptMs, cached.until - cached.at)
    if (cached === undefined || !isWithin(clock(), cached.at, lasts)) throw new DocumentUnavailable(uri, entry.fault)
    return cached.document
  }

  #pause(cached: Cached<Document> | undefined): number {
    return cached === undefined ? (this.#options.failedMs ?? AGAIN_WITHOUT_MS) : AGAIN_MS
  }

  /** Never rejects. */
  async #fetch(entry: Entry<Document>, uri: string, options: FetchOptions): Promise<void> {
    const { clock, parse, resolve, onFetched } = this.#options
    entry.triedAt = clock()
    try {
      const headers = { accept: 'application/json' }
      const reply = await guardedRequest(uri, { ...options, headers, resolve })
      if (reply.status !== 200) throw new Error(`The answer is ${reply.status}`)
      const document = parse(parseDocument(reply.body), uri)
      const at = clock()
      entry.cached = { document, at, until: at + cachedFor(reply.headers, at) }
      onFetched(uri, undefined)
    } catch (error) {
      entry.fault = error instanceof Error ? error.message : String(error)
      onFetched(uri, entry.fault)
    } finally {
      entry.fetching = undefined
    }
  }

  #findOrAddEntry(uri: string, options: FetchOptions): Entry<Document> {
    const key = entryKey(uri, options)
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const entry: Entry<Document> = { cached: undefined, triedAt: -Infinity, fault: '', fetching: undefined }
    this.#entries.set(key, entry)
    return entry
  }
}

function entryKey(uri: string, { allowPrivate, mostBytes }: FetchOptions): string {
  return `${allowPrivate} ${mostBytes} ${uri}`
}

/** Not after the clock was set back either. */
function isWithin(now: number, since: number, milliseconds: number): boolean {
  return now >= since && now - since < milliseconds
}

function parseDocument(body: Buffer): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    throw new Error('The answer is not JSON')
  }
}

/** RFC 9111 §4.2.1, within our bounds. */
function cachedFor(headers: IncomingHttpHeaders, now: number): number {
  const directives = headers['cache-control'] ?? ''
  const maxAge = /(?:^|[\s,])max-age\s*=\s*"?(\d{1,9})/i.exec(directives)?.[1]
  const expires = Date.parse(headers.expires ?? '')
  const age = Number(/^\d{1,9}$/.exec(headers.age ?? '')?.[0] ?? 0) * 1000
  const fresh = maxAge !== undefined ? Number(maxAge) * 1000 - age : Number.isNaN(expires) ? 0 : expires - now
  const mayStore = !/(?:^|[\s,])no-(?:store|cache)/i.test(directives)
  return mayStore ? Math.min(Math.max(fresh, LEAST_CACHED_MS), MOST_CACHED_MS) : LEAST_CACHED_MS
}
