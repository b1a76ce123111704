/** What can go wrong, as classes: each error has a stable `code` and says what to do about it. */

/** The members of an error document, of the query service, of OAuth or of the stream. */
export interface ErrorInit {
  readonly code: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly hint?: string | undefined
  readonly retryable?: boolean | undefined
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Set for a QueryError. */
  readonly statement?: string | undefined
  readonly position?: Position | undefined
  /** Set for a StepUpNeeded. */
  readonly acrValues?: unknown
  readonly maxAge?: unknown
  /** Set for a LicenceNeeded. */
  readonly products?: unknown
  readonly reason?: unknown
}

/**
 * The base of all errors of this library, except `AbortError`, which passes through as it is.
 *
 * @example
 * ```ts
 * try {
 *   await gate.table('trades').insert({ id: 1 })
 * } catch (error) {
 *   if (error instanceof GatehouseError && error.code === 'Data.UniqueViolation') return 'exists already'
 *   throw error
 * }
 * ```
 */
export class GatehouseError extends Error {
  // Written out: a minified class has another name.
  override readonly name: string = 'GatehouseError'
  /** Stable, for programs: `Data.UniqueViolation`, `invalid_grant`, `Authority`, `client.offline` … */
  declare readonly code: string
  /** The HTTP status, if there was a reply. */
  declare readonly status: number | undefined
  /** By which the request is found in the logs of the server. */
  declare readonly requestId: string | undefined
  /** What might have been meant, or what to do. */
  declare readonly hint: string | undefined
  /** Whether the same request can succeed later. */
  declare readonly retryable: boolean
  /** Seconds to wait before, if the server said so. */
  declare readonly retryAfter: number | undefined
  /** Everything else that the server said. */
  declare readonly details: Readonly<Record<string, unknown>>

  constructor(message: string, { cause, ...init }: ErrorInit) {
    super(message, cause === undefined ? undefined : { cause })
    Object.assign(this, { retryable: false, details: {}, ...init })
  }
}

/** Where a statement is wrong. */
export interface Position {
  /** UTF-16 code units from the start, as in JavaScript strings. */
  readonly offset: number
  /** From 1. */
  readonly line: number
  /** Characters from the start of the line, from 1. */
  readonly column: number
}

/**
 * A statement, or a call on a table, was refused or failed.
 *
 * @example
 * ```ts
 * if (error instanceof QueryError) console.error(`${error.message}\n${error.caret ?? ''}`)
 * // There is no column pric
 * // 1 | select pric from trades
 * //            ^
 * ```
 */
export class QueryError extends GatehouseError {
  override readonly name = 'QueryError'
  declare readonly statement: string | undefined
  declare readonly position: Position | undefined

  /** The line of the statement with a caret under the position. */
  get caret(): string | undefined {
    const { statement, position } = this
    if (statement === undefined || position === undefined) return undefined
    const { line, column } = position
    const text = statement.split('\n')[line - 1]?.replaceAll('\t', ' ') ?? ''
    return `${line} | ${text}\n${' '.repeat(`${line} | `.length + column - 1)}^`
  }
}

/**
 * The user is not signed in, may not do this, or the identity server refused.
 *
 * @example
 * ```ts
 * if (error instanceof AuthError && error.code === 'login_required') await gate.auth.signIn()
 * ```
 */
export class AuthError extends GatehouseError {
  override readonly name: string = 'AuthError'
}

/**
 * The sign-in is too weak or too old for this (RFC 9470). With `browser()` the library lets the user sign in again by itself and repeats what was
 * refused, once; with any other source of tokens it throws this error.
 *
 * @example
 * ```ts
 * if (error instanceof StepUpNeeded) showLink(`Sign in again with ${error.acrValues === '2' ? 'two factors' : 'your password'}`)
 * ```
 */
export class StepUpNeeded extends AuthError {
  override readonly name = 'StepUpNeeded'
  /** What to request as `acr_values`: `2` means two factors. */
  declare readonly acrValues: string | undefined
  /** What to request as `max_age`: how many seconds ago the sign-in may be. */
  declare readonly maxAge: number | undefined
}

/**
 * A licence for market data is needed, or all places of one are in use; `code` says which: `Licence.Needed`, `Licence.Places`,
 * `Licence.Displaced`, on streams `Licence.NotReady` too.
 *
 * @example
 * ```ts
 * if (error instanceof LicenceNeeded && error.reason === 'agreement') location.href = '/account/data'
 * ```
 */
export class LicenceNeeded extends AuthError {
  override readonly name = 'LicenceNeeded'
  /** Any of which would open it; none, if no product names it. */
  declare readonly products: readonly string[]
  /** What is missing: `none`, `not_yet`, `expired`, `disabled`, `agreement`, `uncovered`. */
  declare readonly reason: string | undefined
}

/**
 * The server cannot be reached, or the connection was lost before the answer came.
 *
 * @example
 * ```ts
 * if (error instanceof ConnectionError) show(`No connection: ${error.message}`)
 * ```
 */
export class ConnectionError extends GatehouseError {
  override readonly name = 'ConnectionError'

  constructor(message: string, init: Partial<ErrorInit> = {}) {
    super(message, { code: 'client.offline', retryable: true, ...init })
  }
}

/** The error of everything that waits when the application closes something. */
export function closedError(what: string): ConnectionError {
  return new ConnectionError(`The ${what} was closed`, { code: 'client.closed', retryable: false })
}

/** The error of a reply that is not a success. Reads its body. */
export async function readError(response: Response, statement?: string): Promise<GatehouseError> {
  const text = await response.text().catch(() => '')
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {}
  const { status, headers } = response
  const seconds = parseRetryAfter(headers.get('retry-after'))
  return problemError(document, { status, requestId: headers.get('request-id') ?? undefined, seconds, statement })
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const given = Number(header)
  const seconds = given >= 0 ? given : (Date.parse(header) - Date.now()) / 1000
  return seconds >= 0 ? seconds : undefined
}

interface Reply {
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly seconds?: number | undefined
  readonly statement?: string | undefined
}

/**
 * The error that a problem document (RFC 9457) or an OAuth error (RFC 6749 §5.2) describes, for programs that read replies
 * themselves.
 *
 * @example
 * ```ts
 * // The last line of a result in NDJSON
 * if (Object.hasOwn(line, 'Error')) throw problemError(line.Error)
 * ```
 */
export function problemError(document: unknown, reply: Reply = {}): GatehouseError {
  const members = asObject(document)
  const status = reply.status ?? (typeof members.status === 'number' ? members.status : undefined)
  const code = text(members.Code) ?? text(members.error) ?? `http.${status}`
  const message =
    text(members.detail) ?? text(members.error_description) ?? text(members.title) ?? `The server answered ${status}`
  const init: ErrorInit = {
    code,
    status,
    requestId: text(members.RequestId) ?? reply.requestId,
    hint:
      text(members.Hint) ?? (Array.isArray(members.Expected) ? `Expected: ${members.Expected.join(', ')}` : undefined),
    // Stopped writes need an operator, although their status suggests a retry.
    retryable:
      ([429, 502, 503, 504].includes(status ?? 0) || code === 'Data.Conflict') && code !== 'Data.WritesStopped',
    retryAfter: reply.seconds,
    details: members,
  }
  if (/^(IQL|Data|Criteria|Limit|Request)\./.test(code)) {
    const { Offset, Line, Column } = asObject(members.Position)
    const position =
      typeof Offset === 'number' ? { offset: Offset, line: Number(Line), column: Number(Column) } : undefined
    return new QueryError(message, { ...init, statement: reply.statement, position })
  }
  if (code === 'Auth.StepUp')
    return new StepUpNeeded(message, { ...init, acrValues: members.AcrValues, maxAge: members.MaxAge })
  if (/^Licence\.[NPD]/.test(code) && status === 403)
    return new LicenceNeeded(message, { ...init, products: members.Products ?? [], reason: members.Reason })
  if (members.error !== undefined || status === 401 || status === 403) return new AuthError(message, init)
  return new GatehouseError(message, init)
}

/** The members of a JSON object; of anything else, none. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
