/** The check of a segment against its rows: what the executor computes of it is what SQLite computes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Segment, writeSegment } from '../../../packages/server/src/query/columns/segment.ts'
import { agreesWithRows } from '../../../packages/server/src/query/engines/sqlite/columns/verify-parts.ts'
import { openForReading } from '../../../packages/server/src/query/engines/sqlite/connection.ts'
import { toSqlite } from '../../../packages/server/src/query/engines/sqlite/representation.ts'
import { Choice } from '../agree/choice.ts'
import { makeRows } from './random-statements.ts'
import { COLUMNS, NAMES, type Row, SegmentedTable } from './segmented-table.ts'

const columns = Object.entries(COLUMNS).map(([name, type]) => ({ name, type }))

function makeSegment(rows: readonly Row[]): Segment {
  const values = rows.map((row) => NAMES.map((name) => stored(row, name)))
  const file = writeSegment('tag', columns, values)
  return new Segment((offset, bytes) => file.subarray(offset, offset + bytes))
}

function stored(row: Row, name: (typeof NAMES)[number]) {
  const value = toSqlite(row[name], COLUMNS[name])
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? null : value
}

for (const isTame of [true, false])
  test(`segments of ${isTame ? 'usual' : 'extreme'} values agree with their rows, and not with others`, () => {
    for (let seed = 0; seed < 8; seed++) {
      const rows = makeRows(new Choice(seed), 120, isTame)
      const table = new SegmentedTable(rows)
      const reader = openForReading(table.path)
      try {
        const [first, last] = [rows[0]?.id as bigint, rows.at(-1)?.id as bigint]
        const range = { table: 'rows', rowId: 'rowid', first, last, columns }
        assert.equal(agreesWithRows(reader, makeSegment(rows), range), true, `seed ${seed}`)
        const changed = rows.map((row, index) => (index === 60 ? { ...row, n: 77n } : row))
        assert.equal(agreesWithRows(reader, makeSegment(changed), range), false)
        const renamed = rows.map((row, index) => (index === 60 ? { ...row, t: row.t === 't1' ? 't2' : 't1' } : row))
        assert.equal(agreesWithRows(reader, makeSegment(renamed), range), false)
        assert.equal(agreesWithRows(reader, makeSegment(rows.slice(1)), range), false)
      } finally {
        reader.close()
        table.close()
      }
    }
  })

test('a column whose sum is beyond 64 bits, such as thousands of times', () => {
  const rows = makeRows(new Choice(1), 6_000, true).map((row, index) => ({
    ...row,
    ts: 1_769_000_000_000_000n + BigInt(index),
  }))
  const table = new SegmentedTable(rows)
  const reader = openForReading(table.path)
  try {
    const [first, last] = [rows[0]?.id as bigint, rows.at(-1)?.id as bigint]
    const range = { table: 'rows', rowId: 'rowid', first, last, columns }
    assert.equal(agreesWithRows(reader, makeSegment(rows), range), true)
    const later = rows.map((row, index) => (index === 3_000 ? { ...row, ts: row.ts + 1n } : row))
    assert.equal(agreesWithRows(reader, makeSegment(later), range), false)
  } finally {
    reader.close()
    table.close()
  }
})
