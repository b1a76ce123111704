/** What a request to the query service says: its token, its statement, its parameters, its body. */
import type { Socket } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { refuse } from './errors.ts'
import { givenValue } from './given.ts'
import type { GivenValue } from './iql/parameters.ts'
import { isList, isObject, type Json, membersOf, readJson } from './json.ts'
import { checkDoor } from './rights.ts'

/** RFC 6750 §2.1; the two other ways of sending a token are not taken, since they end in logs. */
export function callerOf({ headers, request }: Exchange, authenticate: Authenticate): Principal | Promise<Principal> {
  const header = headers.authorization
  if (header === undefined || header === '') {
    throw refuse('Auth.Required', 'The request has no access token', { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
  const token = tokenOf(header, request.socket)
  const found = token === undefined ? undefined : authenticate(token)
  return found instanceof Promise ? found.then(admitted) : admitted(found)
}

function admitted(principal: Principal | undefined): Principal {
  if (principal === undefined) {
    throw refuse('Auth.InvalidToken', 'The access token is not valid', {
      headers: {
        'WWW-Authenticate': 'Bearer error="invalid_token", error_description="The access token is not valid"',
      },
    })
  }
  checkDoor(principal)
  return principal
}

/** A connection mostly sends one token over and over: as the same string it is read once, and quick to look up. */
const SENT = new WeakMap<Socket, { readonly header: string; readonly token: string | undefined }>()

function tokenOf(header: string, socket: Socket): string | undefined {
  const known = SENT.get(socket)
  if (known?.header === header) return known.token
  const token = /^Bearer +([\w\-.~+/]+=*) *$/i.exec(header)?.[1]
  SENT.set(socket, { header, token })
  return token
}

export interface GivenStatement {
  readonly text: string
  readonly values: ReadonlyMap<string, GivenValue>
}

/** One statement as text, or an envelope `{"Statement": "…", "Parameters": {…}}`; parameters may stand in the address as well. */
export function readStatement(exchange: Exchange): GivenStatement {
  const values = new Map<string, GivenValue>()
  for (const [name, value] of exchange.query) {
    if (!name.toLowerCase().startsWith('p.')) continue
    if (typeof value !== 'string') throw refuse('Request.BadParameter', `The parameter ${name} stands twice`)
    values.set(name.slice(2), { text: value })
  }
  if (!isJson(exchange.headers['content-type'])) return { text: bodyText(exchange), values }
  const envelope = readJson(bodyText(exchange))
  if (!isObject(envelope)) throw refuse('Request.BadBody', ENVELOPE)
  let text: Json | undefined
  for (const [name, value] of membersOf(envelope)) {
    if (name === 'statement') text = value
    else if (name === 'parameters') readValues(value, values)
    else throw refuse('Request.BadBody', `${ENVELOPE}; it has no member ${JSON.stringify(name)}`)
  }
  if (typeof text !== 'string') throw refuse('Request.BadBody', ENVELOPE)
  return { text, values }
}

const ENVELOPE = 'The body is {"Statement": "…", "Parameters": {…}}'

function readValues(parameters: Json, values: Map<string, GivenValue>): void {
  if (parameters === null) return
  if (isList(parameters)) {
    for (const [index, value] of parameters.entries()) values.set(String(index + 1), givenValue(value))
    return
  }
  if (!isObject(parameters)) throw refuse('Request.BadBody', 'Parameters is an object, or an array for $1, $2, …')
  for (const [name, value] of Object.entries(parameters)) values.set(name, givenValue(value))
}

/** An empty body is undefined. */
export function readJsonBody(exchange: Exchange): Json | undefined {
  const text = bodyText(exchange)
  return text.trim() === '' ? undefined : readJson(text)
}

function isJson(contentType = ''): boolean {
  if (contentType === 'text/plain; charset=utf-8') return false
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** The bytes must be UTF-8. */
function bodyText({ body }: Exchange): string {
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
    throw refuse('Request.Unsupported', `The content type ${JSON.stringify(type)} is not taken here`, {
      members: { Expected: ['text/plain; charset=utf-8', 'application/json'] },
    })
  }
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    throw refuse('Request.Unsupported', `The charset ${JSON.stringify(charset)} is not taken here`, {
      members: { Expected: ['utf-8'] },
    })
  }
}
