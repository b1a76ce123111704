/** The file that holds the rows of a bulk insert until they are inserted. The engine chooses its format; one is here: batches of columns. */
import type { FileHandle } from 'node:fs/promises'
import type { ColumnBatch, Vector } from './batch.ts'

/** Encodes the rows of one file. */
export interface SpoolEncoder {
  /** The length of the head. */
  readonly headBytes: number
  /** What `take` returns. */
  readonly pendingBytes: number
  add(batch: ColumnBatch): void
  /** The bytes that follow those taken before; the first ones follow the head. */
  take(): readonly Buffer[]
  end(): SpoolEnd
}

export interface SpoolEnd {
  readonly head: readonly Buffer[]
  readonly rest: readonly Buffer[]
}

export class BatchEncoder implements SpoolEncoder {
  readonly headBytes = 0
  pendingBytes = 0
  #batches: Buffer[] = []

  add(batch: ColumnBatch): void {
    const bytes = encodeBatch(batch)
    this.#batches.push(bytes)
    this.pendingBytes += bytes.length
  }

  take(): readonly Buffer[] {
    const batches = this.#batches
    this.#batches = []
    this.pendingBytes = 0
    return batches
  }

  end(): SpoolEnd {
    return { head: [], rest: this.take() }
  }
}

/**
 * A batch: a header of 32-bit integers (the bytes of the whole batch, its rows, then for each column its kind and the bytes of its three
 * parts), and the parts, each at a multiple of eight.
 */
const KINDS = ['int32', 'int64', 'doubles', 'bytes'] as const
const HEAD = 2
const PER_COLUMN = 4

function encodeBatch({ rows, columns }: ColumnBatch): Buffer {
  const parts = columns.map(vectorParts)
  const head = padded(4 * (HEAD + PER_COLUMN * columns.length))
  let total = head
  for (const { bytes } of parts) for (const part of bytes) total += padded(part.byteLength)
  const whole = Buffer.allocUnsafeSlow(total)
  const header = new Int32Array(whole.buffer, 0, head / 4)
  header.fill(0)
  header[0] = total
  header[1] = rows
  let at = head
  for (const [index, { kind, bytes }] of parts.entries()) {
    const place = HEAD + PER_COLUMN * index
    header[place] = KINDS.indexOf(kind)
    for (const [part, { buffer, byteOffset, byteLength }] of bytes.entries()) {
      header[place + 1 + part] = byteLength
      whole.set(new Uint8Array(buffer, byteOffset, byteLength), at)
      at += padded(byteLength)
    }
  }
  return whole
}

function vectorParts(vector: Vector): {
  readonly kind: (typeof KINDS)[number]
  readonly bytes: readonly ArrayBufferView[]
} {
  const nulls = vector.nulls ?? new Uint8Array(0)
  if (vector.kind === 'bytes') return { kind: 'bytes', bytes: [nulls, vector.lengths, vector.data] }
  if (vector.kind === 'doubles') return { kind: 'doubles', bytes: [nulls, vector.values] }
  const narrow = vector.values instanceof BigInt64Array ? narrowed(vector.values) : vector.values
  return { kind: narrow instanceof Int32Array ? 'int32' : 'int64', bytes: [nulls, narrow] }
}

/** As 32-bit integers where all of them fit. */
function narrowed(values: BigInt64Array): BigInt64Array | Int32Array {
  const halves = new Int32Array(values.buffer, values.byteOffset, 2 * values.length)
  for (let at = 0; at < halves.length; at += 2) if (halves[at + 1] !== (halves[at] ?? 0) >> 31) return values
  const narrow = new Int32Array(values.length)
  for (let index = 0; index < narrow.length; index++) narrow[index] = halves[2 * index] ?? 0
  return narrow
}

function decodeBatch(whole: Buffer, columns: number): ColumnBatch {
  const { buffer } = whole
  const header = new Int32Array(buffer, 0, HEAD + PER_COLUMN * columns)
  const rows = header[1] ?? 0
  let at = padded(4 * header.length)
  const next = (length: number): number => {
    const place = at
    at += padded(length)
    return place
  }
  const vectors = Array.from({ length: columns }, (_column, index): Vector => {
    const [kind = 0, nullBytes = 0, first = 0, second = 0] = header.subarray(HEAD + PER_COLUMN * index)
    const nullsAt = next(nullBytes)
    const nulls = nullBytes === 0 ? undefined : new Uint8Array(buffer, nullsAt, nullBytes)
    const valuesAt = next(first)
    switch (KINDS[kind]) {
      case 'int32':
        return { kind: 'integers', values: new Int32Array(buffer, valuesAt, rows), nulls }
      case 'int64':
        return { kind: 'integers', values: new BigInt64Array(buffer, valuesAt, rows), nulls }
      case 'doubles':
        return { kind: 'doubles', values: new Float64Array(buffer, valuesAt, rows), nulls }
      default: {
        const lengths = new Int32Array(buffer, valuesAt, rows)
        return { kind: 'bytes', lengths, data: Buffer.from(buffer, next(second), second), nulls }
      }
    }
  })
  return { rows, columns: vectors }
}

export async function* readSpool(file: FileHandle, columns: number): AsyncGenerator<ColumnBatch, void, void> {
  const head = Buffer.alloc(4)
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(head, 0, 4, at)
    if (bytesRead < 4) return
    const length = head.readInt32LE(0)
    const whole = Buffer.allocUnsafeSlow(length)
    for (let got = 0; got < length; ) {
      const read = await file.read(whole, got, length - got, at + got)
      if (read.bytesRead === 0) throw new Error('A spool file ends within a batch')
      got += read.bytesRead
    }
    at += length
    yield decodeBatch(whole, columns)
  }
}

function padded(length: number): number {
  return (length + 7) & ~7
}
