/** Short Arrow streams that mean much. Each has the columns of the table `wide`. */
import { integer, table, writeFlatBuffer } from '../../../packages/server/src/query/results/flatbuffer.ts'
import { batch, COLUMNS, MESSAGE, message, offsets, schema, TYPE } from '../arrow/made-stream.ts'

const MEBIBYTE = 1024 * 1024

function sharedTexts(): Buffer {
  const [rows, bytes] = [8192, 512]
  const places = offsets(rows, bytes)
  const data = Buffer.alloc(rows * bytes, 'x')
  const header = batch(rows, [
    [0, 0],
    [0, places.length],
    [places.length, data.length],
  ])
  return Buffer.concat([schema(TYPE.utf8), message(MESSAGE.batch, header, Buffer.concat([places, data]))])
}

function repeatedEntry(bytes: number): Buffer {
  const rows = 8192
  const places = offsets(1, bytes)
  const entries = Buffer.concat([places, Buffer.alloc(bytes, 'x')])
  const dictionary = table(
    integer(8, 0),
    batch(
      1,
      [
        [0, 0],
        [0, places.length],
        [places.length, bytes],
      ],
      1,
    ),
  )
  return Buffer.concat([
    schema(TYPE.utf8, 0),
    message(MESSAGE.dictionary, dictionary, entries),
    message(
      MESSAGE.batch,
      batch(rows, [
        [0, 0],
        [0, rows],
      ]),
      Buffer.alloc(rows),
    ),
  ])
}

function repeatedViews(): Buffer {
  const [rows, bytes] = [8192, MEBIBYTE]
  const views = Buffer.alloc(16 * rows)
  for (let row = 0; row < rows; row++) views.writeInt32LE(bytes, 16 * row)
  const header = batch(
    rows,
    [
      [0, 0],
      [0, views.length],
      [views.length, bytes],
    ],
    COLUMNS,
    1,
  )
  return Buffer.concat([
    schema(TYPE.utf8View),
    message(MESSAGE.batch, header, Buffer.concat([views, Buffer.alloc(bytes, 'x')])),
  ])
}

/** A schema all fields of which are one, with a long name. */
function sharedFields(): Buffer {
  const one = schema(TYPE.utf8)
  const count = 700_000
  const metadata = Buffer.alloc(4 * count + 4096 + MEBIBYTE)
  // Written by hand: a root, a message, a schema, and a list of references to one field.
  const at = { message: 64, schema: 128, field: 192, vtables: 256, list: 1024, name: 1024 + 4 * count + 16 }
  metadata.writeUInt32LE(at.message, 0)
  const put = (place: number, vtable: number, slots: readonly number[]): void => {
    metadata.writeInt32LE(place - vtable, place)
    metadata.writeUInt16LE(4 + 2 * slots.length, vtable)
    metadata.writeUInt16LE(64, vtable + 2)
    for (const [index, slot] of slots.entries()) metadata.writeUInt16LE(slot, vtable + 4 + 2 * index)
  }
  put(at.message, at.vtables, [4, 6, 8, 0])
  metadata.writeInt8(MESSAGE.schema, at.message + 6)
  metadata.writeUInt32LE(at.schema - (at.message + 8), at.message + 8)
  put(at.schema, at.vtables + 32, [0, 8])
  metadata.writeUInt32LE(at.list - (at.schema + 8), at.schema + 8)
  metadata.writeUInt32LE(count, at.list)
  for (let index = 0; index < count; index++) {
    const place = at.list + 4 + 4 * index
    // An offset is unsigned: the field stands after the list.
    metadata.writeUInt32LE(at.name + 64 - place, place)
  }
  put(at.name + 64, at.name, [8])
  metadata.writeUInt32LE(100, at.name + 64 + 8)
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0xffff_ffff)
  head.writeUInt32LE(metadata.length & ~7, 4)
  return Buffer.concat([head, metadata.subarray(0, metadata.length & ~7), one])
}

export const ARROW_BOMBS: Readonly<Record<string, () => Buffer>> = {
  'texts that 16 columns share': sharedTexts,
  'an entry of 128 KiB in 8,192 rows of 16 columns': () => repeatedEntry(128 * 1024),
  'an entry of 16 MiB in 8,192 rows of 16 columns': () => repeatedEntry(16 * MEBIBYTE),
  'views of one text of 1 MiB': repeatedViews,
  'two billion rows of NULL': () => Buffer.concat([schema(TYPE.null), message(MESSAGE.batch, batch(2 ** 31 - 1, []))]),
  '700,000 fields that are one': sharedFields,
  'a body of 2^50 bytes': () => {
    const metadata = writeFlatBuffer(table(integer(2, 4), integer(1, MESSAGE.batch), batch(1, []), integer(8, 2 ** 50)))
    const head = Buffer.alloc(8)
    head.writeUInt32LE(0xffff_ffff)
    head.writeUInt32LE(metadata.length, 4)
    return Buffer.concat([schema(TYPE.utf8), head, metadata])
  },
}
