/** Results of column segments that are kept: they stand for what the segments have, for one statement with the same values. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  KeptParts,
  keptKey,
  removeUnusedParts,
} from '../../../packages/server/src/query/engines/sqlite/columns/kept-parts.ts'
import { Choice } from '../agree/choice.ts'
import { makeRows } from './random-statements.ts'
import { type Row, SegmentedTable } from './segmented-table.ts'

const KEPT = { keptBytes: 1_000_000 }
const GROUPS = 'SELECT k, count(*) AS n, sum(p) AS s, avg(y) AS a, last(t, ts) AS l FROM rows GROUP BY k'

describe('kept results', () => {
  let rows: Row[]
  let table: SegmentedTable
  before(() => {
    rows = makeRows(new Choice(20), 400, true)
    table = new SegmentedTable(rows)
    const range = (from: number, to: number) => ({ first: rows[from]?.id as bigint, last: rows[to]?.id as bigint })
    table.build([range(0, 99), range(100, 250), range(251, 399)])
  })
  after(() => table.close())

  const folder = (): string => join(dirname(table.path), 'columns', 'parts')
  const read = (
    statement: string,
    given: Readonly<Record<string, string>> = {},
    isUsed?: (segment: number) => boolean,
  ) => table.parts(statement, isUsed, given, KEPT)

  test('a statement that runs again opens no segment', () => {
    const first = read(GROUPS)
    const again = read(GROUPS)
    assert.deepEqual([first.opened, again.opened], [3, 0])
    assert.deepEqual(first.rows, table.usual(GROUPS).rows)
    assert.deepEqual(again.rows, first.rows)
  })

  test('without a segment that has changed, the other one of its batch is computed again, and not the next batch', () => {
    read(GROUPS)
    const { rows, opened } = read(GROUPS, {}, (segment) => segment !== 1)
    assert.deepEqual({ rows, opened }, { rows: table.usual(GROUPS).rows, opened: 1 })
  })

  test('other values have other results', () => {
    const statement = 'SELECT k, count(*) AS n FROM rows WHERE t <> :t AND upper(k) <> :k GROUP BY k'
    for (const given of [
      { t: 't1', k: 'A' },
      { t: 't1', k: 'B' },
      { t: 't2', k: 'B' },
    ])
      for (let run = 0; run < 3; run++)
        assert.deepEqual(read(statement, given).rows, table.usual(statement, given).rows)
  })

  test('a limit that the headers decide is not part of what is kept: the next one finds the same results', () => {
    const statement = 'SELECT k, count(*) AS n FROM rows WHERE n >= :least GROUP BY k'
    const opened = (least: number) => {
      const given = { least: String(least) }
      const answer = read(statement, given)
      assert.deepEqual(answer.rows, table.usual(statement, given).rows)
      return answer.opened
    }
    // Headers are read each time.
    assert.equal(opened(-3), 6)
    assert.equal(opened(-4), 3)
  })

  test('what is damaged, or gone, is computed again', () => {
    const { rows } = read(GROUPS)
    for (const change of [(path: string) => rmSync(path), damage, (path: string) => writeFileSync(path, '')]) {
      for (const name of readdirSync(folder())) change(join(folder(), name))
      assert.deepEqual(read(GROUPS), { rows, isOfParts: true, opened: 3 })
      assert.equal(read(GROUPS).opened, 0)
    }
  })

  test('different values of groups, and results with almost as many groups as rows, are not kept', () => {
    for (const statement of [
      'SELECT median(p) AS m FROM rows',
      'SELECT ts, i, count(*) AS n FROM rows GROUP BY ts, i',
    ]) {
      const first = read(statement)
      assert.deepEqual(read(statement), first)
      assert.equal(first.opened, 3)
    }
  })
})

function damage(path: string): void {
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

test('all files together take no more than allowed: those used least recently are removed', () => {
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-kept-'))
  try {
    const kept = new KeptParts(join(place, 'query.db'))
    const part = { added: [true], rows: Array.from({ length: 100 }, (_, n) => [BigInt(n), 'a text']) }
    for (let n = 0; n < 100; n++) kept.keep(keptKey(n), ['a tag'], part, 50_000)
    const names = readdirSync(join(place, 'columns', 'parts'))
    const bytes = names.reduce((sum, name) => sum + readFileSync(join(place, 'columns', 'parts', name)).length, 0)
    assert.ok(names.length > 5 && bytes <= 50_000 * 1.1, `${names.length} files of ${bytes} bytes`)
    assert.deepEqual(kept.find(keptKey(99)), part)
    assert.equal(kept.find(keptKey('another')), undefined)
  } finally {
    rmSync(place, { recursive: true })
  }
})

test('what was computed from segments that are gone is removed', async () => {
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-kept-'))
  try {
    const database = join(place, 'query.db')
    const kept = new KeptParts(database)
    const part = { added: [true, true], rows: [[1n, 'a text']] }
    kept.keep(keptKey('used'), ['one', 'other'], part, 50_000)
    kept.keep(keptKey('unused'), ['one', 'gone'], part, 50_000)
    const parts = join(place, 'columns', 'parts')
    writeFileSync(join(parts, 'of an earlier version.part'), 'x')
    await removeUnusedParts(database, (tag) => ['one', 'other'].includes(tag))
    assert.deepEqual(readdirSync(parts), [`${keptKey('used')}.part`])
    assert.deepEqual(kept.find(keptKey('used')), part)
    assert.equal(kept.find(keptKey('unused')), undefined)
  } finally {
    rmSync(place, { recursive: true })
  }
})
