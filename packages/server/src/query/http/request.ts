/** Reads what all requests to the query service have: a token for the platform, a body, the formats that the client accepts (RFC 9110 §12.5), an Idempotency-Key. */
import { createHash } from 'node:crypto'
import { type Clock, opensPlatform, PLATFORM_AUDIENCE, type Principal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { EVENT_STREAM } from '../../http/events/event-response.ts'
import { byQuality } from '../../http/request/accept.ts'
import type { QueryValues } from '../../http/request/request-head.ts'
import type { Json } from '../../lib/exact-json.ts'
import type { Steps } from '../../lib/turns.ts'
import type { IdempotencyKey, ReadLimits } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { readJson, readJsonInSteps } from '../json.ts'
import type { Encoding, Format } from '../model/result.ts'
import { callOwner } from '../run/call.ts'

/** Every request needs an access token for the platform with at least one of its scopes. */
export function requirePlatformAccess(principal: Principal): void {
  if (!principal.audiences.includes(PLATFORM_AUDIENCE)) {
    throw refuse(
      'Auth.InvalidToken',
      'The access token has no scope of the platform: ask for one, such as Platform/Market',
      {
        headers: {
          'www-authenticate': 'Bearer error="invalid_token", error_description="The token is for another audience"',
        },
      },
    )
  }
  for (const scope of principal.scopes) if (opensPlatform(scope)) return
  throw refuse('Auth.MissingScope', 'The access token has no scope of the platform', {
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    members: { Scope: 'Platform/Market' },
  })
}

/** The body of a call on a table; undefined if it is empty. `otherTypes`: those that the call accepts besides, and that are read elsewhere. */
export function* readTableBody(context: Context, otherTypes: readonly string[] = []): Steps<Json | undefined> {
  const type = context.headers['content-type']
  const text = bodyText(context, () => {
    // For a file with a wrong type, the list of those that are accepted says more than that it is not text.
    if (type !== undefined) checkContentType(type, otherTypes)
  })
  yield
  if (text.trim() === '') return undefined
  // RFC 9110 §8.3: without a type the recipient may assume one.
  if (type !== undefined) checkContentType(type, otherTypes)
  return yield* readJsonInSteps(text)
}

/** The body of a short request; an empty one is refused as JSON. */
export function readWholeJson(context: Context): Json {
  return readJson(bodyText(context))
}

/** The bytes must be UTF-8; `onOthers` may throw another error for those that are not. */
export function bodyText({ body }: Context, onOthers?: () => void): string {
  try {
    return UTF8.decode(body)
  } catch {
    onOthers?.()
    throw refuse('Request.Unsupported', 'The body is not text in UTF-8')
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** text/plain and application/json in UTF-8; anything else is 415. */
export function checkContentType(contentType: string | undefined, otherTypes: readonly string[] = []): void {
  if (contentType === 'application/json' || contentType === 'text/plain; charset=utf-8') return
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  if (type !== 'text/plain' && type !== 'application/json') {
    throw refuse('Request.Unsupported', `The content type ${JSON.stringify(type)} is not supported`, {
      members: { Expected: ['text/plain; charset=utf-8', 'application/json', ...otherTypes] },
    })
  }
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    throw refuse('Request.Unsupported', `The charset ${JSON.stringify(charset)} is not supported`, {
      members: { Expected: ['utf-8'] },
    })
  }
}

export const MEDIA_TYPES: Readonly<Record<Exclude<Format, 'wire'>, string>> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  arrow: 'application/vnd.apache.arrow.stream',
  parquet: 'application/vnd.apache.parquet',
}

export function mediaType({ format }: Encoding): string {
  if (format === 'wire') throw new TypeError('HTTP does not have the format wire')
  return MEDIA_TYPES[format]
}

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['text/csv', 'csv'],
  ['application/vnd.apache.arrow.stream', 'arrow'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['text/*', 'csv'],
])

/** The values of Content-Encoding; `Encoding` is how rows are written. */
export type Compression = 'identity' | 'gzip' | 'br' | 'zstd'
const COMPRESSIONS: readonly Compression[] = ['zstd', 'br', 'gzip']

export function negotiateEncoding({ headers, query }: Context): Encoding {
  return {
    format: negotiateFormat(headers.accept),
    ...valueEncoding(query),
    header: readWord(query, 'header', ['none', 'columns']),
  }
}

/** How rows and integers are written, in every format. */
export function valueEncoding(query: QueryValues): Pick<Encoding, 'rows' | 'integers'> {
  return {
    rows: readWord(query, 'rows', ['objects', 'arrays']),
    integers: readWord(query, 'integers', ['numbers', 'strings']),
  }
}

function negotiateFormat(accept: string | undefined): Format {
  if (accept === undefined || accept.trim() === '' || accept === '*/*' || accept === 'application/json') return 'json'
  for (const { value } of byQuality(accept)) {
    const format = FORMATS.get(value)
    if (format !== undefined) return format
  }
  const offered = Object.values(MEDIA_TYPES).map((type) => type.split(';', 1)[0])
  throw refuse('Request.NotAcceptable', `No result format matches ${accept}`, { members: { Expected: offered } })
}

/** Whether the caller prefers the statement as live events to every format of a result. */
export function prefersEvents(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(EVENT_STREAM)) return false
  return byQuality(accept).find(({ value }) => value === EVENT_STREAM || FORMATS.has(value))?.value === EVENT_STREAM
}

export function negotiateCompression(accepted: string | undefined): Compression {
  if (accepted === undefined) return 'identity'
  const wanted = byQuality(accepted)
  const best = wanted[0]?.quality ?? 0
  const candidates = wanted.filter(({ quality }) => quality === best).map(({ value }) => value)
  return COMPRESSIONS.find((compression) => candidates.includes(compression)) ?? 'identity'
}

export function readWord<Word extends string>(query: QueryValues, name: string, words: readonly [Word, Word]): Word {
  const given = query.get(name)
  if (given === undefined) return words[0]
  const found = words.find((word) => word === given)
  if (found !== undefined) return found
  throw refuse('Request.BadParameter', `The query parameter ${name} must be ${words.join(' or ')}`, {
    members: { Expected: words },
  })
}

export interface ResultLimits {
  /** Applies to JSON results. The other formats are meant for whole tables. */
  readonly resultRows: number
  readonly resultBytes: number
}

export function readLimits(
  limits: ResultLimits,
  { format }: Encoding,
  { limit, skip = 0 }: { readonly limit?: number | undefined; readonly skip?: number } = {},
): ReadLimits {
  const most = format === 'json' ? limits.resultRows : Number.MAX_SAFE_INTEGER
  return { rows: Math.min(limit ?? most, most), bytes: limits.resultBytes, skip }
}

/** The key of a request whose body is hashed as it arrives; `kind` and the query string are part of the request. */
export function idempotencyKeyReader(
  context: Context,
  clock: Clock,
  kind: string,
): ((digest: string) => IdempotencyKey) | undefined {
  const given = context.headers['idempotency-key']
  if (given === undefined) return undefined
  const parts = [kind, context.headers['content-type'] ?? '', context.target.toLowerCase()]
  // Refused before the body is read.
  readIdempotencyKey(context, clock, () => [])
  return (digest) => {
    const key = readIdempotencyKey(context, clock, () => [`${JSON.stringify(parts)}\n`, digest])
    if (key === undefined) throw new Error('A request has lost its Idempotency-Key')
    return key
  }
}

/** `request` identifies a repeated request as the same one. */
export function readIdempotencyKey(
  context: Context,
  clock: Clock,
  request: () => readonly (string | Uint8Array)[],
): IdempotencyKey | undefined {
  const key = context.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw refuse('Request.BadParameter', 'An Idempotency-Key has 1 to 200 visible ASCII characters')
  }
  const hash = createHash('sha256').update(`${context.route}\n`)
  for (const part of request()) hash.update(part)
  const fingerprint = hash.digest('base64url')
  return { owner: callOwner(context.principal), key, fingerprint, now: BigInt(clock()) * 1000n }
}
