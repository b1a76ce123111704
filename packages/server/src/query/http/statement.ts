/** Statements: the body of POST /query as text or JSON, their parameters, and the plan of one. */

import { type ParameterInput, readParameters, reads } from 'gatehouse-iql'
import type { Context } from '../../http/context.ts'
import type { Json } from '../../lib/exact-json.ts'
import { refuse } from '../errors.ts'
import { inputText, isList, isObject, membersByName, readJson, writeJson } from '../json.ts'
import type { Encoding } from '../model/result.ts'
import type { Planning } from '../run/run.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { bodyText, checkContentType, negotiateEncoding, readIdempotencyKey, readLimits, readWord } from './request.ts'
import type { PlannedRequest, RequestKind, ServeEnv } from './serve.ts'

interface ParsedStatement extends StatementRequest {
  readonly encoding: Encoding
  readonly shown: string
  readonly isReadOnly: boolean
}

export const STATEMENT: RequestKind<ParsedStatement> = {
  parse,
  plan,
}

function parse(context: Context): ParsedStatement {
  checkContentType(context.headers['content-type'])
  const encoding = negotiateEncoding(context)
  // A caller that runs what others wrote, such as a shared board, refuses writes.
  const isReadOnly = readWord(context.query, 'writes', ['allowed', 'refused']) === 'refused'
  const statement = readStatement(context)
  return { ...statement, encoding, shown: statement.text, isReadOnly }
}

function plan(request: ParsedStatement, planning: Planning, context: Context, env: ServeEnv): PlannedRequest {
  const { text, values, encoding, isReadOnly } = request
  const planned = planning.plan(text)
  const writes = !reads(planned.bound.statement)
  if (isReadOnly && writes) throw refuse('Request.WritesRefused', 'The statement writes; this request only reads')
  const valueSets = [readParameters(text, planned.bound, values)]
  const identity = (): string => `${text}\n${JSON.stringify([...values])}`
  const skip = readSkip(context, identity)
  return {
    planned,
    valueSets,
    limits: readLimits(env.limits, encoding, { skip }),
    idempotencyKey: writes ? readIdempotencyKey(context, env.clock, () => [identity()]) : undefined,
    cursor: ({ rowCount }) => writeCursor({ kind: 'rows', rows: skip + rowCount }, identity()),
  }
}

/** The rows of the pages before. `identity` is everything that determines the rows and their order. */
function readSkip(context: Context, identity: () => string): number {
  const after = context.query.get('after')
  if (after === undefined) return 0
  const cursor = typeof after === 'string' ? readCursor(after, identity()) : undefined
  if (cursor?.kind !== 'rows') throw refuse('Request.BadCursor', 'The cursor belongs to another request')
  return cursor.rows
}

export interface StatementRequest {
  readonly text: string
  readonly values: ReadonlyMap<string, ParameterInput>
  /** The member MaxRate of a live statement. */
  readonly maxRate?: Json | undefined
}

/**
 * One statement as text, or an envelope `{"Statement": "…", "Parameters": {…}}`; the query string may hold parameters too.
 * The envelope of a live statement may also have a MaxRate.
 */
export function readStatement(context: Context, kind: 'query' | 'live' = 'query'): StatementRequest {
  const values = queryParameters(context)
  if (!isJson(context.headers['content-type'])) return { text: bodyText(context), values }
  const envelope = readJson(bodyText(context))
  if (!isObject(envelope)) throw refuse('Request.BadBody', ENVELOPE)
  let text: Json | undefined
  let maxRate: Json | undefined
  for (const [name, value] of membersByName(envelope)) {
    if (name === 'statement') text = value
    else if (name === 'parameters') readValues(value, values)
    else if (name === 'maxrate' && kind === 'live') maxRate = value
    else throw refuse('Request.BadBody', `${ENVELOPE}; it has no member ${JSON.stringify(name)}`)
  }
  if (typeof text !== 'string') throw refuse('Request.BadBody', ENVELOPE)
  return { text, values, maxRate }
}

/** The parameters `p.name` of the query string. */
export function queryParameters({ query }: Context): Map<string, ParameterInput> {
  const values = new Map<string, ParameterInput>()
  for (const [name, value] of query) {
    if (!name.toLowerCase().startsWith('p.')) continue
    if (typeof value !== 'string') throw refuse('Request.BadParameter', `The parameter ${name} occurs twice`)
    values.set(name.slice(2), { text: value })
  }
  return values
}

const ENVELOPE = 'The body is {"Statement": "…", "Parameters": {…}}'

export function readValues(parameters: Json, values: Map<string, ParameterInput>): void {
  if (parameters === null) return
  if (isList(parameters)) {
    for (const [index, value] of parameters.entries()) values.set(String(index + 1), parameterInput(value))
    return
  }
  if (!isObject(parameters)) throw refuse('Request.BadBody', 'Parameters is an object, or an array for $1, $2, …')
  for (const [name, value] of Object.entries(parameters)) values.set(name, parameterInput(value))
}

export function parameterInput(value: Json): ParameterInput {
  return value === null ? null : { text: inputText(value), json: writeJson(value) }
}

function isJson(contentType = ''): boolean {
  if (contentType === 'text/plain; charset=utf-8') return false
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
