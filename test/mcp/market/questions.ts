/** Thirty questions about the demonstration's market, with calls that answer them, and what the answer has in it. */

export interface Call {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

export interface Question {
  readonly question: string
  readonly calls: readonly Call[]
  /** The answer, as the last text has it. */
  readonly answer: string
}

const tables: Call = { tool: 'list_tables', args: {} }
const describe = (table: string): Call => ({ tool: 'describe_table', args: { table } })
const help = (topic: string): Call => ({ tool: 'iql_help', args: { topic } })
const query = (statement: string, more: object = {}): Call => ({ tool: 'query', args: { statement, ...more } })

export const QUESTIONS: readonly Question[] = [
  {
    question: 'How many trades are there, and how many tables?',
    calls: [tables, query('SELECT count(*) AS n FROM trades')],
    answer: '\nn\n4000',
  },
  {
    question: 'From when until when do the trades reach?',
    calls: [describe('trades'), query('SELECT min(executed_at) AS first, max(executed_at) AS last FROM trades')],
    answer: '2026-01-05T08:00:05.937Z,2026-01-09T15:59:26.366Z',
  },
  {
    question: 'What was the last price of ACME?',
    calls: [
      describe('trades'),
      query("SELECT price, executed_at FROM trades WHERE symbol = 'ACME' ORDER BY executed_at DESC LIMIT 1"),
    ],
    answer: '101.5200,2026-01-09T15:34:22.473Z',
  },
  {
    question: 'Which three symbols had the largest turnover?',
    calls: [
      describe('trades'),
      query(
        'SELECT symbol, sum(quantity * price) AS turnover FROM trades GROUP BY symbol ORDER BY turnover DESC LIMIT 3',
      ),
    ],
    answer: 'BOS,328594052.0000\nEVI,292897060.0000\nEVA,282811460.0000',
  },
  {
    question: 'What was the volume-weighted average price of ACME on 7 January 2026?',
    calls: [
      help('vwap'),
      query(
        "SELECT round(vwap(price, quantity), 4) AS vwap FROM trades WHERE symbol = :symbol AND CAST(executed_at AS Date) = '2026-01-07'",
        { parameters: { symbol: 'ACME' } },
      ),
    ],
    answer: '\n101.2770',
  },
  {
    question: 'Which sector was traded most, by quantity?',
    calls: [
      tables,
      describe('instruments'),
      query(
        'SELECT i.sector, sum(t.quantity) AS q FROM trades t JOIN instruments i USING (symbol) GROUP BY i.sector ORDER BY q DESC LIMIT 1',
      ),
    ],
    answer: 'Materials,4040491',
  },
  {
    question: 'What is the turnover of each sector? Somebody has saved a query for that.',
    calls: [
      { tool: 'saved_query', args: {} },
      { tool: 'saved_query', args: { name: 'Turnover by sector' } },
    ],
    answer: 'Materials,688707103.2400,711\nHealth,437457308.2400,760',
  },
  {
    question: 'What were the last three trades of BOLT, by the saved query?',
    calls: [
      {
        tool: 'saved_query',
        args: { name: 'Last trades of a symbol', parameters: { symbol: 'BOLT' }, max_rows: 3 },
      },
    ],
    answer: '2026-01-09T15:54:17.761Z,Buy,1330,47.6000,LIT',
  },
  {
    question: 'What were the highest and the lowest price of BOLT?',
    calls: [query("SELECT max(price) AS high, min(price) AS low FROM trades WHERE symbol = 'BOLT'")],
    answer: '48.1500,47.6000',
  },
  {
    question: 'What was the largest single trade?',
    calls: [
      describe('trades'),
      query('SELECT symbol, price, quantity, executed_at FROM trades ORDER BY quantity DESC LIMIT 1'),
    ],
    answer: 'ALS,182.4700,49500,2026-01-09T13:16:30.66Z',
  },
  {
    question: 'On which day was most traded?',
    calls: [
      query(
        'SELECT date(executed_at) AS day, sum(quantity) AS volume FROM trades GROUP BY day ORDER BY volume DESC LIMIT 1',
      ),
      query(
        'SELECT CAST(executed_at AS Date) AS day, sum(quantity) AS volume FROM trades GROUP BY day ORDER BY volume DESC LIMIT 1',
      ),
    ],
    answer: '2026-01-07,2875211',
  },
  {
    question: 'How many trades have no venue?',
    calls: [describe('trades'), query('SELECT count(*) AS n FROM trades WHERE venue IS NULL')],
    answer: '\n671',
  },
  {
    question: 'Which share of the trades was in the dark, in percent?',
    calls: [
      query('SELECT venue, count(*) AS n FROM trades GROUP BY venue ORDER BY n DESC'),
      query("SELECT round(100.0 * count(*) FILTER (WHERE venue = 'DARK') / count(*), 1) AS share FROM trades"),
    ],
    answer: '\n16.3',
  },
  {
    question: 'Which symbol has the widest spread now, in basis points?',
    calls: [
      describe('quotes'),
      help('latest'),
      query(
        'SELECT symbol, round((ask - bid) / bid * 10000, 2) AS bps FROM quotes LATEST ON quoted_at PARTITION BY symbol ORDER BY bps DESC, symbol LIMIT 1',
      ),
    ],
    answer: 'HAC,108.11',
  },
  {
    question: 'What are the bid and the ask of ACME?',
    calls: [describe('quotes'), query("SELECT bid, ask FROM quotes WHERE symbol = 'ACME'")],
    answer: '101.5100,101.5300',
  },
  {
    question: 'Which instruments are not active any more?',
    calls: [describe('instruments'), query('SELECT symbol FROM instruments WHERE NOT active ORDER BY symbol')],
    answer: 'BOE\nFAA\nIRT',
  },
  {
    question: 'How many instruments are not in US dollars?',
    calls: [
      describe('instruments'),
      query('SELECT currency, count(*) AS n FROM instruments GROUP BY currency ORDER BY n DESC, currency'),
      query("SELECT count(*) AS n FROM instruments WHERE currency <> 'USD'"),
    ],
    answer: '\n41',
  },
  {
    question: 'Which symbol has not been traded for the longest time?',
    calls: [query('SELECT symbol, max(executed_at) AS last FROM trades GROUP BY symbol ORDER BY last LIMIT 1')],
    answer: 'FAE,2026-01-09T13:30:27.86Z',
  },
  {
    question: 'Which symbol rose most in the week, in percent?',
    calls: [
      help('first last'),
      query(
        'SELECT symbol, round(100 * (last(price, executed_at) / first(price, executed_at) - 1), 2) AS change FROM trades GROUP BY symbol ORDER BY change DESC LIMIT 1',
      ),
    ],
    answer: 'CORN,14.19',
  },
  {
    question: 'What were the daily bars of ACME?',
    calls: [
      help('ohlc'),
      query(
        "SELECT time_bucket('1 day', executed_at) AS day, first(price, executed_at) AS open, max(price) AS high, min(price) AS low, last(price, executed_at) AS close FROM trades WHERE symbol = 'ACME' GROUP BY day ORDER BY day",
      ),
    ],
    answer: '2026-01-07T00:00:00Z,101.2100,101.5300,101.1500,101.4400',
  },
  {
    question: 'What is the median price of CORN?',
    calls: [query("SELECT round(median(price), 4) AS m FROM trades WHERE symbol = 'CORN'")],
    answer: '\n4.4600',
  },
  {
    question: 'How many trades were larger than the average?',
    calls: [query('SELECT count(*) AS n FROM trades WHERE quantity > (SELECT avg(quantity) FROM trades)')],
    answer: '\n653',
  },
  {
    question: 'Which instruments were never traded? How many are they?',
    calls: [
      tables,
      query(
        'SELECT count(*) AS n FROM instruments i WHERE NOT EXISTS (SELECT 1 FROM trades t WHERE t.symbol = i.symbol)',
      ),
    ],
    answer: '\n3',
  },
  {
    question: 'Did more people buy or sell ACME, and by how much?',
    calls: [
      describe('trades'),
      query(
        "SELECT sum(quantity) FILTER (WHERE side = 'Buy') - sum(quantity) FILTER (WHERE side = 'Sell') AS net FROM trades WHERE symbol = 'ACME'",
      ),
    ],
    answer: '\n-15610',
  },
  {
    question: 'What is the symbol of Bolt Power?',
    calls: [query("SELECT symbol, name FROM instruments WHERE name ILIKE '%bolt power%'")],
    answer: 'BOLT,Bolt Power',
  },
  {
    question: 'When was an instrument listed last?',
    calls: [describe('instruments'), query('SELECT max(listed) AS listed FROM instruments')],
    answer: '\n2024-11-18',
  },
  {
    question: 'In which hour of New York was the first trade of each day?',
    calls: [
      help('time zone'),
      query("SELECT min(date_part('hour', executed_at AT TIME ZONE 'America/New_York')) AS hour FROM trades"),
    ],
    answer: '\n3',
  },
  {
    question: 'Would looking up one trade by its id read the whole table?',
    calls: [query('EXPLAIN SELECT * FROM trades WHERE id = 5')],
    answer: 'find in trades by id',
  },
  {
    question:
      'How much of ACME had been traded by noon of the first day? An assistant writes it as in another dialect first.',
    calls: [
      query('SELECT id, SUM(qty) OVER (ORDER BY executed_at) AS running FROM trades WHERE symbol = "ACME"'),
      query(
        "SELECT id, sum(quantity) OVER (ORDER BY executed_at) AS running FROM trades WHERE symbol = 'ACME' AND executed_at < '2026-01-05T12:00:00Z' ORDER BY executed_at",
      ),
    ],
    answer: '399,11000',
  },
  {
    question: 'In which hours of the first morning was FAS not traded?',
    calls: [
      help('gapfill'),
      query(
        "SELECT time_bucket_gapfill('1 hour', executed_at, TIMESTAMP '2026-01-05T08:00:00Z', TIMESTAMP '2026-01-05T12:00:00Z') AS hour, count(*) AS n FROM trades WHERE symbol = 'FAS' GROUP BY hour ORDER BY hour",
      ),
    ],
    answer: '2026-01-05T10:00:00Z,\n',
  },
]
