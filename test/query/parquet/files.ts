/** Parquet files in memory, read by the server's reader. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type IqlValue,
  readTime,
  readTimestamp,
  writeDate,
  writeDecimal,
  writeLocalTimestamp,
  writeTime,
} from 'gatehouse-iql'
import { FairQueue } from '../../../packages/server/src/lib/fair-queue.ts'
import { type FileBytes, openParquet, type ReadLimits } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import { BodyMemory, ReaderMemory } from '../../../packages/server/src/query/bulk/reader-memory.ts'
import { type Spool, Spools } from '../../../packages/server/src/query/bulk/spools.ts'

const MAX_BYTES = 64 * 1024 * 1024

export function inMemory(bytes: Uint8Array): FileBytes {
  return { length: bytes.length, read: async (start, end) => bytes.subarray(start, end) }
}

export interface WholeFile {
  readonly types: Readonly<Record<string, string>>
  readonly values: ReadonlyMap<string, readonly IqlValue[]>
  /** Whether pages were written to a file. */
  readonly isSpooled: boolean
}

export async function readWhole(
  bytes: Uint8Array,
  maxBytes = MAX_BYTES,
  memory = new ReaderMemory().open('reader'),
): Promise<WholeFile> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-parquet-'))
  const spools = new Spools(folder, { importBytes: MAX_BYTES })
  const files: Spool[] = []
  const openFile = async (): Promise<Spool> => {
    const spool = await spools.open('reader')
    files.push(spool)
    return spool
  }
  const { signal } = new AbortController()
  try {
    return { ...(await read(bytes, { maxBytes, memory, openFile, signal })), isSpooled: files.length > 0 }
  } finally {
    for (const spool of files) await spool.remove()
    rmSync(folder, { recursive: true })
  }
}

/** Without memory for pages. `memoryBytes` is what the sizes of their parts are computed from. */
export function readSpooled(bytes: Uint8Array, memoryBytes: number): Promise<WholeFile> {
  return readWhole(bytes, MAX_BYTES, new PartsMemory(memoryBytes))
}

/** There is memory for dictionaries and for parts of pages, of any length. */
class PartsMemory extends BodyMemory {
  constructor(most: number) {
    super('reader', most, () => true, new FairQueue({ slots: 1, waiting: 1 }))
  }

  override take(): void {}

  override tryTake(): boolean {
    return false
  }
}

async function read(bytes: Uint8Array, limits: ReadLimits): Promise<Omit<WholeFile, 'isSpooled'>> {
  const file = await openParquet(inMemory(bytes), limits)
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
export function assertSame({ types, values }: Pick<WholeFile, 'types' | 'values'>, rows: PythonRows): void {
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
