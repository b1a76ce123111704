/** The spool file of a bulk insert on SQLite: a database that SQLite itself reads, with every value exactly. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { DOUBLE, INTEGER, type IqlType, TEXT } from 'gatehouse-iql'
import {
  BytesBuilder,
  type ColumnBatch,
  DoubleBuilder,
  IntegerBuilder,
} from '../../packages/server/src/query/batches/batch.ts'
import { SpoolRows, Spools } from '../../packages/server/src/query/bulk/spools.ts'
import { toWide } from '../../packages/server/src/query/engines/sqlite/representation.ts'
import { SpoolTable } from '../../packages/server/src/query/engines/sqlite/spool/spool-table.ts'

type Value = bigint | number | string | Buffer | null

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-spool-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const BINARY: IqlType = { kind: 'Binary' }
const WIDE: IqlType = { kind: 'Decimal', precision: 38, scale: 0 }

test('integers of every length, NULL, doubles, NaN, texts, bytes and long decimals arrive as they are', async () => {
  const edges = [0n, 1n, 2n ** 7n, 2n ** 15n, 2n ** 23n, 2n ** 31n, 2n ** 47n, 2n ** 63n - 1n].flatMap((edge) => [
    edge,
    edge - 1n,
    -edge,
    -edge - 1n,
  ])
  const rows = edges.map((edge, index): Value[] => [
    edge,
    [0.1, -1e300, Number.POSITIVE_INFINITY, 5, Number.NaN, null][index % 6] ?? null,
    index % 5 === 0 ? null : 'ä'.repeat(index * 7),
    index % 7 === 0 ? null : Buffer.alloc(index, index),
    index % 3 === 0 ? null : edge * 10n ** 18n,
  ])
  const types = [INTEGER, DOUBLE, TEXT, BINARY, WIDE]
  const expected = rows.map((row) =>
    row.map((value, column) =>
      typeof value === 'bigint' && column === 4 ? toWide(value) : Number.isNaN(value) ? 'NaN' : value,
    ),
  )
  assert.deepEqual(await throughSqlite(types, [rows.slice(0, 5), rows.slice(5, 6), [], rows.slice(6)]), expected)
})

test('rows that fill pages exactly, continue on others, or need several levels of the tree', async () => {
  const page = 16 * 1024
  const lengths = [page - 60, page - 45, page - 44, page - 43, page - 42, page - 41, page - 40, page - 39, page - 36]
  const long = [...lengths, 2 * page - 40, 2 * page, 5 * page + 7, 300 * page, 0, 1]
  const rows = long.flatMap((length, index): Value[][] => [
    [BigInt(index), 'x'.repeat(length)],
    [-1n, ''],
  ])
  assert.deepEqual(await throughSqlite([INTEGER, TEXT], [rows]), rows)
  // More than a thousand leaves.
  const many = Array.from({ length: 2_200 }, (_, index): Value[] => [BigInt(index), 'y'.repeat(page / 2)])
  assert.deepEqual(await throughSqlite([INTEGER, TEXT], [many.slice(0, 700), many.slice(700)]), many)
})

test('no rows, and a table of many columns', async () => {
  assert.deepEqual(await throughSqlite([TEXT], []), [])
  const wide = [Array.from({ length: 300 }, (_, index) => BigInt(index - 150))]
  assert.deepEqual(await throughSqlite(wide[0]?.map(() => INTEGER) ?? [], [wide]), wide)
})

/** Writes batches to a spool file, and returns what SQLite reads. */
async function throughSqlite(types: readonly IqlType[], batches: readonly Value[][][]): Promise<unknown[]> {
  const spool = await new Spools(folder, { importBytes: 100_000_000 }).open('user')
  const rows = new SpoolRows(spool, new SpoolTable(types.map((type, index) => ({ name: `a${index}`, type }))))
  for (const batch of batches) await rows.add(buildBatch(types, batch))
  await rows.end()
  const database = new Sqlite(spool.path, { readonly: true })
  try {
    assert.equal(database.pragma('integrity_check', { simple: true }), 'ok')
    const numbers = database.prepare('SELECT rowid FROM b ORDER BY rowid').pluck().all()
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => index + 1),
    )
    return database.prepare('SELECT * FROM b ORDER BY rowid').raw(true).safeIntegers(true).all()
  } finally {
    database.close()
    await spool.remove()
  }
}

function buildBatch(types: readonly IqlType[], rows: readonly Value[][]): ColumnBatch {
  const columns = types.map((type, column) => {
    const builder =
      type.kind === 'Integer' ? new IntegerBuilder() : type.kind === 'Double' ? new DoubleBuilder() : new BytesBuilder()
    for (const { [column]: value = null } of rows) {
      if (value === null) builder.addNull()
      else if (builder instanceof IntegerBuilder) builder.addBigint(BigInt(value.toString()))
      else if (builder instanceof DoubleBuilder) builder.add(Number(value))
      else if (Buffer.isBuffer(value)) builder.add(value, 0, value.length)
      else builder.addText(String(value))
    }
    return builder.take()
  })
  return { rows: rows.length, columns }
}
