/** Writes the backend messages of PostgreSQL's protocol. Texts are UTF-8; what has no fields is a constant. */
import type { Format } from './messages.ts'

export interface ErrorFields {
  readonly severity: 'ERROR' | 'FATAL' | 'WARNING' | 'NOTICE'
  readonly sqlstate: string
  readonly message: string
  readonly detail?: string | undefined
  readonly hint?: string | undefined
  /** In characters of the text as sent, from 1. */
  readonly position?: number | undefined
}

export interface ColumnField {
  readonly name: string
  /** OID. */
  readonly type: number
  /** Bytes; -1: of variable length. */
  readonly size: number
  /** -1: none. */
  readonly modifier: number
  readonly format: Format
  /** OID of the table and number of its column; 0 if the column is an expression. */
  readonly table?: number
  readonly column?: number
}

/** Of ReadyForQuery: idle, in a block, in a failed block. */
export type TransactionStatus = 'I' | 'T' | 'E'

export const PARSE_COMPLETE = bare('1')
export const BIND_COMPLETE = bare('2')
export const CLOSE_COMPLETE = bare('3')
export const NO_DATA = bare('n')
export const PORTAL_SUSPENDED = bare('s')
export const EMPTY_QUERY_RESPONSE = bare('I')
export const COPY_DONE = bare('c')

const READY = {
  I: message('Z', Buffer.from('I')),
  T: message('Z', Buffer.from('T')),
  E: message('Z', Buffer.from('E')),
}

export function readyForQuery(status: TransactionStatus): Buffer {
  return READY[status]
}

export function commandComplete(tag: string): Buffer {
  const length = Buffer.byteLength(tag)
  const bytes = begin('C', length + 1)
  bytes.write(tag, 5)
  bytes[5 + length] = 0
  return bytes
}

export function parameterStatus(name: string, value: string): Buffer {
  return message('S', Buffer.from(`${name}\0${value}\0`))
}

export function parameterDescription(types: readonly number[]): Buffer {
  const bytes = begin('t', 2 + 4 * types.length)
  let at = bytes.writeUInt16BE(types.length, 5)
  for (const type of types) at = bytes.writeUInt32BE(type, at)
  return bytes
}

export function rowDescription(columns: readonly ColumnField[]): Buffer {
  let length = 2
  for (const { name } of columns) length += Buffer.byteLength(name) + 1 + 18
  const bytes = begin('T', length)
  let at = bytes.writeUInt16BE(columns.length, 5)
  for (const { name, type, size, modifier, format, table = 0, column = 0 } of columns) {
    at += bytes.write(name, at)
    at = bytes.writeUInt8(0, at)
    at = bytes.writeUInt32BE(table, at)
    at = bytes.writeInt16BE(column, at)
    at = bytes.writeUInt32BE(type, at)
    at = bytes.writeInt16BE(size, at)
    at = bytes.writeInt32BE(modifier, at)
    at = bytes.writeInt16BE(format, at)
  }
  return bytes
}

/** Values in the form of their formats; null is NULL. */
export function dataRow(values: readonly (Uint8Array | string | null)[]): Buffer {
  let length = 2
  for (const value of values) length += 4 + byteLength(value)
  const bytes = begin('D', length)
  let at = bytes.writeUInt16BE(values.length, 5)
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? -1 : byteLength(value), at)
    if (typeof value === 'string') at += bytes.write(value, at)
    else if (value !== null) {
      bytes.set(value, at)
      at += value.length
    }
  }
  return bytes
}

function byteLength(value: Uint8Array | string | null): number {
  if (value === null) return 0
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length
}

export function errorResponse(fields: ErrorFields): Buffer {
  return report('E', fields)
}

export function noticeResponse(fields: ErrorFields): Buffer {
  return report('N', fields)
}

function report(type: 'E' | 'N', { severity, sqlstate, message: text, detail, hint, position }: ErrorFields): Buffer {
  let body = `S${severity}\0V${severity}\0C${sqlstate}\0M${withoutZeros(text)}\0`
  if (detail !== undefined) body += `D${withoutZeros(detail)}\0`
  if (hint !== undefined) body += `H${withoutZeros(hint)}\0`
  if (position !== undefined) body += `P${position}\0`
  return message(type, Buffer.from(`${body}\0`))
}

/** A zero byte would end the field. */
function withoutZeros(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u{fffd}') : text
}

export function copyOutResponse(format: Format, columns: number): Buffer {
  return copyResponse('H', format, columns)
}

export function copyInResponse(format: Format, columns: number): Buffer {
  return copyResponse('G', format, columns)
}

function copyResponse(type: 'H' | 'G', format: Format, columns: number): Buffer {
  const bytes = begin(type, 3 + 2 * columns)
  let at = bytes.writeUInt16BE(columns, bytes.writeUInt8(format, 5))
  for (let column = 0; column < columns; column += 1) at = bytes.writeUInt16BE(format, at)
  return bytes
}

export function copyData(bytes: Uint8Array): Buffer {
  return message('d', bytes)
}

/** `key` has 4 bytes in protocol 3.0, 32 in 3.2. */
export function backendKeyData(id: number, key: Uint8Array): Buffer {
  const bytes = begin('K', 4 + key.length)
  bytes.writeInt32BE(id, 5)
  bytes.set(key, 9)
  return bytes
}

export function negotiateProtocolVersion(newest: number, unknownOptions: readonly string[]): Buffer {
  const names = Buffer.from(unknownOptions.map((name) => `${name}\0`).join(''))
  const bytes = begin('v', 8 + names.length)
  bytes.writeInt32BE(newest, 5)
  bytes.writeInt32BE(unknownOptions.length, 9)
  bytes.set(names, 13)
  return bytes
}

export const AUTHENTICATION_OK = authentication(0)
export const AUTHENTICATION_CLEARTEXT_PASSWORD = authentication(3)

export function authenticationSasl(mechanisms: readonly string[]): Buffer {
  return authentication(10, Buffer.from(`${mechanisms.join('\0')}\0\0`))
}

export function authenticationSaslContinue(data: string): Buffer {
  return authentication(11, Buffer.from(data))
}

function authentication(kind: number, data: Uint8Array = new Uint8Array(0)): Buffer {
  const bytes = begin('R', 4 + data.length)
  bytes.writeInt32BE(kind, 5)
  bytes.set(data, 9)
  return bytes
}

/** A message whose body is already encoded. */
export function message(type: string, body: Uint8Array): Buffer {
  const bytes = begin(type, body.length)
  bytes.set(body, 5)
  return bytes
}

function bare(type: string): Buffer {
  return message(type, new Uint8Array(0))
}

/** Type and length, with room for the body. */
function begin(type: string, bodyLength: number): Buffer {
  const bytes = Buffer.allocUnsafe(5 + bodyLength)
  bytes[0] = type.charCodeAt(0)
  bytes.writeUInt32BE(bodyLength + 4, 1)
  return bytes
}
