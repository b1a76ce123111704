/** Turns frames into members and messages into frames, for each sub-protocol. */
import { createRequire } from 'node:module'
import type { Encoder } from '@msgpack/msgpack'
import type { Message, SubProtocol, TransactionId } from '../protocol/envelope.ts'
import { unpackMessage } from './message-pack.ts'

export interface Codec {
  readonly subProtocol: SubProtocol
  /** Whether its frames are binary; the other kind of frame is refused. */
  readonly binary: boolean
  /** Undefined when the payload is not one object of this format. */
  decode(payload: Buffer): Decoded | undefined
  encode(message: Message): string | Buffer
}

export interface Decoded {
  readonly members: Readonly<Record<string, unknown>>
  /** An integer, undefined when absent, or whatever else the client put there. */
  readonly id: unknown
}

const json: Codec = {
  subProtocol: 'PlatformJson',
  binary: false,
  decode(payload) {
    const text = payload.toString()
    try {
      const value: unknown = JSON.parse(text)
      return isMembers(value) ? { members: value, id: readJsonId(text, value.TransactionID) } : undefined
    } catch {
      return undefined
    }
  },
  encode(message) {
    let text = '{'
    if (message.Controller !== undefined) text += `"Controller":${JSON.stringify(message.Controller)},`
    if (message.Topic !== undefined) text += `"Topic":${JSON.stringify(message.Topic)},`
    text += `"Action":"${message.Action}"`
    if (message.TransactionID !== undefined) text += `,"TransactionID":${digits(message.TransactionID)}`
    if (message.Confirm !== undefined) text += `,"Confirm":${message.Confirm}`
    // A function, say, has no JSON: it is left out as undefined is.
    const data: string | undefined = JSON.stringify(message.Data)
    if (data !== undefined) text += `,"Data":${data}`
    return `${text}}`
  },
}

const require = createRequire(import.meta.url)
let packer: Encoder | undefined

/** Loaded for the first client that speaks MessagePack. */
function packerInUse(): Encoder {
  if (packer === undefined) {
    const { Encoder }: typeof import('@msgpack/msgpack') = require('@msgpack/msgpack')
    packer = new Encoder({ useBigInt64: true, ignoreUndefined: true })
  }
  return packer
}

const messagePack: Codec = {
  subProtocol: 'PlatformMsgPack',
  binary: true,
  decode(payload) {
    const value = unpackMessage(payload)
    return isMembers(value) ? { members: value, id: value.TransactionID } : undefined
  },
  encode(message) {
    const { TransactionID: id } = message
    // As a number beyond 2^32 it would be packed as a float; typed clients expect the integer that they sent.
    const packed = typeof id === 'number' && !isShort(id) ? { ...message, TransactionID: BigInt(id) } : message
    return Buffer.from(packerInUse().encode(packed))
  },
}

export const CODECS: Readonly<Record<SubProtocol, Codec>> = { PlatformJson: json, PlatformMsgPack: messagePack }

const ID_KEY = '"TransactionID"'
const SHORT_INTEGER = /\s*:\s*(-?(?:0|[1-9]\d{0,14}))\s*[,}]/y
/** Longer ones would cost more to read than any client has use for. */
const INTEGER = /^-?(?:0|[1-9]\d{0,999})$/

/** JSON.parse has lost the digits beyond 2^53 and the difference between `1` and `1.0`; the text still has them. */
function readJsonId(text: string, value: unknown): unknown {
  if (typeof value !== 'number') return value
  const at = text.indexOf(ID_KEY)
  if (at >= 0 && text.indexOf(ID_KEY, at + 1) < 0) {
    SHORT_INTEGER.lastIndex = at + ID_KEY.length
    const short = SHORT_INTEGER.exec(text)?.[1]
    if (short !== undefined && Number(short) === value) return value
  }
  const source = sourceOfId(text)
  if (source === undefined || !INTEGER.test(source)) return Number.NaN
  return Number.isSafeInteger(value) ? value : BigInt(source)
}

/**
 * The id as it was written, when the key appears more than once or the number is long. The text is known to be an object
 * of JSON, so a walk over its quotes and brackets will do; a reviver would be called for every value in it.
 */
function sourceOfId(text: string): string | undefined {
  let source: string | undefined
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
      case '[':
        depth++
        break
      case '}':
      case ']':
        depth--
        break
      case '"': {
        const end = endOfText(text, at)
        if (depth === 1 && isIdKey(text, at, end)) {
          NUMBER_VALUE.lastIndex = end
          source = NUMBER_VALUE.exec(text)?.groups?.number ?? source
        }
        at = end - 1
      }
    }
  }
  return source
}

const NUMBER_VALUE = /\s*:\s*(?<number>[-+.\deE]+)/y
const LONGEST_ID_KEY = 2 + 6 * 'TransactionID'.length

/** A key may be written with escapes; a text in the place of a value has no number after it. */
function isIdKey(text: string, start: number, end: number): boolean {
  if (end - start > LONGEST_ID_KEY) return false
  const written = text.slice(start, end)
  return written === ID_KEY || (written.includes('\\') && JSON.parse(written) === 'TransactionID')
}

/** Just after the quote that ends the text: one with an even number of backslashes before it. */
function endOfText(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let before = quote
    while (text[before - 1] === '\\') before--
    if ((quote - before) % 2 === 0) return quote + 1
  }
}

function digits(id: TransactionId): string {
  return Object.is(id, -0) ? '-0' : String(id)
}

function isShort(id: number): boolean {
  return id >= -0x80000000 && id <= 0xffffffff
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
