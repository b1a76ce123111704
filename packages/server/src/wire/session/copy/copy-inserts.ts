/** The rows of a COPY FROM as INSERTs: a block that has both writes them as one. A COPY that is alone in its block stays on the bulk path. */
import { type IqlType, type IqlValue, isWide } from 'gatehouse-iql'
import { openReader, type Vector } from '../../../query/codecs.ts'
import { requireTable, viewFor } from '../../../query/index.ts'
import type { SessionCaller } from '../contract.ts'
import type { SessionEnv } from '../env.ts'
import { outcomeOf } from '../failure.ts'
import type { Runner } from '../runner.ts'
import type { Block } from '../transaction/block.ts'
import { insertText, rowBytes, rowStatement } from '../transaction/insert-values.ts'
import type { KeptCopy } from './kept-copy.ts'

/** Kept bytes are read in such pieces, after each of which other work gets a turn. */
const PIECE_BYTES = 64 * 1024

export interface CopyInsertsEnv {
  readonly env: SessionEnv
  readonly caller: SessionCaller
  readonly block: Block
}

/** The block has a COPY, and something else follows. */
export async function spreadCopy(copy: KeptCopy, env: CopyInsertsEnv, signal: AbortSignal): Promise<void> {
  await keepAsInserts(copy, env, signal)
  env.block.replaceCopy()
}

/** The same for a statement that is not a COPY: spreading can take long, so the statement is listed and can be cancelled. */
export async function spreadForStatement(
  copy: KeptCopy,
  text: string,
  env: CopyInsertsEnv & { readonly runner: Runner },
): Promise<void> {
  const { runner } = env
  const execution = runner.begin(text)
  try {
    await runner.importing(execution, ({ signal }) => spreadCopy(copy, env, signal))
    runner.finish(execution, 'ok', 0)
  } catch (error) {
    runner.finish(execution, outcomeOf(error), 0)
    throw error
  }
}

/** Returns the number of rows. */
export async function keepAsInserts(
  { table: name, columns: names, format, parts }: Omit<KeptCopy, 'counted'>,
  { env, caller, block }: CopyInsertsEnv,
  signal: AbortSignal,
): Promise<number> {
  const table = requireTable(viewFor(env.catalogue.snapshot, caller.principal.scopes), name)
  const columns = names.flatMap((column) => table.columns.filter((known) => known.name === column))
  const statement = rowStatement(insertText(name, names), caller, env)
  const reader = await openReader(format, sourceOf(parts), names)
  let count = 0
  for await (const batch of reader.read(columns)) {
    signal.throwIfAborted()
    count += batch.rows
    const lists = columns.map(({ type }, index) => valuesOf(batch.columns[index], type, batch.rows))
    for (let row = 0; row < batch.rows; row++) {
      const values = lists.map((list) => list[row] ?? null)
      block.kept.add({ statement, values, table: name }, rowBytes(values))
    }
  }
  return count
}

export async function* sourceOf(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts)
    for (let start = 0; start < part.length; start += PIECE_BYTES) yield part.subarray(start, start + PIECE_BYTES)
}

function valuesOf(vector: Vector | undefined, type: IqlType, rows: number): IqlValue[] {
  if (vector === undefined) throw new Error('A batch without a column')
  const valueAt = readerOf(vector, type)
  return Array.from({ length: rows }, (_, row) => {
    const value = valueAt(row)
    return vector.nulls?.[row] === 1 ? null : value
  })
}

/** Called for each row in turn: those of bytes follow each other. */
function readerOf(vector: Vector, type: IqlType): (row: number) => IqlValue {
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
