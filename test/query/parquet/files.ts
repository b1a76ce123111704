/** Parquet files in memory, read by the server's reader. */
import assert from 'node:assert/strict'
import {
  type IqlValue,
  readTime,
  readTimestamp,
  writeDate,
  writeDecimal,
  writeLocalTimestamp,
  writeTime,
} from 'gatehouse-iql'
import { type FileBytes, openParquet } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import { ReaderMemory } from '../../../packages/server/src/query/bulk/reader-memory.ts'

const MAX_BYTES = 64 * 1024 * 1024

export function inMemory(bytes: Uint8Array): FileBytes {
  return { length: bytes.length, read: async (start, end) => bytes.subarray(start, end) }
}

export interface WholeFile {
  readonly types: Readonly<Record<string, string>>
  readonly values: ReadonlyMap<string, readonly IqlValue[]>
}

export async function readWhole(bytes: Uint8Array, maxBytes = MAX_BYTES): Promise<WholeFile> {
  const file = await openParquet(inMemory(bytes), { maxBytes, memory: new ReaderMemory().open() })
  const values = new Map<string, IqlValue[]>(file.columns.map(({ name }) => [name, []]))
  for await (const batch of file.batches())
    for (const [index, { name }] of file.columns.entries()) values.get(name)?.push(...(batch.columns[index] ?? []))
  const types = file.columns.map(({ name, type }) => [
    name,
    type.kind === 'Decimal' ? `Decimal(${type.precision}, ${type.scale})` : type.kind,
  ])
  return { types: Object.fromEntries(types), values }
}

/** The values of columns as the scripts in Python write them. */
export type PythonRows = Readonly<Record<string, readonly (string | boolean | null)[]>>

/** The file may have only the first of the rows. */
export function assertSame({ types, values }: WholeFile, rows: PythonRows): void {
  for (const [column, found] of values) {
    const type = types[column] ?? ''
    const wanted = (rows[column] ?? []).slice(0, found.length).map((value) => expected(type, value))
    assert.deepEqual(
      found.map((value) => shown(type, value)),
      wanted,
      column,
    )
  }
}

/** By the kind of the type. */
const SHOWN: Readonly<Record<string, (value: NonNullable<IqlValue>) => unknown>> = {
  Decimal: (value) => value,
  Timestamp: (value) => writeLocalTimestamp(value as bigint),
  LocalTimestamp: (value) => writeLocalTimestamp(value as bigint),
  Date: (value) => writeDate(value as bigint),
  Time: (value) => writeTime(value as bigint),
  Binary: (value) => Buffer.from(value as Uint8Array).toString('hex'),
  Double: Number,
  Boolean: Boolean,
}

function shown(type: string, value: IqlValue): unknown {
  if (value === null) return null
  const [, scale] = /^Decimal\(\d+, (\d+)\)$/.exec(type) ?? []
  if (scale !== undefined)
    return Number(writeDecimal(value as bigint, Number(scale))) === 0 && value === 0n
      ? '0'
      : writeDecimal(value as bigint, Number(scale))
  return (SHOWN[type] ?? String)(value)
}

/** Python writes times with six digits of a fraction or none, and zero in its own ways. */
function expected(type: string, value: string | boolean | null): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (type.startsWith('Decimal')) {
    const text = value.includes('E') ? Number(value).toFixed(18) : value
    return /^-?[0.]+$/.test(text) ? '0' : text
  }
  if (type === 'Double') return Number(value.replace('inf', 'Infinity'))
  if (type === 'Time') return writeTime(readTime(value) ?? 0n)
  if (type.endsWith('Timestamp')) return writeLocalTimestamp(readTimestamp(`${value}Z`) ?? 0n)
  return value
}
