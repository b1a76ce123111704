/**
 * The encoder of Arrow streams (Arrow columnar format, "Encapsulated message format"): the schema, then record batches with exact
 * types. It is loaded with the first such result.
 */
import type { ResultColumn } from 'gatehouse-iql'
import type { RowEncoder } from '../model/result.ts'
import type { ArrowResultType } from '../types/arrow-type.ts'
import { representation } from '../types/types.ts'
import { arrowColumn, type ColumnData } from './arrow-columns.ts'
import { type FlatNode, integer, type Slot, table, writeFlatBuffer } from './flatbuffer.ts'

export function createArrowEncoder(columns: readonly ResultColumn[], licence?: string): RowEncoder {
  const builders = columns.map(({ type }) => arrowColumn(type))
  let schema: Uint8Array | undefined = writeMessage(SCHEMA, buildSchema(columns, licence), [])
  let rows = 0
  let pending = 0
  return {
    add(row) {
      for (let index = 0; index < builders.length; index++) {
        const cell = row[index] ?? null
        builders[index]?.add(cell)
        pending += typeof cell === 'string' ? cell.length : 8
      }
      rows++
    },
    get pending() {
      return pending
    },
    take() {
      const parts = schema === undefined ? [] : [schema]
      if (rows > 0)
        parts.push(
          writeBatch(
            rows,
            builders.map((builder) => builder.take()),
          ),
        )
      schema = undefined
      rows = 0
      pending = 0
      return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
    },
  }
}

/** The kinds of messages, and the version V5 of their metadata. */
const [SCHEMA, RECORD_BATCH] = [1, 3]
const VERSION = 4
const ALIGNMENT = 8

function writeBatch(rows: number, columns: readonly ColumnData[]): Uint8Array {
  const nodes = columns.flatMap(({ length, nulls }) => [length, nulls])
  const body = columns.flatMap(({ buffers }) => buffers)
  const places: number[] = []
  let end = 0
  for (const { byteLength } of body) {
    places.push(end, byteLength)
    end += padded(byteLength)
  }
  const batch = table(
    integer(8, rows),
    { kind: 'structs', count: columns.length, integers: nodes },
    { kind: 'structs', count: body.length, integers: places },
  )
  return writeMessage(RECORD_BATCH, batch, body)
}

/** A continuation marker, the length of the metadata, the metadata, and the buffers of the body at aligned places. */
function writeMessage(kind: number, header: FlatNode, body: readonly Uint8Array[]): Uint8Array {
  const bodyLength = body.reduce((length, { byteLength }) => length + padded(byteLength), 0)
  const metadata = writeFlatBuffer(table(integer(2, VERSION), integer(1, kind), header, integer(8, bodyLength)))
  const message = Buffer.allocUnsafeSlow(8 + metadata.length + bodyLength)
  message.writeUInt32LE(0xffff_ffff, 0)
  message.writeUInt32LE(metadata.length, 4)
  message.set(metadata, 8)
  let at = 8 + metadata.length
  for (const bytes of body) {
    const next = at + padded(bytes.byteLength)
    message.set(bytes, at)
    message.fill(0, at + bytes.byteLength, next)
    at = next
  }
  return message
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT
}

function buildSchema(columns: readonly ResultColumn[], licence: string | undefined): FlatNode {
  const fields = columns.map(({ name, type, nullable }) => {
    const [kind, ...slots] = typeSlots(representation(type).arrow.type)
    // Readers require the list of children, even if it is empty.
    const children: FlatNode = { kind: 'tables', tables: [] }
    const text: FlatNode = { kind: 'text', text: name }
    return table(text, integer(1, nullable ? 1 : 0), integer(1, kind), table(...slots), undefined, children)
  })
  const all: FlatNode = { kind: 'tables', tables: fields }
  if (licence === undefined) return table(undefined, all)
  const metadata = table({ kind: 'text', text: 'licence' }, { kind: 'text', text: licence })
  return table(undefined, all, { kind: 'tables', tables: [metadata] })
}

/** The number of the type in the union `Type` of Schema.fbs, and the slots of its table. */
function typeSlots(type: ArrowResultType): readonly [kind: number, ...slots: Slot[]] {
  switch (type.kind) {
    case 'int':
      return [2, integer(4, type.bits), integer(1, 1)]
    case 'float':
      return [3, integer(2, DOUBLE)]
    case 'binary':
      return [4]
    case 'bool':
      return [6]
    case 'decimal':
      return [7, integer(4, type.precision), integer(4, type.scale), integer(4, type.bits)]
    case 'date':
      return [8, integer(2, DAYS)]
    case 'time':
      return [9, integer(2, MICROSECONDS), integer(4, type.bits)]
    case 'timestamp':
      return [10, integer(2, MICROSECONDS), ...(type.isLocal ? [] : [UTC])]
    case 'interval':
      return [11, integer(2, MONTHS_DAYS_NANOSECONDS)]
    case 'duration':
      return [18, integer(2, MICROSECONDS)]
    default:
      return [5]
  }
}

const UTC: Slot = { kind: 'text', text: 'UTC' }
const DOUBLE = 2
const DAYS = 0
const MICROSECONDS = 2
const MONTHS_DAYS_NANOSECONDS = 2
