/** Errors as PostgreSQL's clients see them: SQLSTATE, position, hint, and a detail with the code and the Request-Id. */
import { ERRORS } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { asUnavailable, QUERY_ERRORS } from '../../query/index.ts'
import { CatalogueError } from '../catalogue/catalogue-error.ts'
import { NoMemoryLeft } from '../protocol/connection-memory.ts'
import type { ErrorFields } from '../protocol/replies.ts'
import { BadParameter } from '../types/parameters.ts'

/** An error of the session itself, which HTTP does not have. */
export class WireError extends Error {
  readonly sqlstate: string
  readonly hint: string | undefined
  /** In UTF-16 code units of its statement. */
  readonly at: number | undefined

  constructor(sqlstate: string, message: string, hint?: string, at?: number) {
    super(message)
    this.sqlstate = sqlstate
    this.hint = hint
    this.at = at
  }
}

/** For metrics and the log of slow statements; undefined for what the query service knows itself. */
export function errorOutcome(error: unknown): string | undefined {
  return error instanceof WireError ? `wire.${error.sqlstate}` : undefined
}

/** Where the statement is in the text that the client sent. */
export interface SentText {
  readonly text: string
  readonly offset: number
}

/** Undefined for an error that is a bug: the caller logs it, and the client learns only the Request-Id. */
export function toErrorFields(error: unknown, requestId: string, sent?: SentText): ErrorFields | undefined {
  if (error instanceof WireError || error instanceof CatalogueError) {
    const { sqlstate, message, hint, at } = error
    return {
      severity: 'ERROR',
      sqlstate,
      message,
      hint,
      position: at === undefined ? undefined : errorPosition(sent, at),
    }
  }
  if (error instanceof NoMemoryLeft)
    return {
      severity: 'ERROR',
      sqlstate: '53000',
      message: error.message,
      hint: 'Close or commit some, or send less at a time',
    }
  if (error instanceof BadParameter) return { severity: 'ERROR', sqlstate: error.sqlstate, message: error.message }
  const refusal = asUnavailable(error) ?? error
  if (!(refusal instanceof Refusal)) return undefined
  const { code, message, status, details } = refusal
  const { Hint, Expected, Position } = details.members ?? {}
  return {
    severity: 'ERROR',
    sqlstate: SQLSTATES.get(code) ?? statusSqlstate(status),
    message,
    detail: `${code}, Request-Id ${requestId}`,
    hint: typeof Hint === 'string' ? Hint : expectedText(Expected),
    position: isPosition(Position) ? errorPosition(sent, Position.Offset) : undefined,
  }
}

export const FAULT: ErrorFields = {
  severity: 'ERROR',
  sqlstate: 'XX000',
  message: 'The server failed to answer; the log has the error under the Request-Id',
}

const SQLSTATES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ERRORS).map(([name, { sqlstate }]) => [`IQL.${name}`, sqlstate] as const),
  ...Object.entries(QUERY_ERRORS).map(([code, { sqlstate }]) => [code, sqlstate] as const),
])

/** For refusals of other parts of the server, such as rate limits and step-up. */
function statusSqlstate(status: number): string {
  if (status === 401 || status === 403) return '42501'
  if (status === 429) return '53300'
  return status >= 500 ? '57P03' : '22023'
}

function expectedText(expected: unknown): string | undefined {
  if (!Array.isArray(expected) || expected.length === 0) return undefined
  return `Expected ${expected.join(', ')}`
}

function isPosition(value: unknown): value is { readonly Offset: number } {
  return typeof value === 'object' && value !== null && 'Offset' in value && typeof value.Offset === 'number'
}

/** In characters of the whole text, from 1. */
function errorPosition(sent: SentText | undefined, at: number): number | undefined {
  if (sent === undefined) return undefined
  let characters = 1
  for (const _ of sent.text.slice(0, sent.offset + at)) characters++
  return characters
}
