/** Values of catalogue statements, which are texts: as parameters, and in the formats that a client asks for. */
import { DEFAULT_LIMITS } from 'gatehouse-iql'
import { POSTGRES_TYPES, type PostgresTypeName, representation, TextBytes } from '../../query/codecs.ts'
import { readArray } from './arrays.ts'
import { elementType, typeNamed } from './oids.ts'
import { BadParameter, binaryText, decodeText } from './parameters.ts'

/** PostgreSQL's text form of a parameter. */
export function parameterText(bytes: Buffer, isBinary: boolean, oid: number): string {
  if (!isBinary) return decodeText(bytes)
  const element = elementType(oid)
  return element === undefined ? binaryText(bytes, typeNamed(oid) ?? 'text') : arrayText(bytes, element)
}

/** asyncpg asks for types by an array of their ids. */
function arrayText(bytes: Buffer, element: PostgresTypeName): string {
  const items = readArray(bytes, true, DEFAULT_LIMITS.inItems).map((item) =>
    item === null ? 'NULL' : `"${binaryText(item, element).replaceAll(/["\\]/g, '\\$&')}"`,
  )
  return `{${items.join(',')}}`
}

/** A value in binary, from its text. What the statement computes need not fit its type. */
export function toBinary(text: string, oid: number): Uint8Array {
  const element = elementType(oid)
  try {
    return element === undefined ? toBinaryScalar(text, typeNamed(oid)) : toBinaryArray(text, element)
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
    throw new BadParameter(`A value of the result does not fit the type with the OID ${oid}`, '22003')
  }
}

function toBinaryScalar(text: string, type: PostgresTypeName | undefined): Uint8Array {
  const bytes = Buffer.alloc(8)
  switch (type) {
    case 'bool':
      return Buffer.from([text === 't' || text === 'true' ? 1 : 0])
    case 'int2':
      return bytes.subarray(0, bytes.writeInt16BE(Number(text)))
    case 'int4':
      return bytes.subarray(0, bytes.writeInt32BE(Number(text)))
    case 'oid':
      return bytes.subarray(0, bytes.writeUInt32BE(Number(text)))
    case 'int8':
      return bytes.subarray(0, bytes.writeBigInt64BE(BigInt(text)))
    case 'float4':
      return bytes.subarray(0, bytes.writeFloatBE(Number(text)))
    case undefined:
      // regclass and the like are sent as the id that they stand for.
      return /^\d+$/.test(text) ? bytes.subarray(0, bytes.writeUInt32BE(Number(text))) : Buffer.from(text)
    case 'jsonb':
      return Buffer.from(`\u0001${text}`)
    default: {
      const out = new TextBytes()
      const form = type === 'timestamptz' ? text.replace(' ', 'T').replace(/\+00$/, 'Z') : text
      representation(POSTGRES_TYPES[type].iql).wire.addBinary(out, form)
      return out.take()
    }
  }
}

/** One dimension, from {a,b}. */
function toBinaryArray(text: string, element: PostgresTypeName): Uint8Array {
  const items = [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^",{}]+)/g)].map(([, quoted, bare]) =>
    quoted !== undefined ? quoted.replace(/\\(.)/g, '$1') : bare === 'NULL' ? null : (bare ?? ''),
  )
  const head = Buffer.alloc(items.length === 0 ? 12 : 20)
  head.writeInt32BE(items.length === 0 ? 0 : 1, 0)
  head.writeInt32BE(items.includes(null) ? 1 : 0, 4)
  head.writeUInt32BE(POSTGRES_TYPES[element].oid, 8)
  if (items.length > 0) {
    head.writeInt32BE(items.length, 12)
    head.writeInt32BE(1, 16)
  }
  const parts: Uint8Array[] = [head]
  for (const item of items) {
    const value = item === null ? undefined : toBinaryScalar(item, element)
    const length = Buffer.alloc(4)
    length.writeInt32BE(value?.length ?? -1)
    parts.push(length)
    if (value !== undefined) parts.push(value)
  }
  return Buffer.concat(parts)
}
