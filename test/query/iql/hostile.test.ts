import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import { DEFAULT_LIMITS } from '../../../packages/iql/src/syntax/limits.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { marketCatalogue } from './market-catalogue.ts'
import { print } from './print.ts'
import { catchRefusal } from './refusals.ts'

const DEEP = 30_000
const times = (count: number, text: string) => text.repeat(count)

/** Each is refused with this code within milliseconds, without exhausting the stack. */
const HOSTILE: readonly (readonly [string, string, string])[] = [
  ['a megabyte of text', `SELECT '${times(1_000_000, 'x')}'`, 'IQL.TooLong'],
  ['a megabyte of name', `SELECT "${times(1_000_000, 'x')}"`, 'IQL.TooLong'],
  ['a megabyte of digits', `SELECT ${times(1_000_000, '9')}`, 'IQL.TooLong'],
  ['parentheses', `SELECT ${times(DEEP, '(')}1${times(DEEP, ')')}`, 'IQL.TooComplex'],
  ['parentheses that close', `SELECT ${times(24_000, '(')}1${times(24_000, ')')}`, 'IQL.TooComplex'],
  ['parentheses that close, in FROM', `SELECT 1 FROM ${times(24_000, '(')}t${times(24_000, ')')}`, 'IQL.TooComplex'],
  ['open parentheses', `SELECT ${times(DEEP, '(')}`, 'IQL.TooComplex'],
  ['parentheses in FROM', `SELECT 1 FROM ${times(DEEP, '(')}t${times(DEEP, ')')}`, 'IQL.TooComplex'],
  ['parentheses around a statement', `${times(DEEP, '(')}SELECT 1${times(DEEP, ')')}`, 'IQL.TooComplex'],
  ['signs', `SELECT ${times(DEEP, '- ')}1`, 'IQL.TooComplex'],
  ['NOT', `SELECT ${times(15_000, 'NOT ')}TRUE`, 'IQL.TooComplex'],
  ['sums', `SELECT 1${times(DEEP, '+1')}`, 'IQL.TooComplex'],
  ['conditions', `SELECT 1 FROM t WHERE a${times(10_000, ' OR a')}`, 'IQL.TooComplex'],
  ['IS NULL', `SELECT a${times(7_000, ' IS NULL')}`, 'IQL.TooComplex'],
  ['CASE', `SELECT ${times(10_000, 'CASE ')}`, 'IQL.TooComplex'],
  ['calls', `SELECT ${times(10_000, 'abs(')}1${times(10_000, ')')}`, 'IQL.TooComplex'],
  ['CAST', `SELECT ${times(8_000, 'CAST(')}`, 'IQL.TooComplex'],
  ['EXTRACT', `SELECT ${times(3_000, 'EXTRACT(day FROM ')}`, 'IQL.TooComplex'],
  ['sub-queries', `SELECT ${times(6_000, '(SELECT ')}1`, 'IQL.TooComplex'],
  ['EXISTS', `SELECT ${times(3_000, 'EXISTS (SELECT ')}1`, 'IQL.TooComplex'],
  ['IN', `SELECT ${times(8_000, '1 IN (')}1`, 'IQL.TooComplex'],
  ['derived tables', `SELECT 1${times(3_000, ' FROM (SELECT 1')}`, 'IQL.TooComplex'],
  ['WITH', `${times(3_000, 'WITH a AS (')}SELECT 1`, 'IQL.TooComplex'],
  ['windows', `SELECT ${times(2_000, 'sum(a) OVER (PARTITION BY ')}`, 'IQL.TooComplex'],
  ['FILTER', `SELECT ${times(2_000, 'sum(a) FILTER (WHERE ')}`, 'IQL.TooComplex'],
  ['chains within parentheses', `SELECT ${times(60, '(')}1${times(60, `${times(500, '+1')})`)}`, 'IQL.TooComplex'],
  ['UNION', `SELECT 1${times(4_000, ' UNION SELECT 1')}`, 'IQL.TooComplex'],
  ['joins', `SELECT 1 FROM t${times(4_000, ' CROSS JOIN t')}`, 'IQL.TooComplex'],
  ['comma joins', `SELECT 1 FROM t${times(4_000, ', t')}`, 'IQL.TooComplex'],
  ['items of IN', `SELECT 1 IN (1${times(10_000, ',1')})`, 'IQL.TooComplex'],
  ['tokens', `SELECT ${times(30_000, '1,')}`, 'IQL.TooComplex'],
  ['outputs', `SELECT 1${times(5000, ', 1')}`, 'IQL.TooComplex'],
  ['keys of GROUP BY', `SELECT 1 FROM t GROUP BY a${times(5000, ', a')}`, 'IQL.TooComplex'],
  ['keys of ORDER BY', `SELECT 1 FROM t ORDER BY a${times(5000, ', a')}`, 'IQL.TooComplex'],
  ['arguments', `SELECT concat(1${times(5000, ', 1')})`, 'IQL.TooComplex'],
  ['WITH queries', `WITH a AS (SELECT 1)${times(2000, ', a AS (SELECT 1)')} SELECT 1`, 'IQL.TooComplex'],
  ['an open comment', `SELECT 1 /*${times(60_000, '*')}`, 'IQL.Syntax'],
  ['quotes', `SELECT ${times(60_001, "'")}`, 'IQL.Syntax'],
  ['NUL bytes', times(60_000, '\0'), 'IQL.Syntax'],
  ['lone surrogates', `SELECT '${times(20_000, '\ud800')}'`, 'IQL.Syntax'],
  ['a long unknown word', times(60_000, 'x'), 'IQL.Syntax'],
]

for (const [what, statement, code] of HOSTILE) {
  test(`hostile: ${what}`, () => {
    const start = process.cpuUsage()
    const told = catchRefusal(() => parse(statement))
    assert.equal(told.code, code)
    assertQuick(start, 250)
  })
}

test('hostile: stars that double at each level, below a gap fill', () => {
  const from = `${times(40, '(SELECT *, * FROM ')}trades${times(40, ') AS x')}`
  const bucket = "time_bucket_gapfill('1 day', ts, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')"
  const statement = `SELECT ${bucket} AS b, (SELECT 1 FROM trades) AS n FROM ${from} GROUP BY b`
  const tree = parse(statement)
  const start = process.cpuUsage()
  assert.equal(catchRefusal(() => bind(tree, statement, marketCatalogue())).code, 'IQL.DuplicateColumn')
  assertQuick(start, 250)
})

const { nesting, height, conditions, joins, inItems, listItems, queries } = DEFAULT_LIMITS
const many = (count: number, item: (index: number) => string) => {
  return Array.from({ length: count }, (_, index) => item(index)).join(', ')
}

/** Statements at the limits: parsed, printed and bound within milliseconds, without exhausting the stack. */
const LARGEST: readonly (readonly [string, string])[] = [
  ['parentheses', `SELECT ${times(nesting, '(')}1${times(nesting, ')')}`],
  ['a sum', `SELECT qty${times(height, ' + qty')} AS x FROM trades`],
  ['sums within parentheses', `SELECT ${times(60, '(')}qty${times(60, `${times(5, ' + qty')})`)} AS x FROM trades`],
  ['a grouped sum', `SELECT qty${times(height, ' + qty')} AS x FROM trades GROUP BY qty + 1, qty`],
  ['a sum that is grouped by', `SELECT id${times(290, ' + id')} AS x FROM trades GROUP BY id${times(290, ' + id')}`],
  ['conditions', `SELECT id FROM trades WHERE qty = 1${times(conditions, ' OR qty = 1')}`],
  ['sub-queries', `SELECT ${times(60, '(SELECT qty + ')}1${times(60, ' FROM trades LIMIT 1)')} AS x`],
  [
    'grouped sub-queries, each as large as its key',
    `SELECT ${times(30, '(SELECT max(qty) + ')}1${times(30, ' FROM trades GROUP BY qty + 1) + 1')} AS x`,
  ],
  ['derived tables', `SELECT * FROM ${times(nesting, '(SELECT * FROM ')}trades${times(nesting, ') AS x')}`],
  ['CASE', `SELECT ${times(nesting, 'CASE WHEN TRUE THEN ')}1${times(nesting, ' END')} AS x`],
  ['joins', `SELECT t.id FROM trades t${Array.from({ length: joins }, (_, i) => ` CROSS JOIN trades t${i}`).join('')}`],
  ['items of IN', `SELECT id FROM trades WHERE qty IN (${many(inItems, String).replaceAll(', ', ',')})`],
  ['parameters', `SELECT id FROM trades WHERE qty IN (${many(7500, (i) => `:p${i}`)})`],
  [
    'columns',
    `SELECT ${many(listItems, (i) => `c${i}`)} FROM (SELECT ${many(listItems, (i) => `${i} AS c${i}`)}) AS x`,
  ],
  ['orders', `SELECT ${many(1300, (i) => `qty + ${i} c${i}`)} FROM trades ORDER BY ${many(1300, (i) => `qty - ${i}`)}`],
  [
    'orders by name',
    `SELECT ${many(1800, (i) => `qty + ${i} c${i}`)} FROM trades ORDER BY ${many(1800, (i) => `c${i}`)}`,
  ],
  ['groups', `SELECT ${many(1300, (i) => `qty + ${i} c${i}`)} FROM trades GROUP BY ${many(1300, (i) => `qty + ${i}`)}`],
  ['named queries', `WITH ${many(queries - 1, (i) => `q${i} AS (SELECT 1 AS x)`)} SELECT x FROM q9`],
  ['arguments', `SELECT greatest(${many(listItems, String)}) AS x`],
  ['definitions', `CREATE TABLE wide (${many(2500, (i) => `c${i} Integer UNIQUE`)})`],
  ['outputs', `SELECT ${many(listItems, (i) => `qty + ${i} AS c${i}`)} FROM trades`],
]

for (const [what, statement] of LARGEST) {
  test(`within the limits: ${what}`, () => {
    const start = process.cpuUsage()
    const tree = parse(statement)
    assert.ok(print(tree).length > 0)
    bind(tree, statement, marketCatalogue())
    assertQuick(start, 1000)
  })
}

/** CPU time instead of wall-clock time, so that a busy machine does not fail the test. */
function assertQuick(start: NodeJS.CpuUsage, most: number): void {
  const { user, system } = process.cpuUsage(start)
  const elapsed = (user + system) / 1000
  assert.ok(elapsed < most, `${elapsed} ms`)
}
