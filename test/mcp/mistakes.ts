/** Thirty mistakes that assistants make, and a few whose meaning cannot be guessed. */

/** The statement that fails, and what the error shows as corrected. */
export const CORRECTED: readonly (readonly [mistake: string, meant: string])[] = [
  ['SELECT prise FROM trades', 'SELECT price FROM trades'],
  [
    "SELECT symbol, sum(qty) AS n FROM stock_trades WHERE ticker = 'ACME' GROUP BY symbol",
    "SELECT symbol, sum(quantity) AS n FROM trades WHERE symbol = 'ACME' GROUP BY symbol",
  ],
  ['SELECT * FROM trades ORDER BY date DESC LIMIT 5', 'SELECT * FROM trades ORDER BY executed_at DESC LIMIT 5'],
  ['SELECT price FROM trades WHERE symbol = "ACME"', "SELECT price FROM trades WHERE symbol = 'ACME'"],
  ['SELECT price FROM trades WHERE side = Buy', "SELECT price FROM trades WHERE side = 'Buy'"],
  ['SELECT TOP 10 * FROM trades', 'SELECT * FROM trades LIMIT 10'],
  ['SELECT id FROM trades ORDER BY id LIMIT 10, 20', 'SELECT id FROM trades ORDER BY id LIMIT 20 OFFSET 10'],
  ["SELECT `symbol` FROM `trades` WHERE symbol == 'ACME'", "SELECT symbol FROM trades WHERE symbol = 'ACME'"],
  ["SELECT id FROM trades WHERE symbol IN ['ACME', 'BOLT']", "SELECT id FROM trades WHERE symbol IN ('ACME', 'BOLT')"],
  [
    'SELECT id FROM trades WHERE executed_at >= DATE_SUB(NOW(), INTERVAL 5 DAY)',
    "SELECT id FROM trades WHERE executed_at >= (NOW() - INTERVAL '5 days')",
  ],
  [
    'SELECT id FROM trades WHERE executed_at > now() - 7',
    "SELECT id FROM trades WHERE executed_at > now() - INTERVAL '7 days'",
  ],
  ["SELECT id FROM trades WHERE executed_at < '31/01/2026'", "SELECT id FROM trades WHERE executed_at < '2026-01-31'"],
  [
    'SELECT symbol, count(*) AS n FROM trades WHERE quantity > 100 AND count(*) > 5 GROUP BY symbol ORDER BY n',
    'SELECT symbol, count(*) AS n FROM trades WHERE quantity > 100 GROUP BY symbol HAVING count(*) > 5 ORDER BY n',
  ],
  [
    'SELECT id, row_number() OVER (PARTITION BY symbol ORDER BY executed_at DESC) AS rn FROM trades WHERE rn = 1',
    'SELECT id, row_number() OVER (PARTITION BY symbol ORDER BY executed_at DESC) AS rn FROM trades QUALIFY rn = 1',
  ],
  [
    'SELECT symbol, sum(quantity) AS volume FROM trades GROUP BY symbol HAVING volume > 100',
    'SELECT symbol, sum(quantity) AS volume FROM trades GROUP BY symbol HAVING (sum(quantity)) > 100',
  ],
  ['SELECT symbol, max(price) AS p FROM trades', 'SELECT symbol, max(price) AS p FROM trades GROUP BY symbol'],
  [
    'SELECT symbol FROM trades t JOIN instruments i ON t.symbol = i.symbol',
    'SELECT t.symbol FROM trades t JOIN instruments i ON t.symbol = i.symbol',
  ],
  [
    'SELECT t.id, q.bid FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol',
    'SELECT t.id, q.bid FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol AND t.executed_at >= q.quoted_at',
  ],
  [
    'SELECT symbol, avg(price) AS p FROM trades SAMPLE BY 1h',
    "SELECT symbol, avg(price) AS p FROM trades GROUP BY time_bucket('1 hour', executed_at), symbol",
  ],
  ["SELECT id FROM trades WHERE symbol ~ '^AC'", "SELECT id FROM trades WHERE symbol LIKE 'AC%'"],
  ["SELECT id FROM trades WHERE price > '100'", 'SELECT id FROM trades WHERE price > 100'],
  ["SELECT symbol || ' ' || price AS s FROM trades", "SELECT symbol || ' ' || CAST(price AS Text) AS s FROM trades"],
  ['SELECT price^2 AS p FROM trades', 'SELECT power(CAST(price AS Double), 2) AS p FROM trades'],
  [
    'SELECT YEAR(executed_at) AS y, COUNT() AS n FROM trades GROUP BY y',
    'SELECT EXTRACT(year FROM executed_at) AS y, count(*) AS n FROM trades GROUP BY y',
  ],
  [
    "SELECT IF(side = 'Buy', quantity, 0) AS b FROM trades",
    "SELECT CASE WHEN side = 'Buy' THEN quantity ELSE 0 END AS b FROM trades",
  ],
  ['SELECT percentile(price, 0.95) AS p FROM trades', 'SELECT percentile_cont(0.95, price) AS p FROM trades'],
  [
    'SELECT DISTINCT symbol FROM trades ORDER BY executed_at DESC',
    'SELECT symbol FROM trades GROUP BY ALL ORDER BY max(executed_at) DESC',
  ],
  [
    'SELECT price / (quantity - quantity) AS r FROM trades',
    'SELECT price / NULLIF((quantity - quantity), 0) AS r FROM trades',
  ],
  ['SELECT * FROM information_schema.tables', 'SHOW TABLES'],
  ['SELECT price FROM trades WHERE symbol = :symbol', "SELECT price FROM trades WHERE symbol = '…'"],
]

/** Nothing close to these would run: the error has another statement that does, on the same table. */
export const ANOTHER: readonly string[] = [
  'SELECT json_get(note, 1) FROM trades',
  "SELECT id FROM trades WHERE executed_at < '2026-13-01'",
  'DELETE FROM trades WHERE id = 1',
  'SELECT id FROM trades PIVOT (sum(quantity) FOR side)',
]
