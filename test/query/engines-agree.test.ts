/** Random well-typed statements on SQLite and on PostgreSQL, for a few seconds; `node fuzz/engines.ts` and `node fuzz/writes.ts` run longer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { describeDifference, fuzzEngines } from '../../fuzz/engines.ts'
import { fuzzWrites } from '../../fuzz/writes.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { makeRows, VIEWS } from './agree/data.ts'
import { type BothEngines, compare, openBothEngines } from './agree/engines.ts'
import { Expressions } from './agree/expressions.ts'
import { CAST_USES, FUNCTION_USES, OPERATOR_USES } from './agree/kinds.ts'
import { openNative, withoutScales } from './agree/native.ts'
import { withParameters } from './agree/parameters.ts'
import { plainStatement } from './agree/plain.ts'
import { Queries } from './agree/queries.ts'
import { isTotal } from './agree/total.ts'
import { print } from './iql/print.ts'

const SEED = 20_260_131
const SHORT_MS = IS_LONG_RUN ? 2_000 : 700

let engines: BothEngines
before(async () => {
  engines = await openBothEngines()
})
after(() => engines.close())

test('the generator reaches every function, operator and cast', () => {
  const expressions = new Expressions(new Choice(SEED), false)
  const queries = new Queries(expressions)
  for (let made = 0; made < 1800; made++) print(queries.statement())
  const wanted = [
    ...OPERATOR_USES.map(({ id }) => id),
    ...CAST_USES.map(({ from, to }) => `cast ${from} to ${to}`),
    ...FUNCTION_USES.map(({ definition }) => (definition.kind === 'window' ? `${definition.id} over` : definition.id)),
    ...['inner', 'left', 'right', 'full', 'cross', 'asof', 'asof-left'].map((join) => `join ${join}`),
    ...[...VIEWS.keys()].map((view) => `view ${view}`),
    ...[
      'latest',
      'distinct on',
      'qualify',
      'series',
      'series of times',
      'union',
      'union all',
      'intersect',
      'intersect all',
      'except',
      'except all',
      'exists',
      'in query',
      'scalar query',
    ],
  ]
  assert.deepEqual(
    [...new Set(wanted)].filter((id) => !expressions.used.has(id)),
    [],
  )
})

test('both engines return the same rows and the same errors, to the byte', async () => {
  const report = await fuzzEngines(engines, 2000, SEED, { until: Date.now() + SHORT_MS })
  assert.deepEqual(report.differences.map(describeDifference), [])
  assert.ok((report.outcomes.rows ?? 0) > report.statements / 2, JSON.stringify(report.outcomes))
})

test('both engines treat hostile parameters alike', async () => {
  const end = Date.now() + SHORT_MS
  const outcomes = { rows: 0, refused: 0 }
  for (let seed = SEED; Date.now() < end; seed++) {
    const choice = new Choice(seed)
    await engines.load(makeRows(choice, 14, true), makeRows(choice, 9, true))
    const queries = new Queries(new Expressions(choice, true))
    for (let asked = 0; asked < 60; asked++) {
      const { statement, parameters } = withParameters(queries.statement(), choice)
      const answers = await engines.ask(print(statement), parameters)
      const shown = `seed ${seed}: ${print(statement)}\n${JSON.stringify(parameters)}\n${JSON.stringify(answers)}`
      assert.notEqual(compare(answers, isTotal(statement)), 'different', shown)
      assert.ok(![answers.sqlite.code, answers.postgres.code].includes('server.fault'), shown)
      outcomes[answers.sqlite.code === undefined ? 'rows' : 'refused']++
    }
  }
  assert.ok(outcomes.rows > 0 && outcomes.refused > 0, JSON.stringify(outcomes))
})

test('random writes and definitions leave both engines with the same table, to the byte', async () => {
  const report = await fuzzWrites(engines, 2000, SEED, { until: Date.now() + SHORT_MS })
  assert.deepEqual(report.differences, [])
  const taken = Object.entries(report.outcomes).flatMap(([kind, times]) => (kind.endsWith(': taken') ? [times] : []))
  assert.ok(taken.reduce((sum, times) => sum + times, 0) > report.steps / 3, JSON.stringify(report.outcomes))
})

test('a table that was dropped and created again with other columns is read and written as it is now', async () => {
  for (const [type, value] of [
    ['Integer', 1],
    ['Text', '"a"'],
    ['Boolean', true],
  ] as const) {
    for (const statement of [
      'DROP TABLE IF EXISTS w',
      `CREATE TABLE w (id Integer PRIMARY KEY, v ${type})`,
      `INSERT INTO w (id, v) VALUES (1, ${String(value).replaceAll('"', "'")}) RETURNING v`,
    ]) {
      const { sqlite, postgres } = await engines.write(statement)
      assert.deepEqual([sqlite.code, postgres.code], [undefined, undefined], statement)
    }
    // As many as there are connections: each has prepared the earlier statement.
    const answers = await Promise.all(Array.from({ length: 6 }, () => engines.ask('SELECT v FROM w')))
    for (const { sqlite, postgres } of answers)
      assert.deepEqual([sqlite.rows, postgres.rows], [[`[${value}]`], [`[${value}]`]], type)
  }
})

/** Found by longer runs: each of these differed, or failed on one engine. */
const FOUND: readonly string[] = [
  'SELECT right(t, CAST(NULL AS Integer)) AS r, left(t, CAST(NULL AS Integer)) AS l FROM a',
  'SELECT coalesce(12345678901234567890123456789012345678, s) AS c FROM a',
  'SELECT id FROM a WHERE d NOT IN (12345678901234567890123456789012345678)',
  'SELECT t LIKE CAST(g AS Text) AS c FROM a',
  "SELECT '-7' LIKE u AS c FROM a",
  'SELECT (SELECT max(b.i) AS m FROM b) AS c FROM a',
  'SELECT (SELECT b.i FROM b) AS c FROM a',
  "SELECT TIMESTAMP '2026-01-30' - INTERVAL '1 month 3 days' * 2147483648 AS c",
  "SELECT at + INTERVAL '1 month' AS c FROM a",
  'SELECT nullif(s, least(s, w)) AS c FROM a',
  'SELECT sum(i) AS i, avg(i) AS mean, sum(w) AS w, avg(f) AS f, sum(d) FILTER (WHERE ok) AS d FROM a',
  'SELECT id, sum(i) OVER (ORDER BY id ROWS 2 PRECEDING) AS i, avg(s) OVER (PARTITION BY k) AS s FROM a',
  'SELECT x.id AS p, y.id AS q FROM a AS x JOIN b AS y ON x.s = y.f',
  "SELECT string_agg('x', u ORDER BY -i DESC) AS c FROM b",
  'SELECT string_agg(u, right(u, k)) AS c FROM a GROUP BY ts',
  "SELECT replace(lower(t), rpad(t, 0, 'a%'), u) AS c FROM a",
  'SELECT CAST(1e0 - y AS Integer) AS c FROM b',
  'SELECT vwap(i, f) AS c, vwap(k, CAST(0.5 AS Decimal(38, 38))) AS m FROM a',
]

test('statements that once differed agree', async () => {
  for (const isTame of [true, false]) {
    const choice = new Choice(SEED)
    await engines.load(makeRows(choice, 14, isTame), makeRows(choice, 9, isTame))
    for (const statement of FOUND) {
      const answers = await engines.ask(statement)
      assert.equal(compare(answers, true), 'same', `${statement}\n${JSON.stringify(answers)}`)
      assert.notEqual(answers.sqlite.code, 'server.fault', statement)
    }
  }
})

test('where IQL is the same as SQL, both agree with plain PostgreSQL on the same text', async () => {
  const native = await openNative()
  try {
    const end = Date.now() + SHORT_MS / 2
    for (let seed = SEED; Date.now() < end; seed++) {
      const choice = new Choice(seed)
      const [a, b] = [makeRows(choice, 14, true), makeRows(choice, 9, true)]
      await engines.load(a, b)
      await native.load(a, b)
      for (let asked = 0; asked < 40; asked++) {
        const statement = plainStatement(choice)
        const expected = await native.ask(statement)
        for (const [engine, { code, rows }] of Object.entries(await engines.ask(statement.text))) {
          const given = code ?? rows.map((row: string) => withoutScales(row, statement.kinds))
          assert.deepEqual(given, expected, `${engine}, seed ${seed}: ${statement.text}`)
        }
      }
    }
  } finally {
    await native.close()
  }
})
