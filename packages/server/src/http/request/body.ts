/** The body of a request: read as a whole up to a limit, and as a form. Query strings are read like forms where a protocol needs it. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from 'gatehouse-protocol'
import type { HeldBytes } from '../../lib/held-bytes.ts'
import type { Context } from '../context.ts'
import type { BodyRule } from '../route.ts'
import { targetQuery } from './request-head.ts'

const NOTHING = Buffer.alloc(0)

/** RFC 9112 §6: the header fields tell whether there is a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export interface ReadBodyOptions {
  /** The most bytes of this body. */
  readonly limit: number
  /** The bodies that are arriving. */
  readonly arriving: HeldBytes
  /** The time within which it has to arrive: a minute by default. */
  readonly arrivalMs?: number | undefined
  /** Gets the body or a refusal, and whether it took time to arrive; is not called if the client closes before the end. */
  readonly done: (read: Buffer | Refusal, isLate: boolean) => void
}

export function readBody(context: Context, options: ReadBodyOptions): void {
  const { limit: most, done } = options
  const { request } = context
  const { 'content-length': said, 'transfer-encoding': coding, expect } = request.headers
  const length = Number(said ?? 0)
  if (length > most) {
    done(tooLarge(), false)
    return
  }
  // RFC 9110 §10.1.1: the client waits for this; Node has answered every other expectation. HTTP/1.0 has none.
  if (expect !== undefined && request.httpVersionMinor > 0) context.response.writeContinue()
  // A small body usually arrives with the headers, so it can be read on the next tick.
  process.nextTick(() => {
    const first: Buffer = request.read() ?? NOTHING
    if (coding === undefined && first.length === length) done(first, false)
    else readOn(context, first, options)
  })
}

/** A body that is kept in memory has to arrive within this time. */
const MAX_ARRIVAL_MS = 60_000

/** The memory that a part takes besides its bytes: a body may come in parts of one byte. */
const PART_BYTES = 256

function readOn(
  { request, holder }: Context,
  first: Buffer,
  { limit, arriving, arrivalMs = MAX_ARRIVAL_MS, done }: ReadBodyOptions,
): void {
  const parts: Buffer[] = []
  const releases: (() => void)[] = []
  let length = 0
  let hasLeft = false
  const take = (part: Buffer): void => {
    length += part.length
    if (length > limit) leave(tooLarge())
    else {
      parts.push(part)
      releases.push(arriving.hold(holder, part.length + PART_BYTES, () => leave(tooMuchAtOnce())))
      if (hasLeft) release()
    }
  }
  const timer = setTimeout(() => leave(tooSlow()), arrivalMs).unref()
  const end = (): void => leave(Buffer.concat(parts, length))
  const release = (): void => {
    for (const forget of releases.splice(0)) forget()
  }
  const leave = (read: Buffer | Refusal): void => {
    if (hasLeft) return
    hasLeft = true
    clearTimeout(timer)
    request.off('data', take).off('end', end)
    release()
    done(read, true)
  }
  // Without a listener the error would end the process.
  request.on('error', () => {})
  request
    .on('data', take)
    .on('end', end)
    .on('close', () => {
      clearTimeout(timer)
      release()
    })
  take(first)
}

/** The rest of the body is not read: the connection is closed after the reply. */
function tooLarge(): Refusal {
  return new Refusal('http.body_too_large', 413, 'The body is too large', { headers: { connection: 'close' } })
}

function tooSlow(): Refusal {
  return new Refusal('http.timeout', 408, 'The request took too long to arrive', { headers: { connection: 'close' } })
}

function tooMuchAtOnce(): Refusal {
  const headers = { 'retry-after': '1', connection: 'close' }
  return new Refusal('http.busy', 503, 'Too many request bodies are arriving', { headers })
}

/** The body rule of routes that take forms. */
export const FORM: BodyRule = { limit: 64 * 1024, types: ['application/x-www-form-urlencoded'] }

export interface FormParameters {
  /** Empty values count as absent (RFC 6749 §3.1). */
  get(name: string): string | undefined
  /** Names that occur more than once. */
  readonly repeated: ReadonlySet<string>
  /** Every value of a parameter that may be repeated, without empty ones. */
  all(name: string): readonly string[]
  names(): Iterable<string>
}

const MOST_PARAMETERS = 200

export function readParameters(encoded: string): FormParameters {
  const values = new Map<string, string>()
  const repeated = new Map<string, string[]>()
  let count = 0
  for (const [name, value] of new URLSearchParams(encoded)) {
    if (++count > MOST_PARAMETERS) throw new Refusal('invalid_request', 400, `More than ${MOST_PARAMETERS} parameters`)
    // No parameter of a protocol here has one, and PostgreSQL cannot store it.
    if (name.includes('\0') || value.includes('\0'))
      throw new Refusal('invalid_request', 400, 'A parameter holds the character U+0000')
    const first = values.get(name)
    if (first === undefined) values.set(name, value)
    else repeated.set(name, [...(repeated.get(name) ?? [first]), value])
  }
  return {
    get: (name) => values.get(name) || undefined,
    repeated: new Set(repeated.keys()),
    all: (name) => (repeated.get(name) ?? [values.get(name) ?? '']).filter((value) => value !== ''),
    names: () => values.keys(),
  }
}

/** The query string of a request, read like a form. */
export function queryParameters({ target }: Pick<Context, 'target'>): FormParameters {
  return readParameters(targetQuery(target))
}

const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i

export function isForm({ headers }: Context): boolean {
  return FORM_TYPE.test(headers['content-type'] ?? '')
}

/** The body of a request, which must be a form. */
export function formParameters(context: Context): FormParameters {
  if (!isForm(context)) throw new Refusal('invalid_request', 400, 'The body must be a form')
  return readParameters(String(context.body))
}
