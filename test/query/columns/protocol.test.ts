/** The three steps in which a segment is written, with changes, crashes and other builders between them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { Database } from 'better-sqlite3'
import { INTEGER } from 'gatehouse-iql'
import type { TableDefinition } from '../../../packages/server/src/query/catalogue/definition.ts'
import { applyChanges, prepareCatalogue } from '../../../packages/server/src/query/engines/sqlite/catalogue.ts'
import { buildSegment } from '../../../packages/server/src/query/engines/sqlite/columns/build-segment.ts'
import { claimMerge } from '../../../packages/server/src/query/engines/sqlite/columns/segment-merges.ts'
import {
  type ClaimedSegment,
  claimDue,
  claimNext,
  findReadableSegments,
  LEAST_ROW,
  publishSegment,
  splitSegment,
} from '../../../packages/server/src/query/engines/sqlite/columns/segment-tables.ts'
import { openForWriting } from '../../../packages/server/src/query/engines/sqlite/connection.ts'

const COLUMN = { type: INTEGER, nullable: true, default: undefined }
const TABLE: TableDefinition = {
  name: 'T',
  columns: [
    { ...COLUMN, name: 'v' },
    { ...COLUMN, name: 'w' },
  ],
  primaryKey: [],
  uniques: [],
  indexes: [],
  readScope: undefined,
  writeScope: undefined,
  rowFilter: undefined,
  description: undefined,
  isLive: true,
  isColumnar: true,
  created: 0n,
}
const MINUTE = 60

let now: number
let folder: string
let path: string
let database: Database
beforeEach(() => {
  now = Math.floor(Date.now() / 1000)
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-columns-'))
  path = join(folder, 'query.db')
  database = openForWriting(path)
  prepareCatalogue(database)
  applyChanges(database, [{ change: { kind: 'create', table: TABLE }, fill: null }])
  database.exec(`INSERT INTO t SELECT value, value FROM ${SERIES}`)
})
afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

const SERIES = `json_each('[${Array.from({ length: 100 }, (_, n) => n + 1).join(',')}]')`

const claim = (): ClaimedSegment => {
  const claimed = claimNext(database, 'T', { sealed: null, last: 60n, now })
  assert.ok(claimed)
  return claimed
}
const due = (at: number) => claimDue(database, 'T', { now: at, rebuildSeconds: 30 })
const build = ({ first, last }: ClaimedSegment) =>
  buildSegment(database, path, { table: 't', rowId: 'rowid', first, last, columns: TABLE.columns })
const readable = () => findReadableSegments(database, 'T').map(({ first, last }) => [first, last])
const change = (sql = 'UPDATE t SET v = 0 WHERE rowid = 5') => database.exec(sql)

test('a segment is read from its publication on', () => {
  const claimed = claim()
  const built = build(claimed)
  assert.equal(built.rows, 60)
  assert.deepEqual(readable(), [])
  assert.equal(publishSegment(database, claimed, built), true)
  assert.deepEqual(readable(), [[LEAST_ROW, 60n]])
})

test('a change before the first step is in the file; one after any later step is not read from it', () => {
  change()
  const claimed = claim()
  assert.equal(publishSegment(database, claimed, build(claimed)), true)
  change()
  assert.deepEqual(readable(), [], 'after the third step')

  const second = due(now + MINUTE)
  assert.ok(second)
  change()
  const built = build(second)
  assert.equal(publishSegment(database, second, built), false, 'after the first step')

  const third = due(now + 5 * MINUTE)
  assert.ok(third)
  const other = build(third)
  change('DELETE FROM t WHERE rowid = 7')
  assert.equal(publishSegment(database, third, other), false, 'after the second step')
  assert.deepEqual(readable(), [])

  const last = due(now + 20 * MINUTE)
  assert.ok(last)
  const good = build(last)
  assert.equal(good.rows, 59)
  assert.equal(publishSegment(database, last, good), true)
})

test('a builder that is gone has its segment claimed again, and can publish no more if it comes back', () => {
  const first = claim()
  const stale = build(first)
  assert.equal(due(now + MINUTE), undefined, 'it may still be working')
  change()
  const second = due(now + 60 * MINUTE)
  assert.ok(second)
  assert.equal(publishSegment(database, first, stale), false)
  assert.deepEqual(readable(), [])
  assert.equal(publishSegment(database, second, build(second)), true)
  assert.deepEqual(readable(), [[LEAST_ROW, 60n]])
})

test('when the server starts again, a claim of the former process is void', () => {
  const first = claim()
  const stale = build(first)
  prepareCatalogue(database)
  const second = due(now)
  assert.ok(second)
  assert.equal(publishSegment(database, first, stale), false)
})

test('two processes do not take the same rows', () => {
  claim()
  assert.equal(claimNext(database, 'T', { sealed: null, last: 60n, now }), undefined)
  assert.equal(due(now), undefined)
})

test('a segment that is marked again and again waits longer and longer', () => {
  const claimed = claim()
  publishSegment(database, claimed, build(claimed))
  const waits: number[] = []
  let at = now
  for (let round = 0; round < 8; round++) {
    database.prepare('INSERT INTO _gh_column_marks SELECT segment, ? FROM _gh_column_segments').run(at)
    let seconds = 0
    let again: ClaimedSegment | undefined
    for (; again === undefined; seconds += 30) again = due(at + seconds)
    waits.push(seconds - 30)
    at += seconds
    publishSegment(database, again, build(again))
  }
  assert.deepEqual(waits, [30, 60, 120, 240, 480, 960, 1920, 1920])
})

test('both halves of a segment that is split are written', () => {
  splitSegment(database, claim(), 20n)
  for (const expected of [
    [LEAST_ROW, 20n],
    [21n, 60n],
  ]) {
    const half = due(now)
    assert.deepEqual(half && [half.first, half.last], expected)
    if (half !== undefined) assert.equal(publishSegment(database, half, build(half)), true)
  }
  change('UPDATE t SET v = 0 WHERE rowid = 20')
  assert.deepEqual(readable(), [[21n, 60n]])
})

/** Eight segments of ten rows each; the last rows have none. */
const publishSmall = (): void => {
  for (let last = 10n; last <= 80n; last += 10n) {
    const claimed = claimNext(database, 'T', { sealed: last === 10n ? null : last - 10n, last, now })
    assert.ok(claimed)
    publishSegment(database, claimed, build(claimed))
  }
}
const merge = (at = now) => claimMerge(database, 'T', { now: at, maxRows: 80 })

test('eight small segments become one, and are read until then', () => {
  publishSmall()
  const before = readable()
  assert.equal(before.length, 8)
  const claimed = merge()
  assert.ok(claimed)
  assert.equal(merge(), undefined, 'no other process takes them')
  const built = build(claimed)
  assert.equal(built.rows, 80)
  assert.deepEqual(readable(), before)
  assert.equal(publishSegment(database, claimed, built), true)
  assert.deepEqual(readable(), [[LEAST_ROW, 80n]])
  assert.equal(merge(), undefined, 'one of many rows is not merged')
  change()
  assert.deepEqual(readable(), [])
})

test('the smallest segments become middle ones first, and only those become a large one', () => {
  database.exec(`INSERT INTO t SELECT value, value FROM ${SERIES}`)
  publishSmall()
  const mergeTo = (maxRows: number) => claimMerge(database, 'T', { now, maxRows })
  const claimed = mergeTo(640)
  assert.equal(claimed?.segments.length, 8)
  assert.ok(claimed)
  publishSegment(database, claimed, build(claimed))
  const next = (from: bigint, until: bigint): void => {
    for (let last = from; last <= until; last += 10n) {
      const claimed = claimNext(database, 'T', { sealed: last - 10n, last, now })
      assert.ok(claimed)
      publishSegment(database, claimed, build(claimed))
    }
  }
  next(90n, 150n)
  assert.equal(mergeTo(640), undefined, 'the eight have a middle one')
  next(160n, 160n)
  const second = mergeTo(640)
  assert.equal(second?.segments.length, 8)
  assert.ok(second)
  publishSegment(database, second, build(second))
  assert.deepEqual(readable(), [
    [LEAST_ROW, 80n],
    [81n, 160n],
  ])
})

test('few small segments become one before a larger one', () => {
  for (const [sealed, last] of [
    [null, 10n],
    [10n, 20n],
    [20n, 80n],
  ] as const) {
    const claimed = claimNext(database, 'T', { sealed, last, now })
    assert.ok(claimed)
    publishSegment(database, claimed, build(claimed))
  }
  const claimed = merge()
  assert.ok(claimed)
  publishSegment(database, claimed, build(claimed))
  assert.deepEqual(readable(), [
    [LEAST_ROW, 20n],
    [21n, 80n],
  ])
  assert.equal(merge(), undefined)
})

test('a change of a small segment amid the merge leaves all as they are: only its own is written again', () => {
  publishSmall()
  for (const amid of ['before the file', 'after the file']) {
    const claimed = merge(now + 3600)
    assert.ok(claimed, amid)
    if (amid === 'before the file') change('UPDATE t SET v = 0 WHERE rowid = 35')
    const built = build(claimed)
    if (amid === 'after the file') change('DELETE FROM t WHERE rowid = 75')
    assert.equal(publishSegment(database, claimed, built), false, amid)
    assert.equal(readable().length, 7, amid)
    assert.equal(merge(now + 3600), undefined, 'too few are ready')
    const again = due(now + 3600)
    assert.ok(again)
    assert.equal(publishSegment(database, again, build(again)), true)
    database.exec('UPDATE _gh_column_segments SET tries = 0')
  }
  const last = merge()
  assert.ok(last)
  const built = build(last)
  assert.equal(built.rows, 79)
  assert.equal(publishSegment(database, last, built), true)
})

test('a file of a small segment that is gone amid the merge does not matter: its rows have not changed', () => {
  publishSmall()
  const claimed = merge()
  assert.ok(claimed)
  database.exec('UPDATE _gh_column_segments SET tag = NULL WHERE last = 30')
  assert.equal(due(now), undefined)
  assert.equal(publishSegment(database, claimed, build(claimed)), true)
  assert.deepEqual(readable(), [[LEAST_ROW, 80n]])
})

test('segments whose rows were deleted become one', () => {
  publishSmall()
  change('DELETE FROM t WHERE rowid <= 60')
  assert.equal(merge(), undefined, 'marked ones are not merged')
  for (let n = 0; n < 6; n++) {
    const claimed = due(now + MINUTE)
    assert.ok(claimed)
    publishSegment(database, claimed, build(claimed))
  }
  assert.equal(merge(), undefined, 'nor those that were marked soon after they were written')
  database.exec('UPDATE _gh_column_segments SET tries = 0')
  const claimed = merge()
  assert.ok(claimed)
  assert.equal(publishSegment(database, claimed, build(claimed)), true)
  assert.deepEqual(readable(), [
    [LEAST_ROW, 60n],
    [61n, 70n],
    [71n, 80n],
  ])
})

test('VACUUM may number rows anew: then no segment is read, and all begin anew', () => {
  const claimed = claim()
  const late = build(claimed)
  publishSegment(database, claimed, late)
  database.exec('DELETE FROM t WHERE rowid > 90')
  assert.equal(readable().length, 1)
  database.exec('VACUUM')
  assert.deepEqual(readable(), [])
  prepareCatalogue(database)
  assert.ok(claimNext(database, 'T', { sealed: null, last: 60n, now }))
})

test('an alteration of columns, a drop and columns = off forget all segments', () => {
  const count = () => database.prepare('SELECT count(*) FROM _gh_column_segments').pluck().get()
  const claimed = claim()
  const built = build(claimed)
  publishSegment(database, claimed, built)
  const table = { ...TABLE, id: 1, columns: TABLE.columns.slice(0, 1) }
  const step = { kind: 'drop-column', column: 'w' } as const
  applyChanges(database, [{ change: { kind: 'alter', name: 'T', from: { ...TABLE, id: 1 }, table, step }, fill: null }])
  assert.equal(count(), 0)
  assert.equal(publishSegment(database, claimed, built), false)
  claim()
  applyChanges(database, [{ change: { kind: 'drop', name: 'T', isView: false }, fill: null }])
  assert.equal(count(), 0)
})
