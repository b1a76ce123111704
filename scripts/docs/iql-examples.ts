/** The examples of docs/iql.md: the tables, the statements and their results. */

export interface Example {
  readonly about: string
  readonly statement: string
  /** Values as sent, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Rows as in a JSON result: Integers as numbers, Decimals and times as strings. */
  readonly rows: readonly Readonly<Record<string, string | number | boolean | null>>[]
}

/** Creates and fills the tables of the examples. Each example in CHANGES starts from this state. */
export const SETUP: readonly string[] = [
  `CREATE TABLE trades (
  id Integer PRIMARY KEY,
  symbol Text NOT NULL,
  side Text NOT NULL,
  price Decimal(12, 4) NOT NULL,
  quantity Integer NOT NULL,
  executed_at Timestamp NOT NULL,
  venue Text
)`,
  `CREATE TABLE quotes (
  symbol Text NOT NULL,
  quoted_at Timestamp NOT NULL,
  bid Decimal(12, 4),
  ask Decimal(12, 4),
  PRIMARY KEY (symbol, quoted_at)
)`,
  `INSERT INTO trades (id, symbol, side, price, quantity, executed_at, venue) VALUES
  (1, 'ACME', 'Buy', 45.10, 100, '2026-01-30T10:00:00Z', 'LIT'),
  (2, 'ACME', 'Buy', 45.20, 300, '2026-01-30T10:03:00Z', NULL),
  (3, 'BOLT', 'Sell', 160.00, 50, '2026-01-30T10:01:00Z', NULL),
  (4, 'ACME', 'Sell', 45.00, 100, '2026-01-30T10:07:00Z', 'DARK'),
  (5, 'BOLT', 'Buy', 161.50, 150, '2026-01-30T10:08:00Z', NULL)`,
  `INSERT INTO quotes (symbol, quoted_at, bid, ask) VALUES
  ('ACME', '2026-01-30T09:59:00Z', 45.05, 45.12),
  ('ACME', '2026-01-30T10:02:30Z', 45.15, 45.22),
  ('BOLT', '2026-01-30T10:00:30Z', 159.90, 160.10)`,
]

export const READS: readonly Example[] = [
  {
    about: 'The latest trades of one symbol.',
    statement: "SELECT symbol, price, executed_at FROM trades WHERE symbol = 'ACME' ORDER BY executed_at DESC LIMIT 2",
    rows: [
      { symbol: 'ACME', price: '45.0000', executed_at: '2026-01-30T10:07:00Z' },
      { symbol: 'ACME', price: '45.2000', executed_at: '2026-01-30T10:03:00Z' },
    ],
  },
  {
    about: 'The same with parameters, which take their types from the columns they are compared with.',
    statement: 'SELECT id FROM trades WHERE symbol = :symbol AND executed_at >= :since ORDER BY id',
    parameters: { symbol: 'ACME', since: '2026-01-30T10:03:00Z' },
    rows: [{ id: 2 }, { id: 4 }],
  },
  {
    about: 'Totals for each symbol. A sum of Integers is a Decimal, so that it does not overflow.',
    statement:
      'SELECT symbol, count(*) AS trades, sum(quantity) AS volume, avg(price) AS mean FROM trades GROUP BY symbol ORDER BY symbol',
    rows: [
      { symbol: 'ACME', trades: 3, volume: '500', mean: '45.1000000000000000' },
      { symbol: 'BOLT', trades: 2, volume: '200', mean: '160.7500000000000000' },
    ],
  },
  {
    about: 'Five-minute bars. GROUP BY can name an output.',
    statement: `SELECT symbol, time_bucket('5 minutes', executed_at) AS bar, first(price, executed_at) AS open, max(price) AS high,
       min(price) AS low, last(price, executed_at) AS close, vwap(price, quantity) AS vwap
FROM trades GROUP BY symbol, bar ORDER BY symbol, bar`,
    rows: [
      bar('ACME', '10:00', '45.1000', '45.2000', '45.1000', '45.2000', '45.1750000000000000'),
      bar('ACME', '10:05', '45.0000', '45.0000', '45.0000', '45.0000', '45.0000000000000000'),
      bar('BOLT', '10:00', '160.0000', '160.0000', '160.0000', '160.0000', '160.0000000000000000'),
      bar('BOLT', '10:05', '161.5000', '161.5000', '161.5000', '161.5000', '161.5000000000000000'),
    ],
  },
  {
    about: 'Each trade with the quote that was current at its time.',
    statement: `SELECT t.id, t.price, q.bid, q.ask FROM trades t
ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND t.executed_at >= q.quoted_at ORDER BY t.id`,
    rows: [
      { id: 1, price: '45.1000', bid: '45.0500', ask: '45.1200' },
      { id: 2, price: '45.2000', bid: '45.1500', ask: '45.2200' },
      { id: 3, price: '160.0000', bid: '159.9000', ask: '160.1000' },
      { id: 4, price: '45.0000', bid: '45.1500', ask: '45.2200' },
      { id: 5, price: '161.5000', bid: '159.9000', ask: '160.1000' },
    ],
  },
  {
    about: 'The change from the previous trade.',
    statement:
      'SELECT id, price - lag(price) OVER (PARTITION BY symbol ORDER BY executed_at) AS change FROM trades ORDER BY id',
    rows: [
      { id: 1, change: null },
      { id: 2, change: '0.1000' },
      { id: 3, change: null },
      { id: 4, change: '-0.2000' },
      { id: 5, change: '1.5000' },
    ],
  },
  {
    about: 'The greatest changes first. ORDER BY can use the names of outputs, also in expressions.',
    statement: `SELECT id, price - lag(price) OVER (PARTITION BY symbol ORDER BY executed_at) AS change
FROM trades ORDER BY abs(change) DESC NULLS LAST, id`,
    rows: [
      { id: 5, change: '1.5000' },
      { id: 4, change: '-0.2000' },
      { id: 2, change: '0.1000' },
      { id: 1, change: null },
      { id: 3, change: null },
    ],
  },
  {
    about: 'Numbers of different types: beside a Double, an Integer and a Decimal become Doubles.',
    statement: 'SELECT symbol, count(*) * 0.5e0 AS half FROM trades GROUP BY symbol ORDER BY symbol',
    rows: [
      { symbol: 'ACME', half: 1.5 },
      { symbol: 'BOLT', half: 1 },
    ],
  },
  {
    about: 'A WITH query joined to a table.',
    statement: `WITH top AS (SELECT symbol, max(price) AS best FROM trades GROUP BY symbol)
SELECT t.id, t.symbol FROM trades t JOIN top ON top.symbol = t.symbol AND top.best = t.price ORDER BY t.id`,
    rows: [
      { id: 2, symbol: 'ACME' },
      { id: 5, symbol: 'BOLT' },
    ],
  },
  {
    about: 'The two largest trades of each symbol. USING joins by columns of the same name.',
    statement: `SELECT symbol, id, quantity, quotes FROM trades
JOIN (SELECT symbol, count(*) AS quotes FROM quotes GROUP BY symbol) AS q USING (symbol)
QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY quantity DESC, id) <= 2 ORDER BY symbol, quantity DESC, id`,
    rows: [
      { symbol: 'ACME', id: 2, quantity: 300, quotes: 2 },
      { symbol: 'ACME', id: 1, quantity: 100, quotes: 2 },
      { symbol: 'BOLT', id: 5, quantity: 150, quotes: 1 },
      { symbol: 'BOLT', id: 3, quantity: 50, quotes: 1 },
    ],
  },
  {
    about: 'The highest price of each symbol, with its trade.',
    statement: 'SELECT DISTINCT ON (symbol) symbol, id, price FROM trades ORDER BY symbol, price DESC',
    rows: [
      { symbol: 'ACME', id: 2, price: '45.2000' },
      { symbol: 'BOLT', id: 5, price: '161.5000' },
    ],
  },
  {
    about: 'An aggregate over a part of the rows.',
    statement: 'SELECT count(*) FILTER (WHERE quantity >= 100) AS large, count(*) AS whole FROM trades',
    rows: [{ large: 4, whole: 5 }],
  },
  {
    about: 'One column for each value of another: a pivot.',
    statement: `SELECT symbol, sum(quantity) FILTER (WHERE side = 'Buy') AS bought, sum(quantity) FILTER (WHERE side = 'Sell') AS sold
FROM trades GROUP BY symbol ORDER BY symbol`,
    rows: [
      { symbol: 'ACME', bought: '400', sold: '100' },
      { symbol: 'BOLT', bought: '150', sold: '50' },
    ],
  },
  {
    about: 'The median, and the price that nine out of ten trades do not exceed.',
    statement: `SELECT symbol, median(price) AS median, percentile_cont(0.9) WITHIN GROUP (ORDER BY price) AS p90
FROM trades GROUP BY symbol ORDER BY symbol`,
    rows: [
      { symbol: 'ACME', median: '45.1000000000000000', p90: '45.1800000000000000' },
      { symbol: 'BOLT', median: '160.7500000000000000', p90: '161.3500000000000000' },
    ],
  },
  {
    about: 'The last trade of each symbol.',
    statement:
      'SELECT symbol, price, executed_at FROM trades LATEST ON executed_at PARTITION BY symbol ORDER BY symbol',
    rows: [
      { symbol: 'ACME', price: '45.0000', executed_at: '2026-01-30T10:07:00Z' },
      { symbol: 'BOLT', price: '161.5000', executed_at: '2026-01-30T10:08:00Z' },
    ],
  },
  {
    about: 'Bars without gaps: the last known price carried forward, and the interpolated price.',
    statement: `SELECT time_bucket_gapfill('2 minutes', executed_at, '2026-01-30T10:00:00Z', '2026-01-30T10:10:00Z') AS bar,
  last(price, executed_at) AS close, locf(last(price, executed_at)) AS carried, interpolate(last(price, executed_at)) AS line
FROM trades WHERE symbol = 'ACME' GROUP BY bar ORDER BY bar`,
    rows: [
      { bar: '2026-01-30T10:00:00Z', close: '45.1000', carried: '45.1000', line: '45.1000000000000000' },
      { bar: '2026-01-30T10:02:00Z', close: '45.2000', carried: '45.2000', line: '45.2000000000000000' },
      { bar: '2026-01-30T10:04:00Z', close: null, carried: '45.2000', line: '45.1000000000000000' },
      { bar: '2026-01-30T10:06:00Z', close: '45.0000', carried: '45.0000', line: '45.0000000000000000' },
      { bar: '2026-01-30T10:08:00Z', close: null, carried: '45.0000', line: null },
    ],
  },
  {
    about: 'The same with an explicit grid.',
    statement: `WITH bars AS (SELECT time_bucket('2 minutes', executed_at) AS start, last(price, executed_at) AS close
  FROM trades WHERE symbol = 'ACME' GROUP BY start)
SELECT bar, close, locf(close) OVER (ORDER BY bar) AS carried, interpolate(close, bar) OVER (ORDER BY bar) AS line
FROM generate_series('2026-01-30T10:00:00Z', '2026-01-30T10:08:00Z', '2 minutes') AS bar
LEFT JOIN bars ON bars.start = bar ORDER BY bar`,
    rows: [
      { bar: '2026-01-30T10:00:00Z', close: '45.1000', carried: '45.1000', line: '45.1000000000000000' },
      { bar: '2026-01-30T10:02:00Z', close: '45.2000', carried: '45.2000', line: '45.2000000000000000' },
      { bar: '2026-01-30T10:04:00Z', close: null, carried: '45.2000', line: '45.1000000000000000' },
      { bar: '2026-01-30T10:06:00Z', close: '45.0000', carried: '45.0000', line: '45.0000000000000000' },
      { bar: '2026-01-30T10:08:00Z', close: null, carried: '45.0000', line: null },
    ],
  },
  {
    about: 'What the clocks in New York read, and their half hour, which is a Timestamp.',
    statement: `SELECT id, executed_at AT TIME ZONE 'America/New_York' AS local,
  time_bucket('30 minutes', executed_at, 'America/New_York') AS bar FROM trades WHERE symbol = 'BOLT' ORDER BY id`,
    rows: [
      { id: 3, local: '2026-01-30T05:01:00', bar: '2026-01-30T10:00:00Z' },
      { id: 5, local: '2026-01-30T05:08:00', bar: '2026-01-30T10:00:00Z' },
    ],
  },
  {
    about: 'The volume of each trading day of London, from 8:00 to 16:30 by its clocks.',
    statement: `SELECT CAST(local AS Date) AS day, sum(quantity) AS volume
FROM (SELECT executed_at AT TIME ZONE 'Europe/London' AS local, quantity FROM trades) AS t
WHERE CAST(local AS Time) >= '08:00' AND CAST(local AS Time) < '16:30' GROUP BY day ORDER BY day`,
    rows: [{ day: '2026-01-30', volume: '700' }],
  },
  {
    about: 'A rolling window of five minutes, and a window with a name.',
    statement: `SELECT id, sum(quantity) OVER (PARTITION BY symbol ORDER BY executed_at
    RANGE BETWEEN INTERVAL '5 minutes' PRECEDING AND CURRENT ROW) AS recent,
  max(price) OVER w AS high, cume_dist() OVER w AS done
FROM trades WINDOW w AS (PARTITION BY symbol ORDER BY executed_at) ORDER BY id`,
    rows: [
      { id: 1, recent: '100', high: '45.1000', done: 0.3333333333333333 },
      { id: 2, recent: '400', high: '45.2000', done: 0.6666666666666666 },
      { id: 3, recent: '50', high: '160.0000', done: 0.5 },
      { id: 4, recent: '400', high: '45.2000', done: 1 },
      { id: 5, recent: '150', high: '161.5000', done: 1 },
    ],
  },
  {
    about: 'Trades at least five minutes after the open.',
    statement:
      "SELECT id FROM trades WHERE executed_at >= TIMESTAMP '2026-01-30T10:00:00Z' + INTERVAL '5 minutes' ORDER BY id",
    rows: [{ id: 4 }, { id: 5 }],
  },
  {
    about: 'Division of Integers gives an Integer, of Decimals a Decimal.',
    statement: 'SELECT 5 / 2 AS whole, 5.0 / 2 AS exact, -5 / 2 AS negative, 5 % -3 AS rest',
    rows: [{ whole: 2, exact: '2.5000000000000000', negative: -2, rest: 2 }],
  },
  {
    about: 'NULLs sort last in ascending order.',
    statement: 'SELECT id, venue FROM trades ORDER BY venue, id',
    rows: [
      { id: 4, venue: 'DARK' },
      { id: 1, venue: 'LIT' },
      { id: 2, venue: null },
      { id: 3, venue: null },
      { id: 5, venue: null },
    ],
  },
  {
    about: 'LIKE is case-sensitive, ILIKE is not.',
    statement: "SELECT venue LIKE 'l%' AS exact, venue ILIKE 'l%' AS loose FROM trades WHERE id = 1",
    rows: [{ exact: false, loose: true }],
  },
  {
    about: 'Symbols with trades but without a quote after 10:10.',
    statement: `SELECT symbol FROM trades
EXCEPT SELECT symbol FROM quotes WHERE quoted_at > '2026-01-30T10:10:00Z' ORDER BY symbol`,
    rows: [{ symbol: 'ACME' }, { symbol: 'BOLT' }],
  },
  {
    about: 'CASE, and a replacement for NULL.',
    statement: `SELECT id, CASE WHEN quantity >= 150 THEN 'large' ELSE 'small' END AS size, COALESCE(venue, '-') AS venue
FROM trades WHERE symbol = 'ACME' ORDER BY id`,
    rows: [
      { id: 1, size: 'small', venue: 'LIT' },
      { id: 2, size: 'large', venue: '-' },
      { id: 4, size: 'small', venue: 'DARK' },
    ],
  },
]

export const CHANGES: readonly Example[] = [
  {
    about: 'Upsert: insert a row, or update the existing one with the same key. `DO NOTHING` keeps the existing one.',
    statement: `INSERT INTO trades (id, symbol, side, price, quantity, executed_at)
VALUES (5, 'BOLT', 'Buy', 161.50, 160, '2026-01-30T10:08:00Z')
ON CONFLICT (id) DO UPDATE SET quantity = excluded.quantity RETURNING id, quantity`,
    rows: [{ id: 5, quantity: 160 }],
  },
  {
    about: 'Update a row. UPDATE and DELETE need a WHERE or, for every row, the keyword ALL.',
    statement:
      "UPDATE trades SET venue = 'AUCTION', price = round(price * 1.01, 4) WHERE id = 5 RETURNING id, venue, price",
    rows: [{ id: 5, venue: 'AUCTION', price: '163.1150' }],
  },
  {
    about: 'Delete rows.',
    statement: 'DELETE FROM trades WHERE quantity < 100 RETURNING id',
    rows: [{ id: 3 }],
  },
]

/** Statements with mistakes, to show the errors. */
export const MISTAKES: readonly string[] = [
  'SELECT symbol, pric FROM trades',
  'SELCT symbol FROM trades',
  "SELECT id FROM trades WHERE quantity = '100'",
  'SELECT symbol, sum(quantity) FROM trades',
  'DELETE FROM trades',
]

function bar(symbol: string, time: string, open: string, high: string, low: string, close: string, vwap: string) {
  return { symbol, bar: `2026-01-30T${time}:00Z`, open, high, low, close, vwap }
}
