/** Statements over column segments: which are read from them, and what happens where that is not possible. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { DOUBLE, INTEGER, TEXT } from 'gatehouse-iql'
import { ColumnExecutor } from '../../../packages/server/src/query/columns/executor.ts'
import type { ColumnPlan } from '../../../packages/server/src/query/columns/plan.ts'
import { Segment, writeSegment } from '../../../packages/server/src/query/columns/segment.ts'
import { findRun, forgetRuns, referTo } from '../../../packages/server/src/query/columns/states/run-references.ts'
import { HeldBytes } from '../../../packages/server/src/query/columns/states/state.ts'
import { readRun, valueInRun, writeRun } from '../../../packages/server/src/query/columns/states/value-run.ts'
import { segmentPath } from '../../../packages/server/src/query/engines/sqlite/columns/segment-files.ts'
import { Choice } from '../agree/choice.ts'
import { makeRows } from './random-statements.ts'
import { type Row, SegmentedTable } from './segmented-table.ts'

/** Each has rows, and some with NULLs. */
const COVERED: readonly string[] = [
  'SELECT count(*) AS n, count(i) AS c FROM rows',
  'SELECT k, count(*) AS n, sum(i) AS s, avg(i) AS a, min(i) AS l, max(i) AS h FROM rows GROUP BY k',
  'SELECT k, sum(d) AS s, avg(p) AS a, min(k) AS l, max(t) AS h FROM rows GROUP BY k',
  'SELECT k, sum(y) AS s, avg(y) AS a, min(y) AS l, max(x) AS h FROM rows GROUP BY k',
  'SELECT t, first(p, ts) AS o, max(p) AS h, min(p) AS l, last(p, ts) AS c, last(k, ts) AS k FROM rows GROUP BY t',
  'SELECT bool_and(ok) AS a, bool_or(ok) AS b, count(*) FILTER (WHERE ok) AS n FROM rows',
  'SELECT k, vwap(p, n) AS v, sum(p * n) AS s FROM rows GROUP BY k',
  'SELECT k, variance(p) AS v, stddev(d) AS s, var_pop(i) AS w, stddev_pop(y) AS q FROM rows GROUP BY k',
  'SELECT k, count(DISTINCT p) AS n, count(DISTINCT t) AS m, count(DISTINCT y) AS o FROM rows GROUP BY k',
  'SELECT k, median(p) AS m, percentile_cont(0.9, i) AS p, percentile_disc(0.25, y) AS q, median(y) AS r FROM rows GROUP BY k',
  'SELECT upper(k) AS u, length(t) AS l, count(*) AS n FROM rows GROUP BY upper(k), length(t)',
  "SELECT time_bucket(INTERVAL '1 hour', ts) AS b, k, count(*) AS n FROM rows GROUP BY time_bucket(INTERVAL '1 hour', ts), k",
  "SELECT date_trunc('day', ts) AS b, sum(p) AS s FROM rows GROUP BY date_trunc('day', ts)",
  "SELECT date_trunc('month', ts) AS b, sum(p) AS s FROM rows GROUP BY date_trunc('month', ts)",
  "SELECT date_trunc('day', ts, 'America/Sao_Paulo') AS b, count(*) AS n FROM rows GROUP BY date_trunc('day', ts, 'America/Sao_Paulo')",
  "SELECT time_bucket(INTERVAL '2 months', ts) AS b, count(*) AS n FROM rows GROUP BY time_bucket(INTERVAL '2 months', ts)",
  "SELECT time_bucket(INTERVAL '7 days', dt) AS b, count(*) AS n FROM rows GROUP BY time_bucket(INTERVAL '7 days', dt)",
  "SELECT time_bucket(INTERVAL '3 months', ts, 'Asia/Tokyo') AS b, count(*) AS n FROM rows GROUP BY time_bucket(INTERVAL '3 months', ts, 'Asia/Tokyo')",
  "SELECT date_trunc('year', dt) AS b, ok, tm, dt, sum(p) AS s FROM rows GROUP BY date_trunc('year', dt), ok, tm, dt",
  "SELECT k, count(*) AS n FROM rows WHERE p >= 1.25 AND i <> 5 AND k LIKE '%b%' AND ts > '2026-01-01' GROUP BY k",
  'SELECT k, count(*) AS n FROM rows WHERE n IN (1, 2) AND p NOT IN (1.25, 2) AND i IS DISTINCT FROM 5 AND i < 1e5 GROUP BY k',
  'SELECT ok, count(*) AS n FROM rows WHERE NOT ok AND p BETWEEN -2 AND 100.5 AND x IS NOT NULL GROUP BY ok',
  'SELECT k, count(*) AS n FROM rows GROUP BY k HAVING count(*) > 3 ORDER BY n DESC, k LIMIT 3',
  'SELECT count(*) AS n, max(k) AS h FROM rows WHERE p > 1000000',
]

/** Each has a part that only the statement itself computes. */
const NOT_COVERED: readonly string[] = [
  'SELECT i + 1 AS j, count(*) AS n FROM rows GROUP BY i + 1',
  'SELECT k, count(*) AS n FROM rows WHERE n % 2 = 0 GROUP BY k',
  'SELECT k, sum(i + 1) AS s FROM rows GROUP BY k',
]

function range(rows: readonly Row[], from: number, to: number): { first: bigint; last: bigint } {
  return { first: rows[from]?.id as bigint, last: rows[to]?.id as bigint }
}

describe('column segments', () => {
  let rows: Row[]
  let table: SegmentedTable
  before(() => {
    rows = makeRows(new Choice(20), 400, true)
    table = new SegmentedTable(rows)
    table.build([range(rows, 0, 99), range(rows, 100, 250), range(rows, 251, 399)])
  })
  after(() => table.close())

  const emptied = (): SegmentedTable => {
    const emptied = new SegmentedTable(rows)
    emptied.build([range(rows, 0, 99), range(rows, 100, 250), range(rows, 251, 399)])
    emptied.database.exec('DELETE FROM rows WHERE id NOT IN (SELECT min(id) FROM rows UNION SELECT max(id) FROM rows)')
    return emptied
  }

  test('these statements are read from segments alone: rows that are gone are in their answers', () => {
    const gone = emptied()
    try {
      for (const statement of COVERED) {
        const usual = table.usual(statement)
        const { rows, error, isOfParts } = gone.parts(statement)
        assert.deepEqual({ rows, error, isOfParts }, { rows: usual.rows, error: undefined, isOfParts: true }, statement)
        assert.ok((rows ?? []).length > 0, statement)
      }
    } finally {
      gone.close()
    }
  })

  test('these are not, and have the answers of the rows', () => {
    for (const statement of NOT_COVERED) {
      const { rows, opened } = table.parts(statement)
      assert.deepEqual(
        { rows, opened },
        { rows: table.usual(statement).rows, opened: opened === undefined ? undefined : 0 },
        statement,
      )
    }
  })

  test('errors are those of the usual plan', () => {
    for (const statement of [
      'SELECT k, 10 / (count(*) - count(*)) AS q FROM rows GROUP BY k',
      'SELECT k, count(*) AS n FROM rows GROUP BY k HAVING 1 / (count(*) - count(*)) > 0',
      'SELECT count(*) AS n FROM rows WHERE i > 1 / 0',
    ]) {
      const { error } = table.parts(statement)
      assert.ok(error !== undefined, statement)
      assert.equal(error, table.usual(statement).error, statement)
    }
  })

  test('a width that is refused is an error, but not for a table without rows that fit', () => {
    const statement = (condition: string): string =>
      `SELECT time_bucket(:width, ts) AS b, count(*) AS n FROM rows WHERE ${condition} GROUP BY time_bucket(:width, ts)`
    for (const width of ['0 seconds', '-1 hours', '2 hours']) {
      const [all, none] = [statement('p IS NOT NULL'), statement('p > 1000000')]
      assert.deepEqual(table.parts(none, () => true, { width }).rows, [])
      const { rows, error } = table.parts(all, () => true, { width })
      assert.deepEqual({ rows, error }, { error: undefined, ...table.usual(all, { width }) })
      assert.equal(error === undefined, width === '2 hours')
    }
  })

  test('a time whose bucket begins before the first one is an error', () => {
    const early = new SegmentedTable([{ ...(rows[0] as Row), id: 1n, ts: -62_135_596_800_000_000n }])
    try {
      early.build([{ first: 1n, last: 1n }])
      for (const unit of ["time_bucket(INTERVAL '1000 days', ts)", "date_trunc('week', ts)"]) {
        const statement = `SELECT ${unit} AS b, count(*) AS n FROM rows GROUP BY ${unit}`
        assert.equal(early.parts(statement).error, early.usual(statement).error)
      }
    } finally {
      early.close()
    }
  })

  test('parameters, claims and row filters have their values in segments', () => {
    const gone = emptied()
    try {
      const given = { low: '0.5', name: 'b' }
      for (const statement of [
        'SELECT k, count(*) AS n FROM rows WHERE p > :low AND k <> :name GROUP BY k',
        'SELECT k, count(*) AS n, sum(p) AS s FROM filtered WHERE p > :low AND k <> :name GROUP BY k',
      ]) {
        const { rows, isOfParts } = gone.parts(statement, () => true, given)
        assert.deepEqual({ rows, isOfParts }, { rows: table.usual(statement, given).rows, isOfParts: true })
        assert.ok((rows ?? []).length > 0)
      }
    } finally {
      gone.close()
    }
  })

  test('a file that is missing, cut or changed in any block is the same as none', () => {
    const statement = 'SELECT k, count(*) AS n, sum(p) AS s, max(t) AS h FROM rows WHERE i IS NOT NULL GROUP BY k'
    const { rows: expected } = table.usual(statement)
    for (const damage of ['missing', 'cut', 'changed'] as const) {
      const damaged = new SegmentedTable(rows)
      try {
        damaged.build([range(rows, 0, 99), range(rows, 100, 399)])
        const path = segmentPath(damaged.path, damaged.tags[1] ?? '')
        const bytes = readFileSync(path)
        if (damage === 'missing') rmSync(path)
        else if (damage === 'cut') writeFileSync(path, bytes.subarray(0, bytes.length - 900))
        else writeFileSync(path, bytes.fill(0x55, bytes.length - 1500))
        const { rows: read, isOfParts } = damaged.parts(statement)
        assert.deepEqual({ read, isOfParts }, { read: expected, isOfParts: true }, damage)
      } finally {
        damaged.close()
      }
    }
  })

  test('groups come in the order of the rows: that of an index has them in another one', () => {
    table.database.exec('CREATE INDEX falling ON rows (n DESC); CREATE INDEX swapped ON rows (k, n)')
    try {
      for (const statement of [
        'SELECT n, count(*) AS c FROM rows GROUP BY n',
        'SELECT n, k, count(*) AS c FROM rows GROUP BY n, k',
        'SELECT k, count(*) AS c FROM rows GROUP BY k',
        'SELECT min(n) AS l FROM rows',
      ])
        assert.deepEqual(table.parts(statement).rows, table.usual(statement).rows, statement)
    } finally {
      table.database.exec('DROP INDEX falling; DROP INDEX swapped')
    }
  })
})

test('groups, texts and values that take more memory than allowed are an error, with which a statement is read from rows', () => {
  const rows = Array.from({ length: 2000 }, (_, n) => [BigInt(n), `text ${n}`, BigInt(n) ** 3n])
  const columns = [
    { name: 'i', type: INTEGER },
    { name: 't', type: TEXT },
    { name: 'w', type: INTEGER },
  ]
  const file = writeSegment('tag', columns, rows)
  const segment = new Segment((offset, bytes) => file.subarray(offset, offset + bytes))
  const plans: readonly Pick<ColumnPlan, 'keys' | 'states'>[] = [
    { keys: [{ kind: 'column', column: 0 }], states: [{ kind: 'rows', filters: [] }] },
    { keys: [{ kind: 'column', column: 1 }], states: [] },
    { keys: [], states: [{ kind: 'values', column: 0, filters: [] }] },
    { keys: [], states: [{ kind: 'values', column: 1, filters: [] }] },
    { keys: [], states: [{ kind: 'values', column: 2, filters: [] }] },
  ]
  for (const { keys, states } of plans) {
    const plan: ColumnPlan = { columns: ['i', 't', 'w'], filters: [], keys, states, parts: [] }
    const executor = (bytes: number): ColumnExecutor => new ColumnExecutor(plan, () => null, new HeldBytes(bytes))
    assert.throws(() => executor(10_000).add(segment), /Too much/)
    assert.ok(executor(1_000_000).add(segment))
  }
})

test('numbers of each group are counted, in a table while their range is small, and those that follow outside it', () => {
  const choice = new Choice(9)
  const columns = [
    { name: 'k', type: INTEGER },
    { name: 'v', type: INTEGER },
    { name: 'd', type: DOUBLE },
  ]
  // Ranges and units change from one to the next; the fourth one has no place in a table.
  const scales = [1000, 500, 7, 10 ** 12, 1000].map((unit, n) => ({ least: n * 3500, unit }))
  const states = [1, 2].map((column) => ({ kind: 'values', column, filters: [] }) as const)
  const plan: ColumnPlan = {
    columns: ['k', 'v', 'd'],
    filters: [],
    keys: [{ kind: 'column', column: 0 }],
    states,
    parts: [
      { state: 0, value: 0 },
      { state: 1, value: 0 },
    ],
  }
  const executor = new ColumnExecutor(plan, () => null, new HeldBytes(100_000_000))
  const expected = new Map<bigint, Map<number, number>[]>()
  for (const { least, unit } of scales) {
    const rows = Array.from({ length: 500 }, () => {
      const [k, v] = [BigInt(choice.below(4)), choice.oneIn(9) ? null : least + unit * choice.below(50)]
      const d = choice.oneIn(9) ? null : choice.below(40) / (unit === 7 ? 8 : unit === 500 ? 3 : 4)
      const counts = expected.get(k) ?? [new Map(), new Map()]
      expected.set(k, counts)
      ;[v, d].forEach((value, at) => {
        if (value !== null) counts[at]?.set(value, (counts[at]?.get(value) ?? 0) + 1)
      })
      return [k, v === null ? null : BigInt(v), d]
    })
    const file = writeSegment('tag', columns, rows)
    assert.ok(executor.add(new Segment((offset, bytes) => file.subarray(offset, offset + bytes))))
  }
  let groups = 0
  for (const [k, ...runs] of executor.rows()) {
    runs.forEach((run, at) => {
      const { values, counts } = readRun(run as Uint8Array)
      const read = Array.from(values, (value, index): [number, number] => [value, counts?.[index] ?? 1])
      const sorted = [...(expected.get(k as bigint)?.[at] ?? [])].sort(([one], [other]) => one - other)
      assert.deepEqual(read, sorted, `group ${k}, ${at}`)
    })
    groups++
  }
  assert.equal(groups, expected.size)
})

test('a reference to different values is of one statement', () => {
  const run = { cells: Int32Array.of(2, 0, 3), least: 10, unit: 5, digits: 1, rows: 5 }
  const reference = referTo(run)
  assert.equal(findRun(reference), run)
  assert.deepEqual(
    [0, 1, 2, 4].map((index) => valueInRun(run, index)),
    [1, 1, 2, 2],
  )
  assert.deepEqual(findRun(writeRun(run)), { values: Float64Array.of(1, 2), counts: Float64Array.of(2, 3), rows: 5 })
  forgetRuns()
  assert.throws(() => findRun(reference), /no values/)
})

test('groups that take half of the memory are put aside, and the next segments begin anew', () => {
  const rows = makeRows(new Choice(5), 400, true)
  const table = new SegmentedTable(rows)
  try {
    table.build([range(rows, 0, 99), range(rows, 100, 199), range(rows, 200, 299), range(rows, 300, 399)])
    table.database.exec('DELETE FROM rows WHERE id NOT IN (SELECT min(id) FROM rows UNION SELECT max(id) FROM rows)')
    const statement = 'SELECT p, k, count(*) AS n, last(t, ts) AS l, avg(y) AS a FROM rows GROUP BY p, k'
    const whole = table.parts(statement)
    assert.ok((whole.rows ?? []).length > 100)
    assert.deepEqual(table.parts(statement, undefined, {}, { heldBytes: 60_000 }), whole)
    assert.equal(whole.isOfParts, true)
  } finally {
    table.close()
  }
})

test('a failure of the executor takes the usual plan, once', () => {
  const rows = makeRows(new Choice(3), 50, true)
  const table = new SegmentedTable(rows)
  try {
    const statement = 'SELECT k, count(*) AS n FROM rows GROUP BY k'
    const { rows: read, isOfParts } = table.parts(
      statement,
      undefined,
      {},
      {
        given: [{ ...range(rows, 0, 49), rows: 50, tag: 'tag', open: () => ({ header: undefined }) as never }],
      },
    )
    assert.deepEqual({ read, isOfParts }, { read: table.usual(statement).rows, isOfParts: false })
    assert.deepEqual(table.parts(statement).rows, read)
  } finally {
    table.close()
  }
})

test('sums of more than 64 bits are exact', () => {
  const rows = Array.from({ length: 3000 }, (_, n) => ({
    ...(makeRows(new Choice(1), 1, true)[0] as Row),
    id: BigInt(n),
    i: 2n ** 53n - BigInt(n % 7),
    d: 999_999_999_999n,
    p: 999_999_999n,
    n: BigInt(n % 3),
  }))
  const table = new SegmentedTable(rows)
  try {
    table.build([0n, 1000n, 2000n].map((first) => ({ first, last: first + 999n })))
    for (const statement of [
      'SELECT sum(i) AS s, avg(i) AS a, count(*) AS n, min(i) AS l FROM rows',
      'SELECT n, sum(i) AS s, sum(d) AS d, sum(p * d) AS q, vwap(d, i) AS v, variance(d) AS w FROM rows GROUP BY n',
      'SELECT n, sum(i * i) AS s FROM rows GROUP BY n',
    ]) {
      const { rows, error, isOfParts } = table.parts(statement)
      const usual = table.usual(statement)
      assert.deepEqual({ rows, error }, { rows: usual.rows, error: usual.error }, statement)
      assert.equal(isOfParts, usual.error === undefined && !statement.includes('p * d'), statement)
    }
  } finally {
    table.close()
  }
})
