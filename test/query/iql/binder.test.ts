import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { typeName } from '../../../packages/iql/src/types/types.ts'
import { marketCatalogue } from './market-catalogue.ts'

const catalogue = marketCatalogue()

function bound(statement: string) {
  return bind(parse(statement), statement, catalogue)
}

/** name Type, with ? if it may be NULL */
function readColumns(statement: string): string {
  return bound(statement)
    .columns.map(({ name, type, nullable }) => `${name} ${typeName(type)}${nullable ? '?' : ''}`)
    .join(', ')
}

/** An expression over `kinds`, whose columns may all be NULL: t i d(18,4) f b ts day at u j bin. */
const TYPES: readonly (readonly [string, string])[] = [
  // Literals
  ['1', 'Integer'],
  ['-9223372036854775808', 'Integer'],
  ['9223372036854775808', 'Decimal(19, 0)'],
  ['1.50', 'Decimal(3, 2)'],
  ['.5', 'Decimal(1, 1)'],
  ['-0.001', 'Decimal(3, 3)'],
  ['1e3', 'Double'],
  ["'x'", 'Text'],
  ['TRUE', 'Boolean'],
  ['NULL', 'Text?'],
  ["DATE '2026-01-31'", 'Date'],
  ["TIME '09:30'", 'Time'],
  ["TIMESTAMP '2026-01-31 09:30:00+10:00'", 'Timestamp'],
  ["UUID '123E4567-e89b-12d3-a456-426614174000'", 'Uuid'],
  [`JSON '{"a": 1}'`, 'Json'],
  ["X'00'", 'Binary'],
  // Arithmetic: the table of scales
  ['5 / 2', 'Integer'],
  ['5.0 / 2', 'Decimal(17, 16)'],
  ['i + 1', 'Integer?'],
  ['i % 2', 'Integer?'],
  ['d + 1', 'Decimal(19, 4)?'],
  ['d + i', 'Decimal(24, 4)?'],
  ['d - 0.00001', 'Decimal(20, 5)?'],
  ['d * 2', 'Decimal(19, 4)?'],
  ['d * d', 'Decimal(36, 8)?'],
  ['d * d * d', 'Decimal(38, 12)?'],
  ['d / 3', 'Decimal(30, 16)?'],
  ['d / 0.00000001', 'Decimal(38, 16)?'],
  ['d % 1', 'Decimal(19, 4)?'],
  ['f + 1', 'Double?'],
  ['f * 1.1', 'Double?'],
  ['2 - f', 'Double?'],
  ['-d', 'Decimal(18, 4)?'],
  ['-i', 'Integer?'],
  ['NULL + 1', 'Integer?'],
  ["t || '!'", 'Text?'],
  ['t || NULL', 'Text?'],
  // Time
  ["ts + INTERVAL '1 day'", 'Timestamp?'],
  ["ts + '1 day'", 'Timestamp?'],
  ["INTERVAL '1 month' + ts", 'Timestamp?'],
  ["ts - INTERVAL '90 minutes' * 2", 'Timestamp?'],
  ['day + 1', 'Date?'],
  ['day - day', 'Integer?'],
  ["day + INTERVAL '1 hour'", 'Timestamp?'],
  ["at + INTERVAL '1 hour'", 'Time?'],
  ["at - '90 minutes'", 'Time?'],
  ["ts - ts > INTERVAL '1 hour'", 'Boolean?'],
  ["now() - ts < '5 minutes'", 'Boolean?'],
  ["time_bucket('5m', ts)", 'Timestamp?'],
  ["time_bucket('1 month', day)", 'Timestamp?'],
  ["time_bucket(INTERVAL '3 months', now())", 'Timestamp'],
  ["date_trunc('hour', ts)", 'Timestamp?'],
  ['EXTRACT(dayofweek FROM day)', 'Integer?'],
  ["date_part('minute', at)", 'Integer?'],
  ["date_diff('day', day, now())", 'Integer?'],
  ['current_date', 'Date'],
  // Comparison and tests
  ['i = 1.5', 'Boolean?'],
  ['d > 5', 'Boolean?'],
  ["ts >= '2026-01-31'", 'Boolean?'],
  ["'2026-01-31' <= day", 'Boolean?'],
  ["u = '123e4567-e89b-12d3-a456-426614174000'", 'Boolean?'],
  ['t IS NULL', 'Boolean'],
  ['t IS DISTINCT FROM NULL', 'Boolean'],
  ['b IS NOT TRUE', 'Boolean'],
  ["ts BETWEEN '2026-01-01' AND '2026-02-01'", 'Boolean?'],
  ['i IN (1, 2.5, NULL)', 'Boolean?'],
  ['i IN (SELECT qty FROM trades)', 'Boolean?'],
  ['d IN (SELECT qty FROM trades)', 'Boolean?'],
  ["t LIKE 'a!%' ESCAPE '!'", 'Boolean?'],
  ['NOT b AND TRUE', 'Boolean?'],
  ['EXISTS (SELECT * FROM trades AS a CROSS JOIN trades AS c)', 'Boolean'],
  ['(SELECT max(price) FROM trades)', 'Decimal(12, 4)?'],
  // CASE, COALESCE, NULLIF
  ['CASE WHEN b THEN 1 ELSE 2.50 END', 'Decimal(3, 2)'],
  ['CASE WHEN b THEN d ELSE 0 END', 'Decimal(18, 4)?'],
  ["CASE i WHEN 1 THEN 'one' END", 'Text?'],
  ["CASE WHEN b THEN ts ELSE '2026-01-31' END", 'Timestamp?'],
  ["COALESCE(t, 'x')", 'Text'],
  ['COALESCE(i, d, 0)', 'Decimal(23, 4)'],
  ['NULLIF(i, 0)', 'Integer?'],
  ['mod(i, 3)', 'Integer?'],
  // CAST
  ['CAST(i AS Double) * f', 'Double?'],
  ['CAST(f AS Decimal(10, 2))', 'Decimal(10, 2)?'],
  ['CAST(d AS Decimal(38, 10))', 'Decimal(38, 10)?'],
  ["CAST('42' AS Integer)", 'Integer'],
  ['CAST(ts AS Date)', 'Date?'],
  ['CAST(NULL AS Uuid)', 'Uuid?'],
  // Functions
  ['length(t)', 'Integer?'],
  ["concat(t, NULL, 'x')", 'Text'],
  ['round(d)', 'Decimal(15, 0)?'],
  ['round(d, 2)', 'Decimal(17, 2)?'],
  ['round(2.345, 2)', 'Decimal(4, 2)'],
  ['floor(i)', 'Integer?'],
  ['ceil(f)', 'Double?'],
  ['power(2, 10)', 'Double'],
  ['sqrt(f)', 'Double?'],
  ['least(i, 2.5, NULL)', 'Decimal(20, 1)'],
  ['greatest(i, i)', 'Integer?'],
  ["json_text(j, 'a')", 'Text?'],
  ['json_get(j, 0)', 'Json?'],
  ['gen_uuid()', 'Uuid'],
  ['left(t, 2)', 'Text?'],
  // Aggregates: the table of result types
  ['count(*)', 'Integer'],
  ['count(DISTINCT i)', 'Integer'],
  ['sum(i)', 'Decimal(38, 0)?'],
  ['sum(d)', 'Decimal(38, 4)?'],
  ['sum(f)', 'Double?'],
  ['avg(i)', 'Decimal(38, 16)?'],
  ['avg(d * d)', 'Decimal(38, 12)?'],
  ['avg(f)', 'Double?'],
  ['min(t)', 'Text?'],
  ['max(day)', 'Date?'],
  ['stddev(d)', 'Decimal(38, 16)?'],
  ['vwap(d, i)', 'Decimal(38, 16)?'],
  ['first(u, ts)', 'Uuid?'],
  ["string_agg(DISTINCT t, ', ')", 'Text?'],
  ["string_agg(t, ', ' ORDER BY ts DESC)", 'Text?'],
  ['sum(i) FILTER (WHERE b) + 1', 'Decimal(38, 0)?'],
  ['bool_or(b)', 'Boolean?'],
  // Windows
  ['row_number() OVER (ORDER BY ts)', 'Integer'],
  ['lag(d, 2) OVER (PARTITION BY t ORDER BY ts)', 'Decimal(18, 4)?'],
  ['sum(i) OVER ()', 'Decimal(38, 0)?'],
  ['count(*) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)', 'Integer'],
  ['vwap(d, i) OVER (ORDER BY ts)', 'Decimal(38, 16)?'],
]

for (const [expression, type] of TYPES) {
  test(`${expression} is ${type}`, () => {
    assert.equal(readColumns(`SELECT ${expression} AS x FROM kinds`), `x ${type}`)
  })
}

const TRADES = 'id Integer, symbol Text, price Decimal(12, 4), qty Integer, ts Timestamp, note Text?'

const RESULTS: readonly (readonly [string, string])[] = [
  ['SELECT * FROM trades', TRADES],
  ['SELECT T.* FROM TRADES AS t', TRADES],
  ['SELECT SYMBOL, Price FROM trades', 'symbol Text, price Decimal(12, 4)'],
  ['SELECT symbol AS Ticker FROM trades', 'Ticker Text'],
  ['SELECT 1, count(*), CASE WHEN TRUE THEN 1 END', 'column1 Integer, count Integer, case Integer?'],
  ['SELECT t.id, q.bid FROM trades t LEFT JOIN quotes q ON q.symbol = t.symbol', 'id Integer, bid Decimal(12, 4)?'],
  ['SELECT t.id, q.symbol FROM trades t LEFT JOIN quotes q ON q.symbol = t.symbol', 'id Integer, symbol Text?'],
  ['SELECT t.id, q.symbol FROM trades t RIGHT JOIN quotes q ON q.symbol = t.symbol', 'id Integer?, symbol Text'],
  ['SELECT t.id, q.symbol FROM trades t FULL JOIN quotes q ON q.symbol = t.symbol', 'id Integer?, symbol Text?'],
  [
    'SELECT t.id, q.symbol FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol AND t.ts >= q.ts',
    'id Integer, symbol Text',
  ],
  [
    'SELECT t.id, q.symbol FROM trades t ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND q.ts < t.ts',
    'id Integer, symbol Text?',
  ],
  ['SELECT x.s FROM (SELECT symbol AS s FROM trades) AS x', 's Text'],
  ['WITH x (a, b) AS (SELECT id, id FROM trades) SELECT a + b AS c FROM x', 'c Integer'],
  ['WITH trades AS (SELECT 1 AS one) SELECT * FROM trades', 'one Integer'],
  ['WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT y FROM b', 'y Integer'],
  [
    'SELECT symbol, sum(qty) AS q FROM trades GROUP BY symbol HAVING sum(qty) > 10 ORDER BY q DESC, symbol',
    'symbol Text, q Decimal(38, 0)?',
  ],
  [
    "SELECT time_bucket('5m', ts) AS bucket, count(*) AS n FROM trades GROUP BY bucket ORDER BY bucket",
    'bucket Timestamp, n Integer',
  ],
  ["SELECT time_bucket('5m', t.ts) AS b FROM trades t GROUP BY time_bucket('5m', ts)", 'b Timestamp'],
  ['SELECT qty % 10 + 1 AS x FROM trades GROUP BY qty % 10', 'x Integer'],
  ['SELECT symbol FROM trades GROUP BY 1', 'symbol Text'],
  ['SELECT symbol FROM trades GROUP BY symbol ORDER BY count(*)', 'symbol Text'],
  ['SELECT 1 AS x FROM trades ORDER BY qty * 2', 'x Integer'],
  ['SELECT DISTINCT qty * 2 AS x FROM trades ORDER BY qty * 2', 'x Integer'],
  [
    'SELECT sum(sum(qty)) OVER (ORDER BY symbol) AS running, symbol FROM trades GROUP BY symbol',
    'running Decimal(38, 0)?, symbol Text',
  ],
  ['SELECT 1 AS x UNION SELECT 2.5', 'x Decimal(20, 1)'],
  ['SELECT NULL AS x UNION ALL SELECT 1', 'x Integer?'],
  ['SELECT id FROM trades EXCEPT SELECT id FROM trades WHERE qty = 0 ORDER BY id', 'id Integer'],
  ['(SELECT id FROM trades ORDER BY ts LIMIT 1) UNION ALL SELECT 2', 'id Integer'],
  ['SELECT (SELECT count(*) FROM quotes q WHERE q.symbol = t.symbol) AS n FROM trades t', 'n Integer?'],
  [
    'SELECT (SELECT max(q.bid) FROM quotes q WHERE q.symbol = t.symbol) AS b FROM trades t GROUP BY t.symbol',
    'b Decimal(12, 4)?',
  ],
  ["INSERT INTO trades (id, symbol, price, qty, ts) VALUES (1, 'BHP', 45, 100, '2026-01-31')", ''],
  ['INSERT INTO trades SELECT * FROM trades RETURNING id', 'id Integer'],
  [
    'INSERT INTO trades (id, symbol, price, qty, ts) SELECT id, symbol, 1, qty, ts FROM trades ON CONFLICT (id) DO UPDATE SET qty = excluded.qty + trades.qty RETURNING *',
    TRADES,
  ],
  [
    'INSERT INTO trades (id, symbol, price, qty, ts) SELECT id, symbol, 1, qty, ts FROM trades ON CONFLICT (TS, Symbol) DO NOTHING',
    '',
  ],
  ["INSERT INTO orders (id, owner, qty) VALUES (1, 'a', DEFAULT)", ''],
  ['UPDATE trades SET price = round(price * 1.1, 4), note = NULL WHERE id = 1 RETURNING price', 'price Decimal(12, 4)'],
  ['DELETE FROM trades ALL', ''],
  ['DELETE FROM trades t WHERE t.id IN (SELECT id FROM trades) RETURNING t.id', 'id Integer'],
  ['EXPLAIN SELECT 1', 'plan Text'],
  ['SHOW TABLES', 'name Text, issystem Boolean, description Text?, isview Boolean, require Text?, writerequire Text?'],
  [
    'DESCRIBE trades',
    'name Text, type Text, ordinal Integer, nullable Boolean, isprimarykey Boolean, default Text?, checks Text?',
  ],
  [
    'SHOW COLUMNS FROM trades',
    'name Text, type Text, ordinal Integer, nullable Boolean, isprimarykey Boolean, default Text?, checks Text?',
  ],
  ['DROP TABLE IF EXISTS nothing', ''],
  ['CREATE INDEX IF NOT EXISTS trades_ts ON trades (ts DESC)', ''],
]

for (const [statement, columns] of RESULTS) {
  test(`binds ${statement}`, () => assert.equal(readColumns(statement), columns))
}

/** Parameters take their types from the context. */
const PARAMETERS: readonly (readonly [string, string])[] = [
  [
    'SELECT id FROM trades WHERE symbol = :s AND ts >= $1 LIMIT :n OFFSET :m',
    's Text, 1 Timestamp, n Integer, m Integer',
  ],
  ['SELECT id FROM trades WHERE :p < price', 'p Decimal(12, 4)'],
  ['SELECT id FROM trades WHERE price BETWEEN :a AND :b', 'a Decimal(12, 4), b Decimal(12, 4)'],
  ['SELECT id FROM trades WHERE symbol IN (:a, :B, :b)', 'a Text, B Text'],
  ['SELECT id FROM trades WHERE symbol LIKE :p', 'p Text'],
  ['SELECT id FROM trades WHERE ts > now() - :window', 'window Interval'],
  ['SELECT id FROM trades WHERE now() - ts < :window', 'window Interval'],
  ['SELECT time_bucket(:w, ts) AS b FROM trades GROUP BY time_bucket(:w, ts)', 'w Interval'],
  ['SELECT CAST(:x AS Uuid) AS u', 'x Uuid'],
  ['SELECT coalesce(:x, price) AS p FROM trades', 'x Decimal(12, 4)'],
  ['SELECT CASE WHEN :flag THEN qty ELSE :q END AS c FROM trades', 'flag Boolean, q Integer'],
  ['SELECT id FROM trades WHERE qty IN (SELECT qty FROM trades WHERE symbol = :s)', 's Text'],
  [
    'INSERT INTO trades VALUES ($1, $2, $3, $4, $5, $6)',
    '1 Integer, 2 Text, 3 Decimal(12, 4), 4 Integer, 5 Timestamp, 6 Text',
  ],
  ['UPDATE trades SET qty = qty + :n WHERE id = :id', 'n Integer, id Integer'],
  ['SELECT id FROM trades WHERE :min IS NULL OR price >= :min', 'min Decimal(12, 4)'],
  ['SELECT id FROM trades WHERE $1 IS NOT NULL', '1 Text'],
  ['SELECT upper(:t) AS x, substr(:t, :n) AS y', 't Text, n Integer'],
]

for (const [statement, parameters] of PARAMETERS) {
  test(`types the parameters of ${statement}`, () => {
    const shown = bound(statement).parameters.map(({ name, type }) => `${name} ${typeName(type)}`)
    assert.equal(shown.join(', '), parameters)
  })
}
