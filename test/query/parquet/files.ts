/** Parquet files in memory, read by the server's reader. */
import type { IqlValue } from 'gatehouse-iql'
import { type FileBytes, openParquet } from '../../../packages/server/src/query/bulk/parquet/file.ts'

const MAX_BYTES = 64 * 1024 * 1024

export function inMemory(bytes: Uint8Array): FileBytes {
  return { length: bytes.length, read: async (start, end) => bytes.subarray(start, end) }
}

export interface WholeFile {
  readonly types: Readonly<Record<string, string>>
  readonly values: ReadonlyMap<string, readonly IqlValue[]>
}

export async function readWhole(bytes: Uint8Array, maxBytes = MAX_BYTES): Promise<WholeFile> {
  const file = await openParquet(inMemory(bytes), { maxBytes })
  const values = new Map<string, IqlValue[]>(file.columns.map(({ name }) => [name, []]))
  for await (const batch of file.batches())
    for (const [index, { name }] of file.columns.entries()) values.get(name)?.push(...(batch.columns[index] ?? []))
  const types = file.columns.map(({ name, type }) => [
    name,
    type.kind === 'Decimal' ? `Decimal(${type.precision}, ${type.scale})` : type.kind,
  ])
  return { types: Object.fromEntries(types), values }
}
