/** The frontend messages of PostgreSQL's protocol after sign-in, and how their bodies are parsed. */
import { isUtf8 } from 'node:buffer'

/** A client broke the protocol: FATAL 08P01, and the connection ends. */
export class ProtocolViolation extends Error {}

export type FrontendMessage =
  | { readonly kind: 'query'; readonly text: string }
  | ParseMessage
  | BindMessage
  | { readonly kind: 'describe'; readonly of: StatementOrPortal; readonly name: string }
  /** `maxRows` 0: all rows. */
  | { readonly kind: 'execute'; readonly portal: string; readonly maxRows: number }
  | { readonly kind: 'close'; readonly of: StatementOrPortal; readonly name: string }
  | { readonly kind: 'sync' }
  | { readonly kind: 'flush' }
  /** The bytes are valid until the handler of the message settles. */
  | { readonly kind: 'copyData'; readonly bytes: Uint8Array }
  | { readonly kind: 'copyDone' }
  | { readonly kind: 'copyFail'; readonly reason: string }
  | { readonly kind: 'terminate' }
  | RefusedMessage

export type StatementOrPortal = 'statement' | 'portal'

export interface ParseMessage {
  readonly kind: 'parse'
  readonly name: string
  readonly text: string
  /** OIDs; 0 leaves the type to the server. */
  readonly parameterTypes: readonly number[]
}

export interface BindMessage {
  readonly kind: 'bind'
  readonly portal: string
  readonly statement: string
  /** None: all are text; one: for all; else one for each. */
  readonly parameterFormats: readonly Format[]
  /** Views of the message; copy what is kept. */
  readonly values: readonly (Buffer | null)[]
  readonly resultFormats: readonly Format[]
}

/** 0 is text, 1 is binary. */
export type Format = 0 | 1

/** A whole message that cannot be served: answered with an error, and the connection goes on. */
export interface RefusedMessage {
  readonly kind: 'refused'
  readonly sqlstate: string
  readonly reason: string
  readonly hint?: string
  /** ReadyForQuery follows the error at once; otherwise messages are skipped up to the next Sync. */
  readonly endsWithReady: boolean
}

/** The first byte of each message, as the number that the reader finds. */
export const MESSAGE_TYPES = {
  query: code('Q'),
  parse: code('P'),
  bind: code('B'),
  describe: code('D'),
  execute: code('E'),
  close: code('C'),
  sync: code('S'),
  flush: code('H'),
  copyData: code('d'),
  copyDone: code('c'),
  copyFail: code('f'),
  terminate: code('X'),
  functionCall: code('F'),
  /** PasswordMessage, SASLInitialResponse and SASLResponse. */
  password: code('p'),
} as const

const SYNC = { kind: 'sync' } as const
const FLUSH = { kind: 'flush' } as const
const COPY_DONE = { kind: 'copyDone' } as const
const TERMINATE = { kind: 'terminate' } as const

/** Parses the body of a message whose type and length have been checked. */
export function parseMessage(type: number, body: Buffer): FrontendMessage {
  const fields = new Fields(body)
  switch (type) {
    case MESSAGE_TYPES.query:
      return parseQuery(fields)
    case MESSAGE_TYPES.parse:
      return parseParse(fields)
    case MESSAGE_TYPES.bind:
      return parseBind(fields)
    case MESSAGE_TYPES.describe:
      return parseNamed('describe', fields)
    case MESSAGE_TYPES.execute:
      return parseExecute(fields)
    case MESSAGE_TYPES.close:
      return parseNamed('close', fields)
    case MESSAGE_TYPES.sync:
      return only(SYNC, fields)
    case MESSAGE_TYPES.flush:
      return only(FLUSH, fields)
    case MESSAGE_TYPES.copyData:
      return { kind: 'copyData', bytes: body }
    case MESSAGE_TYPES.copyDone:
      return only(COPY_DONE, fields)
    case MESSAGE_TYPES.copyFail:
      return { kind: 'copyFail', reason: fields.text() ?? '' }
    case MESSAGE_TYPES.terminate:
      return only(TERMINATE, fields)
    case MESSAGE_TYPES.functionCall:
      return refused('0A000', 'The function call protocol is not supported; call the function in a SELECT', true)
    default:
      throw new ProtocolViolation(`A message of type ${type} is not part of the protocol`)
  }
}

/** Query: String. */
function parseQuery(fields: Fields): FrontendMessage {
  const text = fields.text()
  fields.end()
  return text === undefined ? notUtf8(true) : { kind: 'query', text }
}

/** Parse: String name, String statement, Int16 n, Int32[n] types. */
function parseParse(fields: Fields): FrontendMessage {
  const name = fields.text()
  const text = fields.text()
  const parameterTypes: number[] = []
  for (let left = fields.int16(); left > 0; left -= 1) parameterTypes.push(fields.uint32())
  fields.end()
  return name === undefined || text === undefined ? notUtf8(false) : { kind: 'parse', name, text, parameterTypes }
}

/** Bind: String portal, String statement, formats, values, formats of the result. */
function parseBind(fields: Fields): FrontendMessage {
  const portal = fields.text()
  const statement = fields.text()
  const parameterFormats = readFormats(fields)
  const values: (Buffer | null)[] = []
  for (let left = fields.int16(); left > 0; left -= 1) values.push(fields.value())
  const resultFormats = readFormats(fields)
  fields.end()
  if (portal === undefined || statement === undefined) return notUtf8(false)
  if (parameterFormats.length > 1 && parameterFormats.length !== values.length)
    throw new ProtocolViolation(`Bind has ${parameterFormats.length} formats for ${values.length} parameters`)
  return { kind: 'bind', portal, statement, parameterFormats, values, resultFormats }
}

const NO_FORMATS: readonly Format[] = []

function readFormats(fields: Fields): readonly Format[] {
  const count = fields.int16()
  if (count === 0) return NO_FORMATS
  const formats: Format[] = []
  for (let left = count; left > 0; left -= 1) {
    const format = fields.int16()
    if (format !== 0 && format !== 1) throw new ProtocolViolation(`A format is 0 or 1, not ${format}`)
    formats.push(format)
  }
  return formats
}

/** Describe and Close: Byte1 S or P, String. */
function parseNamed(kind: 'describe' | 'close', fields: Fields): FrontendMessage {
  const letter = fields.byte()
  const name = fields.text()
  fields.end()
  if (letter !== code('S') && letter !== code('P'))
    throw new ProtocolViolation(`${kind} is for S, a statement, or P, a portal`)
  return name === undefined ? notUtf8(false) : { kind, of: letter === code('S') ? 'statement' : 'portal', name }
}

/** Execute: String portal, Int32 rows. */
function parseExecute(fields: Fields): FrontendMessage {
  const portal = fields.text()
  const maxRows = fields.int32()
  fields.end()
  // PostgreSQL takes a negative number for all rows too.
  return portal === undefined ? notUtf8(false) : { kind: 'execute', portal, maxRows: Math.max(0, maxRows) }
}

function only<M extends FrontendMessage>(message: M, fields: Fields): M {
  fields.end()
  return message
}

function notUtf8(endsWithReady: boolean): RefusedMessage {
  return refused('22021', 'The text is not valid UTF-8', endsWithReady)
}

function refused(sqlstate: string, reason: string, endsWithReady: boolean): RefusedMessage {
  return { kind: 'refused', sqlstate, reason, endsWithReady }
}

/** Reads the fields of a body in order; a field that is not wholly there is a protocol violation. */
export class Fields {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  byte(): number {
    return this.#body.readUInt8(this.#take(1))
  }

  int16(): number {
    // PostgreSQL reads the counts as unsigned: up to 65,535 parameters.
    return this.#body.readUInt16BE(this.#take(2))
  }

  int32(): number {
    return this.#body.readInt32BE(this.#take(4))
  }

  uint32(): number {
    return this.#body.readUInt32BE(this.#take(4))
  }

  /** A length and as many bytes; the length -1 is NULL. */
  value(): Buffer | null {
    const length = this.int32()
    if (length === -1) return null
    if (length < 0) throw new ProtocolViolation(`A value cannot have ${length} bytes`)
    const start = this.#take(length)
    return this.#body.subarray(start, start + length)
  }

  /** Text up to a zero byte; undefined if it is not UTF-8. */
  text(): string | undefined {
    const start = this.#at
    const end = this.#body.indexOf(0, start)
    if (end === -1) throw new ProtocolViolation('A text does not end within its message')
    this.#at = end + 1
    if (end === start) return ''
    const bytes = this.#body.subarray(start, end)
    return isUtf8(bytes) ? bytes.toString('utf8') : undefined
  }

  /** Everything that is left. */
  rest(): Buffer {
    return this.#body.subarray(this.#take(this.#body.length - this.#at))
  }

  get isAtEnd(): boolean {
    return this.#at === this.#body.length
  }

  end(): void {
    if (!this.isAtEnd) throw new ProtocolViolation('A message is longer than its fields')
  }

  #take(bytes: number): number {
    const start = this.#at
    if (this.#body.length - start < bytes) throw new ProtocolViolation('A message is shorter than its fields')
    this.#at = start + bytes
    return start
  }
}

function code(letter: string): number {
  return letter.charCodeAt(0)
}
