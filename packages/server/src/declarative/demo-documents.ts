/** The saved queries and the board of the demonstration, over its market. */

const BUSY = "('ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO')"
/** The trades that the market starts with are from another year: charts show the latest minutes. */
const RECENT = "> now() - interval '15 minutes'"
const COMMON = { owner: 'admin', shared: 'everyone' } as const

/** A document of this table. The compiler compares it with the schema where it is handed to the query service. */
export type DeclaredDocument = (typeof DEMO_DOCUMENTS)[number]

/** Ids are fixed, so that each is created once and can be linked to; `owner` is a username. */
export const DEMO_DOCUMENTS = [
  {
    ...COMMON,
    id: 'demo-market',
    kind: 'board',
    name: 'Market',
    body: {
      description: 'The market of the demonstration, as it trades',
      tiles: [
        {
          title: 'Prices',
          statement: `select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask, last(bid, quoted_at) - first(bid, quoted_at) as change, round((last(bid, quoted_at) / first(bid, quoted_at) - 1) * 100, 2) as pct from quotes where symbol in ${BUSY} group by symbol order by symbol`,
          view: 'table',
          live: true,
          position: { x: 0, y: 0, w: 5, h: 6 },
        },
        {
          title: 'Bid and ask of :symbol',
          // Without now(), with which it would be read once a second, and be behind the table of prices beside it.
          statement:
            "select quoted_at, bid, ask from quotes where symbol = :symbol and quoted_at > (select max(quoted_at) from quotes where symbol = :symbol) - interval '15 minutes' order by quoted_at",
          parameters: { symbol: 'ACME' },
          view: 'line',
          x: 'quoted_at',
          y: ['bid', 'ask'],
          live: true,
          position: { x: 5, y: 0, w: 7, h: 6 },
        },
        {
          title: 'Candles of :symbol',
          statement: `select time_bucket(interval '15 seconds', executed_at) as time, first(price, executed_at) as open, max(price) as high, min(price) as low, last(price, executed_at) as close, sum(quantity) as volume from trades where symbol = :symbol and executed_at ${RECENT} group by time_bucket(interval '15 seconds', executed_at) order by time`,
          parameters: { symbol: 'ACME' },
          view: 'candles',
          x: 'time',
          y: ['open', 'high', 'low', 'close', 'volume'],
          live: true,
          position: { x: 0, y: 6, w: 8, h: 6 },
        },
        {
          title: 'Volume',
          statement: `select symbol, sum(quantity) as volume from trades where symbol in ${BUSY} group by symbol order by symbol`,
          view: 'bar',
          x: 'symbol',
          y: ['volume'],
          live: true,
          position: { x: 8, y: 6, w: 4, h: 6 },
        },
        {
          title: 'Last trades',
          statement:
            'select executed_at, symbol, side, quantity, price, venue from trades order by executed_at desc, id desc limit 20',
          view: 'table',
          live: true,
          position: { x: 0, y: 12, w: 12, h: 7 },
        },
        {
          title: 'Minutes of :symbol',
          statement: `select bar, open, high, low, close, volume from bars_1m where symbol = :symbol order by bar desc limit 60`,
          parameters: { symbol: 'ACME' },
          view: 'candles',
          x: 'bar',
          y: ['open', 'high', 'low', 'close', 'volume'],
          live: true,
          position: { x: 0, y: 19, w: 12, h: 6 },
        },
      ],
    },
  },
  {
    ...COMMON,
    id: 'demo-last-trades',
    kind: 'query',
    name: 'Last trades of a symbol',
    body: {
      description: 'Change the parameter to see another symbol',
      statement:
        'select executed_at, side, quantity, price, venue\nfrom trades\nwhere symbol = :symbol\norder by executed_at desc\nlimit 100',
      parameters: { symbol: 'ACME' },
      view: 'table',
      live: true,
    },
  },
  {
    ...COMMON,
    id: 'demo-minutes',
    kind: 'query',
    name: 'Minutes of a symbol',
    body: {
      description: 'A materialized view: the bars are stored, and brought up to date after each trade',
      statement:
        'select bar, open, high, low, close, volume\nfrom bars_1m\nwhere symbol = :symbol\norder by bar desc\nlimit 120',
      parameters: { symbol: 'ACME' },
      view: 'candles',
      x: 'bar',
      y: ['open', 'high', 'low', 'close', 'volume'],
      live: true,
    },
  },
  {
    ...COMMON,
    id: 'demo-hours',
    kind: 'query',
    name: 'Hours of a symbol',
    body: {
      description: 'A materialized view of that of the minutes',
      statement:
        'select hour, open, high, low, close, volume\nfrom bars_1h\nwhere symbol = :symbol\norder by hour desc\nlimit 120',
      parameters: { symbol: 'ACME' },
      view: 'candles',
      x: 'hour',
      y: ['open', 'high', 'low', 'close', 'volume'],
      live: true,
    },
  },
  {
    ...COMMON,
    id: 'demo-turnover',
    kind: 'query',
    name: 'Turnover by sector',
    body: {
      description: 'A join of trades with instruments',
      statement:
        'select i.sector, sum(t.price * t.quantity) as turnover, count(*) as trades\nfrom trades t\njoin instruments i on i.symbol = t.symbol\ngroup by i.sector\norder by turnover desc',
      view: 'bar',
      x: 'sector',
      y: ['turnover'],
    },
  },
  {
    ...COMMON,
    id: 'demo-spread',
    kind: 'query',
    name: 'Trades against the quote before them',
    body: {
      description: 'An as-of join: each trade with the quote that was valid when it was made',
      statement:
        'select t.executed_at, t.side, t.price, q.bid, q.ask\nfrom trades t\nasof join quotes q on q.symbol = t.symbol and q.quoted_at <= t.executed_at\nwhere t.symbol = :symbol\norder by t.executed_at desc\nlimit 50',
      parameters: { symbol: 'ACME' },
      view: 'table',
    },
  },
] as const
