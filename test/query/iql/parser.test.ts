import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caretPicture, locatePosition } from '../../../packages/iql/src/errors/refusal.ts'
import { parse, parseExpressionText } from '../../../packages/iql/src/syntax/parser.ts'
import { printExpression } from '../../../packages/iql/src/syntax/print-query.ts'
import { print } from './print.ts'
import { catchRefusal } from './refusals.ts'

/** A statement and its canonical form. */
const CANONICAL: readonly (readonly [string, string])[] = [
  ['select 1;', 'SELECT 1'],
  ['SELECT a b, c AS "From" FROM T', 'SELECT a AS b, c AS "From" FROM T'],
  ['select distinct t.*, * from t', 'SELECT DISTINCT t.*, * FROM t'],
  ['select all a from t', 'SELECT a FROM t'],
  [
    'select a from t where b = 1 group by a, c having count(*) > 1 order by a desc nulls last, 2 limit 5 offset 10',
    'SELECT a FROM t WHERE b = 1 GROUP BY a, c HAVING count(*) > 1 ORDER BY a DESC NULLS LAST, 2 LIMIT 5 OFFSET 10',
  ],
  ['select 1 offset 2 limit 1', 'SELECT 1 LIMIT 1 OFFSET 2'],
  [
    'select * from a join b on x left outer join c on y right join d on z full join e on w cross join f',
    'SELECT * FROM a INNER JOIN b ON x LEFT JOIN c ON y RIGHT JOIN d ON z FULL JOIN e ON w CROSS JOIN f',
  ],
  ['select * from a, b join c on x', 'SELECT * FROM a CROSS JOIN (b INNER JOIN c ON x)'],
  ['select * from (a join b on x) join c on y', 'SELECT * FROM a INNER JOIN b ON x INNER JOIN c ON y'],
  ['select * from ((select 1 as x) as a cross join b)', 'SELECT * FROM (SELECT 1 AS x) AS a CROSS JOIN b'],
  [
    'select * from trades t asof join quotes q on t.s = q.s and t.ts >= q.ts',
    'SELECT * FROM trades AS t ASOF JOIN quotes AS q ON t.s = q.s AND t.ts >= q.ts',
  ],
  ['select * from a asof left join b on a.t > b.t', 'SELECT * FROM a ASOF LEFT JOIN b ON a.t > b.t'],
  [
    'with x as (select 1 as a), y (b) as (select 2) select * from x, y',
    'WITH x AS (SELECT 1 AS a), y (b) AS (SELECT 2) SELECT * FROM x CROSS JOIN y',
  ],
  [
    'select 1 union select 2 intersect select 3 except all select 4',
    'SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT ALL SELECT 4',
  ],
  ['select 1 union (select 2 union select 3)', 'SELECT 1 UNION (SELECT 2 UNION SELECT 3)'],
  ['(select 1 union select 2) intersect select 3', '(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3'],
  ['((select 1))', 'SELECT 1'],
  [
    '(select a from t limit 1) union all select 2 order by 1',
    '(SELECT a FROM t LIMIT 1) UNION ALL SELECT 2 ORDER BY 1',
  ],
  ['(select 1 limit 1) limit 2', '(SELECT 1 LIMIT 1) LIMIT 2'],
  ['insert into t values (1, default), (:a, $2)', 'INSERT INTO t VALUES (1, DEFAULT), (:a, $2)'],
  [
    'insert into t (a, b) select a, b from u on conflict do nothing',
    'INSERT INTO t (a, b) SELECT a, b FROM u ON CONFLICT DO NOTHING',
  ],
  ['insert into t (select 1)', 'INSERT INTO t SELECT 1'],
  [
    'insert into t (a) values (1) on conflict (a, b) do update set b = excluded.b, c = default where t.c > 1 returning a, *',
    'INSERT INTO t (a) VALUES (1) ON CONFLICT (a, b) DO UPDATE SET b = excluded.b, c = DEFAULT WHERE t.c > 1 RETURNING a, *',
  ],
  ['update t x set a = a + 1 where id = 1 returning a', 'UPDATE t AS x SET a = a + 1 WHERE id = 1 RETURNING a'],
  ['update t set a = 1 all', 'UPDATE t SET a = 1 ALL'],
  ['delete from t all', 'DELETE FROM t ALL'],
  ['delete from t where a in (select b from u)', 'DELETE FROM t WHERE a IN (SELECT b FROM u)'],
  [
    "create table if not exists t (id integer primary key, p decimal(12,4) not null default 0.5, s text null unique, unique (p, s)) write scope 'w' read scope 'r' comment 'it''s' row filter (owner = :sub)",
    "CREATE TABLE IF NOT EXISTS t (id integer PRIMARY KEY, p decimal(12, 4) NOT NULL DEFAULT 0.5, s text UNIQUE, UNIQUE (p, s)) READ SCOPE 'r' WRITE SCOPE 'w' ROW FILTER (owner = :sub) COMMENT 'it''s'",
  ],
  [
    "create table t (a text) write require (age = 60) require (age = 300, acr = 2) write scope 'w'",
    "CREATE TABLE t (a text) WRITE SCOPE 'w' REQUIRE (acr = 2, age = 300) WRITE REQUIRE (age = 60)",
  ],
  ['alter table t set require null write require (acr = 1)', 'ALTER TABLE t SET REQUIRE NULL WRITE REQUIRE (acr = 1)'],
  ['create table t (a text, b text, primary key (a, b))', 'CREATE TABLE t (a text, b text, PRIMARY KEY (a, b))'],
  ['alter table t add c text', 'ALTER TABLE t ADD COLUMN c text'],
  ['alter table t drop column c', 'ALTER TABLE t DROP COLUMN c'],
  ['alter table t rename c to d', 'ALTER TABLE t RENAME COLUMN c TO d'],
  ["alter table t set read scope 'r'", "ALTER TABLE t SET READ SCOPE 'r'"],
  [
    'alter table t set comment null row filter (owner = :sub) write scope null',
    'ALTER TABLE t SET WRITE SCOPE NULL ROW FILTER (owner = :sub) COMMENT NULL',
  ],
  ['drop table if exists t', 'DROP TABLE IF EXISTS t'],
  [
    'create unique index if not exists i on t (a, b desc, c asc)',
    'CREATE UNIQUE INDEX IF NOT EXISTS i ON t (a, b DESC, c)',
  ],
  ['drop index i', 'DROP INDEX i'],
  ['explain select 1', 'EXPLAIN SELECT 1'],
  ['describe t', 'DESCRIBE t'],
  ['show tables', 'SHOW TABLES'],
  ['show columns from t', 'DESCRIBE t'],
]

for (const [written, canonical] of CANONICAL) {
  test(`parses ${written}`, () => {
    assert.equal(print(parse(written)), canonical)
    assert.equal(print(parse(canonical)), canonical)
  })
}

/** An expression, and its canonical form with only the necessary parentheses. */
const EXPRESSIONS: readonly (readonly [string, string])[] = [
  ['1 + (2 * 3)', '1 + 2 * 3'],
  ['(1 + 2) * 3', '(1 + 2) * 3'],
  ['1 - (2 - 3)', '1 - (2 - 3)'],
  ['(1 - 2) - 3', '1 - 2 - 3'],
  ['a or (b and c)', 'a OR b AND c'],
  ['(a or b) and c', '(a OR b) AND c'],
  ['not (a and b)', 'NOT (a AND b)'],
  ['(not a) and b', 'NOT a AND b'],
  ['not (a = b)', 'NOT a = b'],
  ['(not a) = b', '(NOT a) = b'],
  ["'a' || (b || 'c')", "'a' || (b || 'c')"],
  ['a || b + c', 'a || b + c'],
  ['(a = b) is null', 'a = b IS NULL'],
  ['a = (b is null)', 'a = (b IS NULL)'],
  ['a is null is not true', 'a IS NULL IS NOT TRUE'],
  ['a is not distinct from (b is null)', 'a IS NOT DISTINCT FROM (b IS NULL)'],
  ['- -5', '- -5'],
  ['-(-a)', '- -a'],
  ['-(a + b)', '-(a + b)'],
  ['(-a) * b', '-a * b'],
  ['a between 1 and 2 and b', 'a BETWEEN 1 AND 2 AND b'],
  ['a not between (1 and 2) and 3', 'a NOT BETWEEN (1 AND 2) AND 3'],
  ['a not in (1, 2)', 'a NOT IN (1, 2)'],
  ['a in ((select 1), 2)', 'a IN ((SELECT 1), 2)'],
  ['a in ((select 1))', 'a IN (SELECT 1)'],
  ["a like 'x!%' escape '!'", "a LIKE 'x!%' ESCAPE '!'"],
  ["a not ilike b || '%'", "a NOT ILIKE b || '%'"],
  ['case when a then 1 else 2 end', 'CASE WHEN a THEN 1 ELSE 2 END'],
  ["case a when 1 then 'x' end", "CASE a WHEN 1 THEN 'x' END"],
  ['cast(a as Decimal(10, 2))', 'CAST(a AS Decimal(10, 2))'],
  ['extract(Hour from ts)', "date_part('hour', ts)"],
  ["timestamp '2026-01-31T00:00:00Z' + interval '1 day'", "TIMESTAMP '2026-01-31T00:00:00Z' + INTERVAL '1 day'"],
  ['date', 'date'],
  ['current_date', 'current_date()'],
  ['"current_date"', '"current_date"'],
  ['left(a, 2)', 'left(a, 2)'],
  ['count(distinct a) filter (where b > 1)', 'count(DISTINCT a) FILTER (WHERE b > 1)'],
  ["string_agg(a, ',' order by b desc)", "string_agg(a, ',' ORDER BY b DESC)"],
  ['sum(a) over ()', 'sum(a) OVER ()'],
  [
    'lag(a, 2) over (partition by b, c order by d rows 3 preceding)',
    'lag(a, 2) OVER (PARTITION BY b, c ORDER BY d ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)',
  ],
  [
    'avg(a) over (order by d range between unbounded preceding and unbounded following)',
    'avg(a) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)',
  ],
  ['exists (select 1)', 'EXISTS (SELECT 1)'],
  ['((select 1) + 2) * 3', '((SELECT 1) + 2) * 3'],
  ['((select 1) union select 2)', '(SELECT 1 UNION SELECT 2)'],
  ['(((select 1) limit 1) union select 2)', '((SELECT 1 LIMIT 1) UNION SELECT 2)'],
  ["x'00ff'", "X'00ff'"],
  ['a != b', 'a <> b'],
]

for (const [written, canonical] of EXPRESSIONS) {
  test(`parses the expression ${written}`, () => {
    assert.equal(printExpression(parseExpressionText(written)), canonical)
    assert.equal(printExpression(parseExpressionText(canonical)), canonical)
  })
}

/** statement, line:column, message, one of Expected, hint */
const REFUSED: readonly (readonly [string, string, RegExp, string?, RegExp?])[] = [
  ['', '1:1', /ends too soon/, 'SELECT'],
  ['SELCT 1', '1:1', /Unexpected SELCT/, 'SELECT', /^did you mean SELECT\?$/],
  ['select', '1:7', /ends too soon/, 'an expression'],
  ['select a from', '1:14', /ends too soon/, 'a table'],
  ['select a frm t', '1:10', /Unexpected frm/, 'FROM', /^did you mean FROM\?$/],
  ['select a from t whre b = 1', '1:17', /Unexpected whre/, 'WHERE', /^did you mean WHERE\?$/],
  ['select a from t grup by b', '1:17', /Unexpected grup/, 'GROUP', /^did you mean GROUP\?$/],
  ['delete from t whre a = 1', '1:15', /Unexpected whre/, 'WHERE', /^did you mean WHERE\?$/],
  ['update t ste a = 1 all', '1:10', /Unexpected ste/, 'SET', /^did you mean SET\?$/],
  ['select a from ordr 5', '1:20', /Unexpected 5/, 'WHERE'],
  ['select a "frm" t', '1:16', /Unexpected t/, 'FROM'],
  ['select a,\nfrom t', '2:1', /Unexpected from/, 'an expression', /reserved word/],
  ['select a from t where', '1:22', /ends too soon/, 'an expression'],
  ['select a from t order a', '1:23', /Unexpected a/, 'BY'],
  ['select a b c', '1:12', /Unexpected c/, ','],
  ['select (1', '1:10', /ends too soon/, ')'],
  ['select 1)', '1:9', /Unexpected \)/, 'the end of the statement'],
  ['select 1; select 2', '1:11', /One statement/],
  ['select a < b < c', '1:14', /do not chain/, '', /AND/],
  ['select a in ()', '1:14', /at least one item/],
  ['select a not b', '1:14', /Unexpected b/, 'BETWEEN'],
  ['select a = not b', '1:12', /parentheses/],
  ['select a is b', '1:13', /Unexpected b/, 'NULL'],
  ['select case end', '1:13', /Unexpected end/, 'an expression'],
  ['select case when a then 1', '1:26', /ends too soon/, 'END'],
  ['select cast(a text)', '1:15', /Unexpected text/, 'AS'],
  ['select * from (select 1)', '1:25', /ends too soon/, 'AS', /needs a name/],
  ['select * from a join b', '1:23', /ends too soon/, 'ON'],
  ['select * from a join b using c', '1:30', /Unexpected c/, '('],
  ['select * from a cross join b using (c)', '1:30', /Unexpected using/],
  ['select a from t where b < any (select 1)', '1:25', /no < ANY/],
  ['select a from t fetch first 2 rows', '1:35', /ends too soon/, 'ONLY'],
  ['with recursive x as (select 1) select 1', '1:6', /RECURSIVE/],
  ['delete from t', '1:14', /ends too soon/, 'WHERE', /write ALL/],
  ['update t set a = 1', '1:19', /ends too soon/, 'WHERE', /write ALL/],
  ['update t set = 1', '1:14', /Unexpected =/, 'a column'],
  ['insert into t (a)', '1:18', /ends too soon/, 'VALUES'],
  ['insert t values (1)', '1:8', /Unexpected t/, 'INTO'],
  ['create table t ()', '1:17', /Unexpected \)/, 'a column'],
  ['create table t (a decimal(x))', '1:27', /Unexpected x/, 'a number of digits'],
  ['create tabel t (a text)', '1:8', /Unexpected tabel/, 'TABLE', /TABLE/],
  ['explain show tables', '1:9', /EXPLAIN takes/],
  ['show table', '1:6', /Unexpected table/, 'TABLES', /TABLES/],
  ["select 'a' 'b'", '1:12', /Unexpected text/, 'an operator'],
]

for (const [statement, place, message, expected, hint] of REFUSED) {
  test(`refuses ${JSON.stringify(statement)}`, () => {
    const told = catchRefusal(() => parse(statement))
    assert.equal(told.code, 'IQL.Syntax')
    assert.equal(`${told.line}:${told.column}`, place)
    assert.match(told.message, message)
    if (expected) assert.ok(told.expected.includes(expected), `${expected} is not in ${told.expected.join(' ')}`)
    if (hint) assert.match(told.hint ?? '', hint)
  })
}

test('the caret marks the position, counted in characters', () => {
  const statement = "SELECT 1,\n  '😀' AS \t x y\nFROM t"
  const at = statement.indexOf('y')
  assert.deepEqual(locatePosition(statement, at), { Offset: at, Line: 2, Column: 14 })
  assert.equal(caretPicture(statement, locatePosition(statement, at)), "2 |   '😀' AS   x y\n                 ^")
})

test('in a long line only the part around the caret is shown', () => {
  const statement = `SELECT ${'a, '.repeat(200)} FROM`
  const picture = caretPicture(statement, locatePosition(statement, statement.length))
  const [line = '', caret = ''] = picture.split('\n')
  assert.ok(line.length < 120 && line.includes('…'))
  assert.equal(caret.length - 1, line.length)
  const early = caretPicture(statement, locatePosition(statement, 3)).split('\n')
  assert.deepEqual(early, [`1 | ${statement.slice(0, 110)}…`, '       ^'])
})

test('a line of a usual length is shown whole', () => {
  const statement = 'SELECT symbol, price, quantity FROM trades WHERE symbl = 1 ORDER BY executed_at DESC LIMIT 10'
  const [line] = caretPicture(statement, locatePosition(statement, 7)).split('\n')
  assert.equal(line, `1 | ${statement}`)
})
