/** Reads a request to the query service: its statement, its parameters, its body. */

import type { ParameterInput } from 'gatehouse-iql'
import type { Context } from '../../http/context.ts'
import type { Steps } from '../../lib/turns.ts'
import { refuse } from '../errors.ts'
import { isList, isObject, type Json, membersOf, readJson, readJsonInSteps } from '../json.ts'
import { parameterInput } from './call-parameters.ts'

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
  for (const [name, value] of membersOf(envelope)) {
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

/** An empty body is undefined. */
export function* readJsonBody(context: Context): Steps<Json | undefined> {
  const text = bodyText(context)
  yield
  return text.trim() === '' ? undefined : yield* readJsonInSteps(text)
}

/** The body of a short request; an empty one is refused as JSON. */
export function readWholeJson(context: Context): Json {
  return readJson(bodyText(context))
}

function isJson(contentType = ''): boolean {
  if (contentType === 'text/plain; charset=utf-8') return false
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** The bytes must be UTF-8. */
function bodyText({ body }: Context): string {
  try {
    return UTF8.decode(body)
  } catch {
    throw refuse('Request.Unsupported', 'The body is not text in UTF-8')
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** text/plain and application/json in UTF-8; anything else is 415. */
export function checkContentType(contentType: string | undefined): void {
  if (contentType === 'application/json' || contentType === 'text/plain; charset=utf-8') return
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  if (type !== 'text/plain' && type !== 'application/json') {
    throw refuse('Request.Unsupported', `The content type ${JSON.stringify(type)} is not supported`, {
      members: { Expected: ['text/plain; charset=utf-8', 'application/json'] },
    })
  }
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    throw refuse('Request.Unsupported', `The charset ${JSON.stringify(charset)} is not supported`, {
      members: { Expected: ['utf-8'] },
    })
  }
}
