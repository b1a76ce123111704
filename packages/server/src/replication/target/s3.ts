/** Objects in a bucket of S3, or of another store with its API. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { CredentialSource } from './credentials.ts'
import { canonicalQuery, encodePath, type SignedRequest, signRequest } from './signature.ts'
import { MAX_OBJECT_BYTES, type Target, TargetFailed } from './target.ts'

export interface BucketAddress {
  readonly bucket: string
  /** Empty, or with a slash at its end. */
  readonly prefix: string
  /** Undefined for AWS. */
  readonly endpoint: string | undefined
  readonly region: string
}

interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

interface Call {
  readonly key?: string
  readonly query?: SignedRequest['query']
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal?: AbortSignal | undefined
}

const NOTHING = Buffer.alloc(0)
/** Without a byte from the bucket. */
const SILENCE_MS = 30_000
const CONNECTIONS = 16
/** What is read is asked for this many times. */
const TRIES = 4
const PAUSE_MS = 300
const PAGE_KEYS = 1_000
/** Of a listing: two million objects. A bucket that never ends one is not believed. */
const MOST_PAGES = 2_000
/** Of the same page, or of one without objects. */
const MOST_REPEATS = 10
/** Written by each process that stores objects. */
const PROBE = 'conditions'

/** s3://bucket/prefix?endpoint=https://…&region=… */
export function parseBucketUrl(url: string, environment: Readonly<Record<string, string | undefined>>): BucketAddress {
  const { hostname, pathname, searchParams } = new URL(url)
  const path = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '')
  const region = searchParams.get('region') ?? environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION ?? 'us-east-1'
  return {
    bucket: hostname,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: searchParams.get('endpoint')?.replace(/\/$/, ''),
    region,
  }
}

export class S3Target implements Target {
  readonly location: string
  readonly #address: BucketAddress
  readonly #origin: URL
  /** Before the key. */
  readonly #path: string
  readonly #credentials: CredentialSource
  readonly #agent: HttpAgent
  /** Whether the bucket stores nothing where there is an object already, if it is asked not to; undefined until it was tried. */
  #hasConditions: boolean | undefined
  #probing: Promise<boolean> | undefined

  constructor(address: BucketAddress, credentials = new CredentialSource()) {
    const { bucket, prefix, endpoint, region } = address
    this.location = `s3://${bucket}/${prefix}`.replace(/\/$/, '')
    this.#address = address
    this.#origin = new URL(endpoint ?? `https://${bucket}.s3.${region}.amazonaws.com`)
    this.#path = endpoint === undefined ? '/' : `${this.#origin.pathname.replace(/\/$/, '')}/${encodePath(bucket)}/`
    this.#credentials = credentials
    const options = { keepAlive: true, maxSockets: CONNECTIONS }
    this.#agent = this.#origin.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options)
  }

  async put(name: string, body: Buffer, signal: AbortSignal): Promise<boolean> {
    this.#hasConditions ??= await this.#probe(signal)
    if (!this.#hasConditions && (await this.#exists(name, signal))) return false
    return this.#put(name, body, this.#hasConditions, signal)
  }

  /** Once for all that are stored at the same time. */
  #probe(signal: AbortSignal): Promise<boolean> {
    this.#probing ??= this.#tryConditions(signal).finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  /** Some stores refuse the condition, and some ignore it: then two machines could overwrite what the other has stored. */
  async #tryConditions(signal: AbortSignal): Promise<boolean> {
    const probe = Buffer.from('Whether this bucket knows If-None-Match.\n')
    await this.#put(PROBE, probe, false, signal)
    try {
      return !(await this.#put(PROBE, probe, true, signal))
    } catch (error) {
      if (error instanceof TargetFailed && error.cause === 501) return false
      throw error
    }
  }

  async #put(name: string, body: Buffer, isConditional: boolean, signal: AbortSignal): Promise<boolean> {
    const headers = { 'content-type': 'application/octet-stream', ...(isConditional && { 'if-none-match': '*' }) }
    const reply = await this.#call('PUT', { key: name, headers, body, signal })
    if (reply.status === 200 || reply.status === 201 || reply.status === 204) return true
    if (reply.status === 412) return false
    throw this.#refusal('store an object', reply)
  }

  async #exists(name: string, signal: AbortSignal): Promise<boolean> {
    const reply = await this.#call('HEAD', { key: name, signal })
    if (reply.status === 200) return true
    if (reply.status === 404) return false
    throw this.#refusal('look for an object', reply)
  }

  async get(name: string, signal?: AbortSignal): Promise<Buffer | undefined> {
    const reply = await this.#read({ key: name, signal })
    if (reply.status === 404 && !/<Code>NoSuchBucket/.test(reply.body.toString('utf8', 0, 1_000))) return undefined
    if (reply.status === 200) return reply.body
    throw this.#refusal('read an object', reply)
  }

  async *list(folder: string, after?: string): AsyncGenerator<string> {
    const { prefix } = this.#address
    const start = after === undefined ? [] : [['start-after', prefix + after] as const]
    for await (const page of this.#pages(folder, start)) {
      for (const entry of readEntries(page, 'Contents')) {
        const key = readElement(entry, 'Key')
        if (key?.startsWith(prefix)) yield key.slice(prefix.length)
      }
    }
  }

  async folders(): Promise<readonly string[]> {
    const { prefix } = this.#address
    const found: string[] = []
    for await (const page of this.#pages('', [['delimiter', '/']]))
      for (const entry of readEntries(page, 'CommonPrefixes'))
        found.push((readElement(entry, 'Prefix') ?? '').slice(prefix.length).replace(/\/$/, ''))
    return found.filter((name) => name !== '')
  }

  async *#pages(folder: string, further: SignedRequest['query']): AsyncGenerator<string> {
    const query = [
      ['list-type', '2'] as const,
      ['prefix', this.#address.prefix + folder] as const,
      ['max-keys', String(PAGE_KEYS)] as const,
      ...further,
    ]
    let token: string | undefined
    let [before, repeats] = ['', 0]
    for (let pages = 0; pages === 0 || token !== undefined; pages++) {
      if (pages >= MOST_PAGES) throw new TargetFailed(`${this.location} lists more objects than a backup has`)
      const reply = await this.#read({
        query: token === undefined ? query : [...query, ['continuation-token', token] as const],
      })
      if (reply.status !== 200) throw this.#refusal('list objects', reply)
      const page = reply.body.toString()
      const names = readEntries(page, 'Key').join()
      repeats = names === before ? repeats + 1 : 0
      if (repeats > MOST_REPEATS) throw new TargetFailed(`${this.location} lists the same objects again and again`)
      before = names
      yield page
      const next = readElement(page, 'NextContinuationToken')
      token = readElement(page, 'IsTruncated') === 'true' && next !== token ? next : undefined
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const reply = await this.#call('DELETE', { key: name })
      if (reply.status !== 204 && reply.status !== 200 && reply.status !== 404)
        throw this.#refusal('delete an object', reply)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Again after a fault that may pass. */
  async #read(call: Call): Promise<Reply> {
    for (let tries = 1; ; tries++) {
      try {
        const reply = await this.#call('GET', call)
        if ((reply.status < 500 && reply.status !== 429) || tries >= TRIES) return reply
      } catch (error) {
        if (tries >= TRIES || call.signal?.aborted || isTooLong(error)) throw error
      }
      await sleep(PAUSE_MS * 2 ** tries, undefined, { signal: call.signal })
    }
  }

  async #call(method: string, call: Call): Promise<Reply> {
    const reply = await this.#send(method, call)
    // They may have expired, or been replaced.
    if (reply.status !== 403 || !/Expired|InvalidAccessKeyId|InvalidToken/.test(readCode(reply) ?? '')) return reply
    this.#credentials.refused()
    return this.#send(method, call)
  }

  async #send(method: string, { key, query = [], headers = {}, body = NOTHING, signal }: Call): Promise<Reply> {
    const credentials = await this.#credentials.current()
    const path = this.#path + (key === undefined ? '' : encodePath(this.#address.prefix + key))
    const request = { method, host: this.#origin.host, path, query, headers, body }
    const signed = signRequest(request, credentials, { region: this.#address.region, now: new Date() })
    const search = canonicalQuery(query)
    try {
      return await this.#exchange(method, search === '' ? path : `${path}?${search}`, signed, body, signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ReplyTooLong)
        throw new TargetFailed(`${key ?? 'A list'} at ${this.location} is larger than any object of a backup`, {
          cause: error,
        })
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      throw new TargetFailed(`${this.location} cannot be reached (${reason})`, { cause: error })
    }
  }

  #exchange(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: Buffer,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    const { protocol, hostname, port } = this.#origin
    const send = protocol === 'https:' ? requestHttps : requestHttp
    return new Promise((resolve, reject) => {
      const request = send(
        {
          ...{ method, path, agent: this.#agent, timeout: SILENCE_MS },
          hostname: hostname.replace(/^\[|\]$/g, ''),
          ...(port !== '' && { port }),
          ...(signal !== undefined && { signal }),
          headers: { ...headers, 'content-length': String(body.length) },
        },
        (response) => readReply(response, method).then(resolve, reject),
      )
      request.on('timeout', () => request.destroy(new Error('it does not answer')))
      request.on('error', reject)
      request.end(body)
    })
  }

  #refusal(what: string, reply: Reply): TargetFailed {
    const code = readCode(reply) ?? `status ${reply.status}`
    const region = reply.headers['x-amz-bucket-region']
    const hint =
      typeof region === 'string' && region !== this.#address.region
        ? `: the bucket is in the region ${region}, add region=${region} to the URL`
        : (HINTS.get(code) ?? '')
    return new TargetFailed(`${this.location} does not let us ${what} (${code})${hint}`, { cause: reply.status })
  }
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ['AccessDenied', ': its policy must allow s3:PutObject, s3:GetObject and s3:ListBucket'],
  ['NoSuchBucket', ': create the bucket'],
  ['RequestTimeTooSkewed', ': set the clock of this machine'],
  ['SignatureDoesNotMatch', ': AWS_SECRET_ACCESS_KEY is not the one of AWS_ACCESS_KEY_ID'],
])

/** Asking again would not help. */
class ReplyTooLong extends Error {
  override name = 'ReplyTooLong'
}

async function readReply(response: IncomingMessage, method: string): Promise<Reply> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response) {
    bytes += piece.length
    if (bytes > MAX_OBJECT_BYTES) throw new ReplyTooLong(`more than ${MAX_OBJECT_BYTES} bytes`)
    pieces.push(piece)
  }
  const expected = response.headers['content-length']
  if (method !== 'HEAD' && expected !== undefined && bytes !== Number(expected)) throw new Error('its reply is cut off')
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }
}

function isTooLong(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof ReplyTooLong
}

function readCode({ body }: Reply): string | undefined {
  return readElement(body.toString('utf8', 0, 10_000), 'Code')
}

/** Of the XML that S3 writes, which has no attributes where we look. */
function readEntries(xml: string, name: string): readonly string[] {
  const after = xml.split(`<${name}>`).slice(1)
  return after.map((text) => text.slice(0, text.indexOf(`</${name}>`)))
}

function readElement(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text?.replace(/&(lt|gt|quot|apos|amp|#(\d+)|#x([\da-f]+));/gi, (whole, entity, decimal, hex) =>
    decimal !== undefined
      ? String.fromCodePoint(Number(decimal))
      : hex !== undefined
        ? String.fromCodePoint(Number.parseInt(hex, 16))
        : (ENTITIES.get(entity) ?? whole),
  )
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['amp', '&'],
])
