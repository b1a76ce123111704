import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FOREIGN_SYNTAX } from '../../../packages/iql/src/syntax/foreign-syntax.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { refusalOf } from './refusals.ts'

/** The caret marks the position of the error in the statement above it; then what IQL does not have, and a part of the hint. */
const REFUSED: readonly (readonly [statement: string, caret: string, name: string, hint: RegExp])[] = [
  ['EXPLAIN (ANALYZE, BUFFERS) SELECT 1', '        ^', 'EXPLAIN with options', /^write EXPLAIN ANALYZE SELECT/],
  ['SELECT a FROM t ORDER BY ALL', '                         ^', 'ORDER BY ALL', /ORDER BY 1, 2/],
  ['SELECT avg(a) FROM t SAMPLE BY 5m', '                     ^', 'SAMPLE BY', /time_bucket\('5 minutes'/],
  ['SELECT avg(a) FROM t WHERE b SAMPLE BY 1 h', '                             ^', 'SAMPLE BY', /time_bucket/],
  ['SELECT a FROM t GROUP BY a WITH ROLLUP', '                           ^', 'ROLLUP', /UNION ALL/],
  ['SELECT a FROM t GROUP BY a WITH CUBE', '                           ^', 'CUBE', /UNION ALL/],
  ['SELECT a FROM t GROUP BY GROUPING SETS ((a), ())', '                         ^', 'GROUPING SETS', /UNION ALL/],
  ["SELECT * FROM t PIVOT (sum(a) FOR b IN ('c'))", '                ^', 'PIVOT', /FILTER \(WHERE/],
  ['PIVOT t ON a USING sum(b)', '^', 'PIVOT', /FILTER \(WHERE/],
  ['SELECT * FROM t UNPIVOT (a FOR b IN (c))', '                ^', 'UNPIVOT', /UNION ALL/],
  [
    'SELECT a FROM t ORDER BY b LIMIT 3 BY a',
    '                                   ^',
    'LIMIT … BY',
    /QUALIFY row_number/,
  ],
  ['SELECT * FROM t, LATERAL (SELECT 1) AS x', '                 ^', 'LATERAL', /ASOF JOIN/],
  ['SELECT * FROM t JOIN LATERAL (SELECT 1) AS x ON TRUE', '                     ^', 'LATERAL', /ASOF JOIN/],
  ['SELECT * FROM t, LATERAL generate_series(1, 2)', '                 ^', 'LATERAL', /ASOF JOIN/],
  ['SELECT * FROM t CROSS APPLY (SELECT 1) AS x', '                      ^', 'APPLY', /ASOF JOIN/],
  ['SELECT * FROM t OUTER APPLY (SELECT 1) AS x', '                ^', 'APPLY', /ASOF JOIN/],
  ['VALUES (1, 2)', '^', 'VALUES outside INSERT', /^write SELECT 1 AS a/],
  ['SELECT * FROM (VALUES (1)) AS v', '               ^', 'VALUES outside INSERT', /^write SELECT 1 AS a/],
  ['ALTER TABLE t ADD a Integer CHECK (a > 0)', '                            ^', 'CHECK in ADD COLUMN', /ADD CHECK/],
  ['CREATE TABLE t (a Integer REFERENCES u (b))', '                          ^', 'REFERENCES', /join them/],
  ['CREATE TABLE t (a Integer, FOREIGN KEY (a) REFERENCES u)', '                           ^', 'FOREIGN KEY', /join/],
  ['SELECT a FROM t NATURAL JOIN u', '                ^', 'NATURAL JOIN', /USING \(column\)/],
  ['SELECT a FROM t MINUS SELECT a FROM u', '                ^', 'MINUS', /EXCEPT/],
  ['SELECT TOP 3 a FROM t', '       ^', 'TOP', /LIMIT 3/],
  ['SELECT a FROM t LIMIT 20, 10', '                        ^', 'LIMIT with a comma', /LIMIT 10 OFFSET 20/],
  ['SELECT now() - INTERVAL 5 MINUTE', '               ^', 'INTERVAL without quotes', /INTERVAL '5 minutes'/],
  ['TRUNCATE t', '^', 'TRUNCATE', /DELETE FROM t ALL/],
  ['MERGE INTO t USING u ON a = b', '^', 'MERGE', /ON CONFLICT/],
  ['EXPLAIN (FORMAT JSON) SELECT 1', '        ^', 'EXPLAIN with options', /^write EXPLAIN ANALYZE SELECT/],
  ['CREATE INDEX ON t (a)', '             ^', 'INDEX without a name', /CREATE INDEX name ON/],
  [
    'CREATE UNIQUE INDEX IF NOT EXISTS ON t (a)',
    '                                  ^',
    'INDEX without a name',
    /CREATE INDEX name ON/,
  ],
  ['CREATE TEMP TABLE t (a Integer)', '       ^', 'TEMP TABLE', /WITH name AS/],
  ['SELECT * EXCLUDE (a) FROM t', '         ^', '* EXCLUDE', /name the columns/],
  ['SELECT * EXCEPT (a) FROM t', '         ^', '* EXCLUDE', /name the columns/],
  ['SELECT * FROM t TABLESAMPLE BERNOULLI (10)', '                ^', 'TABLESAMPLE', /id % 100 = 0/],
  ['SELECT * FROM t WHERE a = 1 FOR UPDATE', '                            ^', 'FOR UPDATE', /^omit it/],
  ['SELECT * FROM t FOR SHARE', '                ^', 'FOR UPDATE', /^omit it/],
  ['ANALYZE t', '^', 'ANALYZE', /EXPLAIN ANALYZE/],
  ['VACUUM', '^', 'ANALYZE', /^omit it/],
  ['GRANT SELECT ON t TO bob', '^', 'GRANT', /READ SCOPE/],
]

for (const [statement, caret, name, hint] of REFUSED) {
  test(`${statement}: says what to write instead`, () => {
    const told = refusalOf(() => parse(statement))
    assert.equal(told.code, 'IQL.Syntax')
    assert.equal(told.message, `IQL has no ${name}`)
    assert.equal(told.offset, caret.indexOf('^'))
    assert.match(told.hint ?? '', hint)
  })
}

test('every foreign syntax is refused above', () => {
  const refused = new Set(REFUSED.map(([, , name]) => name))
  assert.deepEqual(
    FOREIGN_SYNTAX.map(({ name }) => name).filter((name) => !refused.has(name)),
    [],
  )
})

/** None of these words is reserved. */
const ALLOWED = [
  'SELECT top, pivot, qualify, window, "check" FROM lateral sample WHERE merge = minus ORDER BY fetch',
  'SELECT a FROM t AS pivot JOIN u AS qualify ON pivot.b = qualify.b',
  'CREATE TABLE check (check Integer, references Text, foreign Integer)',
  'SELECT interval FROM t',
  'SELECT a qualify FROM t fetch WHERE fetch.b = 1',
  'SELECT a FROM t qualify JOIN u ON qualify.b = u.b ORDER BY a',
]

for (const statement of ALLOWED) test(`${statement}: can be parsed`, () => assert.ok(parse(statement)))

test('a foreign word that is a name does not hide another error', () => {
  const told = refusalOf(() => parse('SELECT pivot FROM t WHERE a = = 1'))
  assert.match(told.message, /^Unexpected =/)
})
