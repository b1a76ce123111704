/** Reads one message of JSON-RPC 2.0, decides its era, and checks the headers of a modern one against its body. */
import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from 'gatehouse-protocol'
import { isRawNumber } from '../../lib/exact-json.ts'
import { readJson } from '../../query/index.ts'
import { ProtocolError } from './errors.ts'
import { isObject, type JsonObject } from './json.ts'

export const MODERN_VERSION = '2026-07-28'
/** Of servers with `initialize`; the first is the one that others get. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18']
export const VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

export type Era = 'modern' | 'legacy'
export type MessageId = string | number

export interface Message {
  /** Undefined for a notification. */
  readonly id: MessageId | undefined
  readonly method: string
  readonly params: JsonObject
  readonly meta: JsonObject
  readonly era: Era
}

/** The members of `_meta` that the protocol defines. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** `onId` is called as soon as the id is known, which error replies repeat. */
export function readMessage(body: Buffer, headers: IncomingHttpHeaders, onId: (id: MessageId) => void): Message {
  const value = parse(body)
  if (!isObject(value)) throw new ProtocolError('invalidRequest', 'A request is one object: batches are not accepted')
  const id = readId(value)
  if (id !== undefined) onId(id)
  const { jsonrpc, method, params = {} } = value
  if (jsonrpc !== '2.0') throw new ProtocolError('invalidRequest', 'jsonrpc is "2.0"')
  if (typeof method !== 'string') throw new ProtocolError('invalidRequest', 'A request or a notification has a method')
  if (!isObject(params)) throw new ProtocolError('invalidRequest', 'params is an object')
  const meta = isObject(params._meta) ? params._meta : {}
  const era = chooseEra(meta, headers)
  const message = { id, method, params, meta, era }
  // The standard defines no headers for notifications.
  if (era === 'modern' && id !== undefined) checkModern(message, headers)
  return message
}

function parse(body: Buffer): unknown {
  try {
    return plainNumbers(readJson(UTF8.decode(body)))
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'Request.BadJson')
      throw new ProtocolError('invalidRequest', error.message)
    throw new ProtocolError('parse', `The body is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

/** Numbers of the protocol are short; values in the arguments of a tool keep their digits. What has none stays as it is. */
function plainNumbers(value: unknown, name = ''): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRawNumber(value)) return Number(value.rawJSON)
  if (name === 'arguments') return value
  if (Array.isArray(value)) {
    const items = value.map((item) => plainNumbers(item))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  let isSame = true
  const members = Object.entries(value).map(([member, item]) => {
    const plain = plainNumbers(item, member)
    isSame &&= plain === item
    return [member, plain] as const
  })
  return isSame ? value : Object.fromEntries(members)
}

/** Ids and tokens of clients are repeated in each message of a stream. */
const MOST_REPEATED = 256

export function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MOST_REPEATED
}

function readId(value: JsonObject): MessageId | undefined {
  const { id } = value
  if (id === undefined && !Object.hasOwn(value, 'id')) return undefined
  if (isShortText(id) || (typeof id === 'number' && Number.isSafeInteger(id))) return id
  throw new ProtocolError('invalidRequest', `id is a text of at most ${MOST_REPEATED} characters or a whole number`)
}

/** Each request says by itself which it is: any node answers any of them. */
function chooseEra(meta: JsonObject, headers: IncomingHttpHeaders): Era {
  const header = headers['mcp-protocol-version']
  if (meta[META.version] !== undefined) return 'modern'
  return header === undefined || LEGACY_VERSIONS.includes(String(header)) ? 'legacy' : 'modern'
}

/** Of this very request, as its capabilities are. */
export function hasExtension({ era, meta }: Message, name: string): boolean {
  const declared = meta[META.capabilities]
  if (era !== 'modern' || !isObject(declared)) return false
  return isObject(declared.extensions) && Object.hasOwn(declared.extensions, name)
}

/** Methods that name something, and the member that does. */
const NAMED: ReadonlyMap<string, 'name' | 'uri'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

function checkModern({ method, params, meta }: Message, headers: IncomingHttpHeaders): void {
  const version = meta[META.version]
  if (typeof version !== 'string') throw new ProtocolError('badMeta', `params._meta has no "${META.version}"`)
  if (!isObject(meta[META.capabilities]))
    throw new ProtocolError('badMeta', `params._meta has no "${META.capabilities}", which is an object`)
  requireHeader('MCP-Protocol-Version', headers['mcp-protocol-version'], version)
  requireHeader('Mcp-Method', headers['mcp-method'], method)
  const named = NAMED.get(method)
  const name = named === undefined ? undefined : params[named]
  if (typeof name === 'string') requireHeader('Mcp-Name', decodeHeader(headers['mcp-name']), name)
  if (version !== MODERN_VERSION)
    throw new ProtocolError('badVersion', `The version ${JSON.stringify(version.slice(0, 40))} is not served`, {
      supported: VERSIONS,
      requested: version,
    })
}

function requireHeader(name: string, header: string | string[] | undefined, expected: string): void {
  if (header === expected) return
  const fault = header === undefined ? `The header ${name} is missing` : `The header ${name} differs from the body`
  throw new ProtocolError('headerMismatch', fault)
}

/** Values that a header cannot have are sent in Base64. Undefined for what is none. */
function decodeHeader(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(header)?.[1]
  if (encoded === undefined) return header
  const bytes = Buffer.from(encoded, 'base64')
  // Another spelling of the same bytes could pass a proxy that compares texts.
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined
}
