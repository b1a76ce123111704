/** The rows of a COPY FROM that COMMIT writes. One that is alone in its block stays on the path of bulk inserts; with others it becomes INSERTs. */
import { type IqlType, type IqlValue, isWide } from 'gatehouse-iql'
import { openReader, type Vector } from '../../../query/codecs.ts'
import { requireTable } from '../../../query/index.ts'
import type { Runner } from '../runner.ts'
import type { TransactionBlock } from '../transaction/block.ts'
import { type CopyTarget, type DeferredCopy, insertText, rowBytes, rowStatement } from '../transaction/deferred-rows.ts'

/** Bytes are read in such pieces, after each of which other work gets a turn. */
const PIECE_BYTES = 64 * 1024

export interface DeferEnv {
  readonly runner: Runner
  readonly block: TransactionBlock
}

/** The block has a COPY, and something else follows. */
export async function replaceByInserts(copy: DeferredCopy, env: DeferEnv, signal: AbortSignal): Promise<void> {
  await deferAsInserts(copy, env, signal)
  env.block.replaceCopy()
}

/** Returns the number of rows. */
export async function deferAsInserts(
  { table: name, columns: names, format, parts }: CopyTarget & Pick<DeferredCopy, 'parts'>,
  { runner, block }: DeferEnv,
  signal: AbortSignal,
): Promise<number> {
  const table = requireTable(runner.planning.view, name)
  const columns = names.flatMap((column) => table.columns.filter((known) => known.name === column))
  const statement = rowStatement(insertText(name, names), runner)
  const reader = await openReader(format, streamPieces(parts), names)
  let count = 0
  for await (const batch of reader.read(columns)) {
    signal.throwIfAborted()
    count += batch.rows
    const lists = columns.map(({ type }, index) => readValues(batch.columns[index], type, batch.rows))
    for (let row = 0; row < batch.rows; row++) {
      const values = lists.map((list) => list[row] ?? null)
      block.inserts.add({ statement, values, table: name }, rowBytes(values))
    }
  }
  return count
}

export async function* streamPieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, void> {
  for (const part of parts)
    for (let start = 0; start < part.length; start += PIECE_BYTES) yield part.subarray(start, start + PIECE_BYTES)
}

function readValues(vector: Vector | undefined, type: IqlType, rows: number): IqlValue[] {
  if (vector === undefined) throw new Error('A batch without a column')
  const valueAt = createReader(vector, type)
  return Array.from({ length: rows }, (_, row) => {
    const value = valueAt(row)
    return vector.nulls?.[row] === 1 ? null : value
  })
}

/** Called for each row in turn: those of bytes follow each other. */
function createReader(vector: Vector, type: IqlType): (row: number) => IqlValue {
  switch (vector.kind) {
    case 'doubles':
      return (row) => vector.values[row] ?? 0
    case 'integers':
      return (row) => (type.kind === 'Boolean' ? Number(vector.values[row]) === 1 : BigInt(vector.values[row] ?? 0))
    case 'bytes': {
      const { data, lengths } = vector
      let at = 0
      return (row) => {
        const start = at
        at += lengths[row] ?? 0
        const bytes = data.subarray(start, at)
        if (type.kind === 'Binary') return Buffer.from(bytes)
        return isWide(type) ? BigInt(bytes.toString() || 0) : bytes.toString()
      }
    }
  }
}
