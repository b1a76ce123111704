/** Arrow streams put together by hand, for what no writer would write. Each has 16 columns, unless it says otherwise. */
import {
  type FlatNode,
  integer,
  table,
  writeFlatBuffer,
} from '../../../packages/server/src/query/results/flatbuffer.ts'

export const COLUMNS = 16
/** The numbers of types (Schema.fbs) and of messages (Message.fbs). */
export const TYPE = { null: 1, int: 2, utf8: 5, utf8View: 24 } as const
export const MESSAGE = { schema: 1, dictionary: 2, batch: 3 } as const

const text = (value: string): FlatNode => ({ kind: 'text', text: value })
const tables = (all: readonly FlatNode[]): FlatNode => ({ kind: 'tables', tables: all })
const structs = (each: number, integers: readonly number[]): FlatNode => ({
  kind: 'structs',
  count: integers.length / each,
  integers,
})

export function message(kind: number, header: FlatNode, body: Buffer = Buffer.alloc(0)): Buffer {
  const metadata = writeFlatBuffer(table(integer(2, 4), integer(1, kind), header, integer(8, body.length)))
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0xffff_ffff)
  head.writeUInt32LE(metadata.length, 4)
  return Buffer.concat([head, metadata, body])
}

function field(name: string, kind: number, dictionary?: number): FlatNode {
  const number = table(integer(4, 8), integer(1, 1))
  const encoding = dictionary === undefined ? undefined : table(integer(8, dictionary), number)
  return table(
    text(name),
    integer(1, 1),
    integer(1, kind),
    kind === TYPE.int ? table(integer(4, 64), integer(1, 1)) : table(),
    encoding,
  )
}

export function schema(kind: number, dictionary?: number, columns = COLUMNS): Buffer {
  const fields = Array.from({ length: columns }, (_, index) => field(`c${index}`, kind, dictionary))
  return message(MESSAGE.schema, table(undefined, tables(fields)))
}

/** All columns have the same buffers. */
export function batch(
  rows: number,
  buffers: readonly (readonly [number, number])[],
  columns = COLUMNS,
  views?: number,
): FlatNode {
  const nodes = Array.from({ length: columns }, () => [rows, 0]).flat()
  const places = Array.from({ length: columns }, () => buffers.flat()).flat()
  const counts = views === undefined ? undefined : structs(1, Array(columns).fill(views))
  return table(integer(8, rows), structs(2, nodes), structs(2, places), undefined, counts)
}

/** Offsets of texts that are equally long. */
export function offsets(rows: number, bytes: number): Buffer {
  const all = Buffer.alloc(4 * (rows + 1))
  for (let row = 0; row <= rows; row++) all.writeInt32LE(row * bytes, 4 * row)
  return all
}
