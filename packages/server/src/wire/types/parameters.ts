/**
 * Decodes the values of Bind. A declared type is an encoding: the value is fitted exactly to the type that the statement wants, or
 * refused. A float is taken by its shortest decimal.
 */
import { isUtf8 } from 'node:buffer'
import {
  type IqlType,
  type IqlValue,
  MAX_DATE,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_DATE,
  MIN_TIMESTAMP,
  readDigits,
  readRoundedValue,
  withHyphens,
  writeDate,
  writeInterval,
  writeLocalTimestamp,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { DAYS_TO_2000, MICROS_TO_2000, readNumeric } from '../../query/codecs.ts'
import { type PostgresTypeName, postgresTypeOf } from './oids.ts'

/** A value that cannot be decoded, or does not fit. */
export class BadParameter extends Error {
  readonly sqlstate: string

  constructor(message: string, sqlstate = '22P02') {
    super(message)
    this.sqlstate = sqlstate
  }
}

/** `declared` is undefined if the client leaves the type to the server: then it encodes the type that Describe tells. */
export function readParameter(
  bytes: Buffer,
  isBinary: boolean,
  declared: PostgresTypeName | undefined,
  wanted: IqlType,
): IqlValue {
  const sent = declared ?? postgresTypeOf(wanted)
  // The usual encodings of keys, without a text in between.
  if (!isBinary && wanted.kind === 'Integer') {
    const whole = shortWhole(bytes)
    if (whole !== undefined) return BigInt(whole)
  }
  if (isBinary && wanted.kind === 'Integer') {
    if (sent === 'int8' && bytes.length === 8) return bytes.readBigInt64BE()
    if (sent === 'int4' && bytes.length === 4) return BigInt(bytes.readInt32BE())
  }
  if (wanted.kind === 'Binary') return isBinary ? readBytes(bytes, sent) : readBytesText(textOf(bytes))
  return fit(isBinary ? binaryText(bytes, sent) : declaredText(textOf(bytes), sent), sent, wanted)
}

const [ZERO, NINE] = [0x30, 0x39]
/** Digits that a number always holds. */
const SHORT_DIGITS = 15

/** A positive number of few digits; undefined for every other text. */
function shortWhole(bytes: Buffer): number | undefined {
  const { length } = bytes
  if (length === 0 || length > SHORT_DIGITS) return undefined
  let value = 0
  for (let at = 0; at < length; at++) {
    const code = bytes[at] ?? 0
    if (code < ZERO || code > NINE) return undefined
    value = value * 10 + code - ZERO
  }
  return value
}

/** The text form that IQL reads. */
function fit(text: string, sent: PostgresTypeName, wanted: IqlType): IqlValue {
  const read = readRoundedValue(wanted, formFor(text, sent, wanted))
  if ('value' in read) return read.value
  throw new BadParameter(`${read.problem}`, wanted.kind === 'Text' ? '22021' : '22P02')
}

function formFor(text: string, sent: PostgresTypeName, wanted: IqlType): string {
  switch (wanted.kind) {
    case 'Boolean':
      return BOOLEANS.get(text.trim().toLowerCase()) ?? text
    case 'Integer':
      return wholeText(text.trim())
    case 'Decimal':
      return text.trim()
    case 'Double':
      return doubleForm(text.trim())
    case 'Timestamp':
      return momentForm(text)
    case 'LocalTimestamp':
      return sent === 'timestamptz' ? text : momentForm(text)
    case 'Date':
      return text.trim().replace(MIDNIGHT, '')
    case 'Uuid':
      return withHyphens(text.trim())
    default:
      return text
  }
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ...['t', 'true', 'y', 'yes', 'on', '1'].map((word) => [word, 'true'] as const),
  ...['f', 'false', 'n', 'no', 'off', '0'].map((word) => [word, 'false'] as const),
])
const MIDNIGHT = /[ T]00:00(?::00(?:\.0+)?)?(?:Z|\+00(?::?00)?)?$/

/** 5.00 and 5e0 are whole. */
function wholeText(text: string): string {
  if (!/[.eE]/.test(text)) return text
  const { unscaled, scale } = readDigits(text) ?? { unscaled: 0n, scale: -1 }
  if (readDigits(text) === undefined || scale < -40 || scale > 400) return text
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale))
  const unit = 10n ** BigInt(scale)
  return unscaled % unit === 0n ? String(unscaled / unit) : text
}

function doubleForm(text: string): string {
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(text)
  if (word === null) return text
  return word[2]?.toLowerCase() === 'nan' ? 'NaN' : `${word[1]}Infinity`
}

/** An offset may be without minutes. */
function momentForm(text: string): string {
  return text.trim().replace(/([+-]\d{2})$/, (offset, _hours, at: number) => (at > 10 ? `${offset}:00` : offset))
}

function declaredText(text: string, sent: PostgresTypeName): string {
  return sent === 'bool' ? (BOOLEANS.get(text.trim().toLowerCase()) ?? text) : text
}

export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new BadParameter('is not valid UTF-8', '22021')
  return bytes.toString()
}

export function binaryText(bytes: Buffer, sent: PostgresTypeName): string {
  switch (sent) {
    case 'bool':
      return exactly(bytes, 1).readUInt8() === 0 ? 'false' : 'true'
    case 'int2':
      return String(exactly(bytes, 2).readInt16BE())
    case 'int4':
      return String(exactly(bytes, 4).readInt32BE())
    case 'int8':
      return String(exactly(bytes, 8).readBigInt64BE())
    case 'oid':
      return String(exactly(bytes, 4).readUInt32BE())
    case 'float4':
      return singleText(exactly(bytes, 4).readFloatBE())
    case 'float8':
      return numberText(exactly(bytes, 8).readDoubleBE())
    case 'numeric':
      return readNumeric(bytes) ?? malformed(sent)
    case 'date':
      return writeDate(dayOf(bytes))
    case 'time':
      return writeTime(exactly(bytes, 8).readBigInt64BE())
    case 'timestamp':
      return writeLocalTimestamp(momentOf(bytes))
    case 'timestamptz':
      return writeTimestamp(momentOf(bytes))
    case 'interval': {
      const micros = exactly(bytes, 16).readBigInt64BE() + BigInt(bytes.readInt32BE(8)) * MICROS_PER_DAY
      return writeInterval({ months: BigInt(bytes.readInt32BE(12)), micros })
    }
    case 'uuid':
      return exactly(bytes, 16)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    case 'jsonb':
      if (bytes[0] !== 1) return malformed(sent)
      return textOf(bytes.subarray(1))
    case 'bytea':
      throw new BadParameter('is of type bytea, which only a Binary can be')
    default:
      return textOf(bytes)
  }
}

/** Infinity has no place in IQL, and neither have years beyond those of a Timestamp. */
function momentOf(bytes: Buffer): bigint {
  const micros = exactly(bytes, 8).readBigInt64BE() + MICROS_TO_2000
  if (micros < MIN_TIMESTAMP || micros > MAX_TIMESTAMP) throw beyondYears()
  return micros
}

function dayOf(bytes: Buffer): bigint {
  const day = BigInt(exactly(bytes, 4).readInt32BE() + DAYS_TO_2000)
  if (day < MIN_DATE || day > MAX_DATE) throw beyondYears()
  return day
}

function beyondYears(): BadParameter {
  return new BadParameter('is not within the years 0001 to 9999', '22008')
}

function exactly(bytes: Buffer, length: number): Buffer {
  if (bytes.length !== length) throw new BadParameter(`has ${bytes.length} bytes in binary, not ${length}`, '22P03')
  return bytes
}

function malformed(sent: string): never {
  throw new BadParameter(`is not a ${sent} in binary`, '22P03')
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}

/** The shortest decimal that rounds to the float. */
function singleText(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits)
    if (Math.fround(Number(text)) === value) return numberText(Number(text))
  }
  return numberText(value)
}

function readBytes(bytes: Buffer, sent: PostgresTypeName): Uint8Array {
  if (sent !== 'bytea') throw new BadParameter(`is a ${sent}; a Binary takes a bytea`)
  return new Uint8Array(bytes)
}

/** Hexadecimal digits after \x, or bytes as characters and octal escapes. */
export function readBytesText(text: string): Uint8Array {
  if (text.startsWith('\\x')) {
    const hex = /\s/.test(text) ? text.slice(2).replace(/\s+/g, '') : text.slice(2)
    if (hex.length % 2 !== 0 || /[^0-9a-f]/i.test(hex)) throw new BadParameter('is not hexadecimal after \\x')
    return new Uint8Array(Buffer.from(hex, 'hex'))
  }
  const source = Buffer.from(text)
  const bytes = Buffer.alloc(source.length)
  let length = 0
  for (let at = 0; at < source.length; at++) {
    const byte = source[at] ?? 0
    if (byte !== BACKSLASH) bytes[length++] = byte
    else if (source[at + 1] === BACKSLASH) bytes[length++] = source[++at] ?? 0
    else {
      bytes[length++] = octal(source, at + 1)
      at += 3
    }
  }
  return new Uint8Array(bytes.subarray(0, length))
}

/** Three digits, of which the first is at most 3. */
function octal(source: Buffer, at: number): number {
  const [first, second, third] = [0, 1, 2].map((index) => (source[at + index] ?? 0) - ZERO)
  if (!isDigit(first, 3) || !isDigit(second, 7) || !isDigit(third, 7))
    throw new BadParameter('has a backslash before something else than octal digits')
  return first * 64 + second * 8 + third
}

function isDigit(value: number | undefined, most: number): value is number {
  return value !== undefined && value >= 0 && value <= most
}

const BACKSLASH = 0x5c
