/**
 * Decodes the values of Bind. A declared type is an encoding: the value is fitted exactly to the type that the statement wants, or
 * refused. A float is taken by its shortest decimal.
 */
import { isUtf8 } from 'node:buffer'
import { FORMS, type IqlType, type IqlValue, readDigits, writeValue } from 'gatehouse-iql'
import { booleanWord, POSTGRES_TYPES, type PostgresTypeName, readNumeric, representation } from '../../query/codecs.ts'
import { postgresType } from './oids.ts'

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
  const sent = declared ?? postgresType(wanted)
  // The usual encodings of keys, without a text in between.
  if (!isBinary && wanted.kind === 'Integer') {
    const whole = shortWhole(bytes)
    if (whole !== undefined) return BigInt(whole)
  }
  if (isBinary && wanted.kind === 'Integer') {
    if (sent === 'int8' && bytes.length === 8) return bytes.readBigInt64BE()
    if (sent === 'int4' && bytes.length === 4) return BigInt(bytes.readInt32BE())
  }
  if (wanted.kind === 'Binary') return isBinary ? readBytes(bytes, sent) : fit(decodeText(bytes), wanted)
  return fit(isBinary ? binaryText(bytes, sent) : declaredText(decodeText(bytes), sent), wanted)
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

function fit(text: string, wanted: IqlType): IqlValue {
  const read = representation(wanted).wire.readText(wanted.kind === 'Integer' ? wholeText(text.trim()) : text)
  if ('value' in read) return read.value
  throw new BadParameter(read.problem, wanted.kind === 'Text' ? '22021' : '22P02')
}

/** 5.00 and 5e0 are whole. */
function wholeText(text: string): string {
  if (!/[.eE]/.test(text)) return text
  const { unscaled, scale } = readDigits(text) ?? { unscaled: 0n, scale: -1 }
  if (readDigits(text) === undefined || scale < -40 || scale > 400) return text
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale))
  const unit = 10n ** BigInt(scale)
  return unscaled % unit === 0n ? String(unscaled / unit) : text
}

function declaredText(text: string, sent: PostgresTypeName): string {
  return sent === 'bool' ? String(booleanWord(text) ?? text) : text
}

export function decodeText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new BadParameter('is not valid UTF-8', '22021')
  return bytes.toString()
}

/** The text of IQL. */
export function binaryText(bytes: Buffer, sent: PostgresTypeName): string {
  const { size, iql } = POSTGRES_TYPES[sent]
  switch (sent) {
    case 'oid':
      return String(exactly(bytes, size).readUInt32BE())
    case 'float4':
      return singleText(exactly(bytes, size).readFloatBE())
    case 'numeric':
      return readNumeric(bytes) ?? malformed(sent)
    case 'jsonb':
      if (bytes[0] !== 1) return malformed(sent)
      return decodeText(bytes.subarray(1))
    case 'bytea':
      throw new BadParameter('is of type bytea, which only a Binary can be')
    case 'char':
    case 'name':
    case 'text':
    case 'varchar':
    case 'bpchar':
    case 'unknown':
    case 'json':
      return decodeText(bytes)
    default: {
      const read = representation(iql).wire.readBinary(exactly(bytes, size))
      if ('value' in read) return writeValue(iql, read.value)
      if (sent === 'time') throw new BadParameter(`is not ${FORMS.Time}`)
      // Infinity has no place in IQL, and neither have years beyond those of a Timestamp.
      throw new BadParameter('is not within the years 0001 to 9999', '22008')
    }
  }
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
