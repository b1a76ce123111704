/** Statements with what becomes of them as live statements. */

export const DEFINITIONS: readonly string[] = [
  `CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(12, 4) NOT NULL, quantity Integer NOT NULL,
    at Timestamp NOT NULL, note Text)`,
  `INSERT INTO trades VALUES (1, 'BHP', 45.10, 100, '2026-01-30T10:00:00Z', 'open'), (2, 'BHP', 45.20, 0, '2026-01-30T10:03:00Z', NULL),
    (3, 'CBA', 160.00, 50, '2026-01-30T10:01:00Z', NULL), (4, 'BHP', 45.00, 100, '2026-01-30T10:07:00Z', 'block')`,
  'CREATE TABLE quotes (symbol Text, at Timestamp, bid Decimal(12, 4), PRIMARY KEY (symbol, at))',
  "INSERT INTO quotes VALUES ('BHP', '2026-01-30T09:59:00Z', 45.05), ('CBA', '2026-01-30T10:00:30Z', 159.90)",
  'CREATE TABLE notes (body Text, stars Integer)',
  "INSERT INTO notes VALUES ('a', 1), ('a', 1), ('b', 2)",
  'CREATE TABLE archive (id Integer PRIMARY KEY, body Text) WITH (live = off)',
  "INSERT INTO archive VALUES (1, 'old')",
  'CREATE TABLE orders (id Integer PRIMARY KEY, owner Text, divisor Integer) ROW FILTER (owner = :username)',
  'CREATE TABLE offers (id Integer PRIMARY KEY, until Timestamp) ROW FILTER (until > now())',
  'CREATE TABLE samples (id Integer PRIMARY KEY, tag Uuid) ROW FILTER (tag > gen_uuid())',
]

type Classified = readonly [statement: string, method: string, key: readonly string[] | null, reason: RegExp]

export const CLASSIFIED: readonly Classified[] = [
  ['SELECT price, quantity FROM trades', 'keys', ['id'], /one table, trades/],
  ['SELECT * FROM trades WHERE price > 45 AND note IS NULL', 'keys', ['id'], /one table/],
  ['SELECT upper(symbol) AS s, price * quantity AS v FROM trades t WHERE t.id IN (1, 3)', 'keys', ['id'], /one table/],
  ['SELECT bid FROM quotes', 'keys', ['symbol', 'at'], /one table, quotes/],
  ['SELECT id FROM orders', 'keys', ['id'], /one table, orders/],

  ['SELECT price FROM trades ORDER BY price', 'rerun', ['id'], /ORDER BY/],
  ['SELECT price FROM trades ORDER BY at DESC LIMIT 2', 'rerun', ['id'], /LIMIT/],
  ['SELECT price FROM trades ORDER BY at OFFSET 1', 'rerun', ['id'], /OFFSET/],
  ['SELECT symbol, row_number() OVER (ORDER BY id) AS n FROM trades', 'rerun', ['id'], /window/],
  ['SELECT price FROM trades WHERE symbol IN (SELECT symbol FROM quotes)', 'rerun', ['id'], /sub-query/],
  ['SELECT price FROM trades WHERE EXISTS (SELECT 1 FROM quotes LIMIT 1)', 'rerun', ['id'], /sub-query/],
  ['SELECT price, (SELECT max(bid) FROM quotes) AS best FROM trades', 'rerun', ['id'], /sub-query/],
  [
    'WITH q AS (SELECT symbol FROM quotes) SELECT id FROM trades WHERE symbol IN (SELECT symbol FROM q)',
    'rerun',
    ['id'],
    /sub-query/,
  ],

  ['SELECT count(*) AS n FROM trades', 'rerun', [], /aggregate/],
  ['SELECT 1 AS one FROM trades HAVING count(*) > 1', 'rerun', [], /aggregate/],
  ['SELECT symbol, sum(quantity) AS volume FROM trades GROUP BY symbol', 'rerun', ['symbol'], /GROUP BY/],
  ['SELECT sum(quantity) AS v FROM trades GROUP BY symbol, note ORDER BY v', 'rerun', ['symbol', 'note'], /GROUP BY/],
  [
    "SELECT time_bucket('5 minutes', at) AS bar, last(price, at) AS price FROM trades GROUP BY symbol, bar",
    'rerun',
    ['symbol', 'bar'],
    /GROUP BY/,
  ],
  [
    "SELECT count(*) AS n FROM trades GROUP BY date_trunc('hour', at), quantity + 1",
    'rerun',
    ['date_trunc', 'group2'],
    /GROUP BY/,
  ],
  [
    'SELECT t.symbol, count(*) AS n FROM trades t JOIN quotes q ON q.symbol = t.symbol GROUP BY t.symbol',
    'rerun',
    ['symbol'],
    /joins/,
  ],

  ["SELECT count(*) AS n FROM trades GROUP BY at - TIMESTAMP '2026-01-30T10:00:00Z'", 'rerun', null, /GROUP BY/],
  ['SELECT t.id, q.bid FROM trades t JOIN quotes q ON q.symbol = t.symbol', 'rerun', null, /joins/],
  [
    'SELECT t.id, q.bid FROM trades t ASOF LEFT JOIN quotes q ON q.symbol = t.symbol AND t.at >= q.at',
    'rerun',
    null,
    /joins/,
  ],
  ['SELECT DISTINCT symbol FROM trades', 'rerun', null, /DISTINCT/],
  ['SELECT DISTINCT count(*) AS n FROM trades GROUP BY symbol', 'rerun', null, /GROUP BY/],
  ['SELECT symbol FROM trades UNION ALL SELECT symbol FROM quotes', 'rerun', null, /UNION/],
  ['SELECT symbol FROM trades EXCEPT SELECT symbol FROM quotes ORDER BY symbol', 'rerun', null, /EXCEPT/],
  ['SELECT s FROM (SELECT symbol AS s FROM trades) x', 'rerun', null, /sub-query in FROM/],
  ['(SELECT symbol FROM trades ORDER BY at LIMIT 2) ORDER BY symbol', 'rerun', null, /parentheses/],
  ['WITH x AS (SELECT symbol FROM trades) SELECT symbol FROM x', 'rerun', null, /WITH/],
  ['SELECT body FROM notes', 'rerun', null, /no primary key/],
  ['SELECT body FROM archive', 'rerun', ['id'], /live = off/],
  ['SELECT name FROM cataloguetables', 'rerun', ['name'], /system table/],

  ['SELECT id FROM trades WHERE at > now()', 'clock', ['id'], /now\(\)/],
  ['SELECT count(*) AS n FROM trades WHERE CAST(at AS Date) < current_date', 'clock', [], /current_date\(\)/],
  ['SELECT id FROM trades WHERE id IN (SELECT quantity FROM trades WHERE at < now())', 'clock', ['id'], /now\(\)/],
  ['SELECT count(*) FILTER (WHERE at < now()) AS n FROM trades', 'clock', [], /now\(\)/],
  ['SELECT sum(quantity) FILTER (WHERE at < now()) OVER () AS n FROM trades', 'clock', ['id'], /now\(\)/],
  ["SELECT string_agg(symbol, ',' ORDER BY now() - at) AS n FROM trades", 'clock', [], /now\(\)/],
  ['SELECT t.id FROM trades t JOIN quotes q ON q.at < now()', 'clock', null, /now\(\)/],
  ['SELECT id FROM offers', 'clock', ['id'], /Which rows you may read depends on the time/],
]

/** `at` is the word at the position of the error. */
type Refused = readonly [statement: string, message: RegExp, hint: RegExp, at: string]

export const REFUSED: readonly Refused[] = [
  ["INSERT INTO notes VALUES ('x', 1)", /INSERT writes/, /by itself/, 'INSERT'],
  ['UPDATE notes SET stars = 2 ALL', /UPDATE writes/, /by itself/, 'UPDATE'],
  ['DELETE FROM notes ALL', /DELETE writes/, /by itself/, 'DELETE'],
  ['CREATE TABLE x (id Integer)', /defines/, /by itself/, 'CREATE'],
  ['ALTER TABLE notes SET WITH (live = off)', /defines/, /by itself/, 'ALTER'],
  ['DROP TABLE notes', /defines/, /by itself/, 'DROP'],
  ['EXPLAIN SELECT * FROM notes', /EXPLAIN/, /leave out EXPLAIN/, 'EXPLAIN'],
  ['EXPLAIN LIVE SELECT * FROM notes', /EXPLAIN/, /leave out EXPLAIN/, 'EXPLAIN'],
  ['DESCRIBE notes', /DESCRIBE/, /cataloguecolumns where tablename = 'notes'/, 'DESCRIBE'],
  ['SHOW COLUMNS FROM notes', /SHOW COLUMNS/, /cataloguecolumns/, 'SHOW'],
  ['SHOW TABLES', /SHOW TABLES/, /cataloguetables/, 'SHOW'],
  ['SELECT 1 AS one', /reads no table/, /run it once/, 'SELECT'],
  ['SELECT now() AS t', /reads no table/, /run it once/, 'SELECT'],
  ['SELECT id FROM trades LIMIT 10', /LIMIT without ORDER BY/, /add ORDER BY before LIMIT/, 'LIMIT'],
  ['SELECT id FROM trades OFFSET 10', /OFFSET without ORDER BY/, /add ORDER BY before OFFSET/, 'OFFSET'],
  ['SELECT id FROM (SELECT id FROM trades LIMIT 2) x ORDER BY id', /LIMIT without/, /ORDER BY/, 'LIMIT'],
  ['SELECT id FROM trades WHERE id = (SELECT id FROM trades LIMIT 1)', /LIMIT without/, /ORDER BY/, 'LIMIT'],
  ['SELECT id, gen_uuid() AS u FROM trades', /gen_uuid\(\) gives another value/, /leave out gen_uuid/, 'gen_uuid'],
  ['SELECT id FROM trades WHERE EXISTS (SELECT gen_uuid() AS u FROM quotes)', /gen_uuid/, /leave out/, 'gen_uuid'],
  ['SELECT id FROM samples', /Which rows you may read is random/, /administrator/, 'SELECT'],
]
