/** IQL for models: chapters of a few lines with examples, which `iql_help` and the skill for assistants show. */
import { FUNCTIONS, formatSignature, SPECIAL_FORMS } from 'gatehouse-iql'

export interface Chapter {
  readonly title: string
  /** Words by which it is found, besides those of its text. */
  readonly words: string
  readonly text: string
  /** Each runs on the tables trades and quotes of the demonstration. */
  readonly examples: readonly string[]
}

export const CHAPTERS: readonly Chapter[] = [
  {
    title: 'Basics',
    words: 'select where order limit parameter quote string name case',
    text: 'One statement, much like SELECT in PostgreSQL. Text in \'single quotes\', unusual names in "double quotes"; names are case-insensitive. Values best as parameters, :name or $1, whose types come from the context. Without ORDER BY the order is undefined. SHOW TABLES and DESCRIBE t list tables and columns.',
    examples: ["SELECT symbol, price FROM trades WHERE symbol = 'ACME' ORDER BY executed_at DESC LIMIT 10"],
  },
  {
    title: 'Types',
    words: 'cast convert integer decimal double boolean text null literal',
    text: 'Text, Integer, Decimal(p, s), Double, Boolean, Timestamp (UTC), Date, Time, Uuid, Json, Binary. No implicit conversion but between numbers: write CAST(x AS Type). A literal takes the type of what it is compared with. 4.2 is a Decimal, 4e2 a Double, 5 / 2 is 2. NULLs sort last ascending.',
    examples: ['SELECT CAST(executed_at AS Date) AS day, count(*) FROM trades GROUP BY day ORDER BY day'],
  },
  {
    title: 'Time',
    words: 'timestamp date interval now zone day hour minute today yesterday timezone extract date_part',
    text: "TIMESTAMP '2026-01-31T10:00:00Z', DATE '2026-01-31', INTERVAL '5 minutes'; now(), current_date. AT TIME ZONE 'America/New_York' gives what the clocks there read. date_part('hour', t).",
    examples: ["SELECT count(*) FROM trades WHERE executed_at >= now() - INTERVAL '1 day'"],
  },
  {
    title: 'Groups',
    words: 'group aggregate having count sum avg pivot filter total distinct median percentile',
    text: 'GROUP BY names outputs or ALL. Aggregates take DISTINCT and FILTER (WHERE …). HAVING filters groups. Two outputs cannot have one name: use AS.',
    examples: [
      'SELECT symbol, count(*) AS trades, sum(quantity) AS volume, vwap(price, quantity) AS vwap FROM trades GROUP BY symbol ORDER BY volume DESC',
      "SELECT symbol, sum(quantity) FILTER (WHERE side = 'Buy') AS bought, sum(quantity) FILTER (WHERE side = 'Sell') AS sold FROM trades GROUP BY symbol",
    ],
  },
  {
    title: 'Bars',
    words: 'time_bucket ohlc candle bucket gap gapfill locf interpolate open high low close series grid',
    text: 'time_bucket(width, time) groups by time; first(x, t) and last(x, t) are the values at the ends. time_bucket_gapfill(width, time, start, end) has a row for every bucket; locf(x) and interpolate(x) fill it.',
    examples: [
      "SELECT symbol, time_bucket('5 minutes', executed_at) AS bar, first(price, executed_at) AS open, max(price) AS high, min(price) AS low, last(price, executed_at) AS close FROM trades GROUP BY symbol, bar ORDER BY symbol, bar",
    ],
  },
  {
    title: 'Latest',
    words: 'last newest current latest on partition per each distinct on',
    text: 'LATEST ON time PARTITION BY key keeps the newest row of each key, fast with an index on (key, time).',
    examples: ['SELECT symbol, price, executed_at FROM trades LATEST ON executed_at PARTITION BY symbol'],
  },
  {
    title: 'Joins',
    words: 'join asof left using prevailing quote at the time with union',
    text: 'JOIN, LEFT JOIN, CROSS JOIN; ON or USING; WITH, UNION, EXCEPT, INTERSECT, EXISTS, IN. ASOF JOIN takes the one closest row: equalities and exactly one of >=, >, <=, <.',
    examples: [
      'SELECT t.id, t.price, q.bid, q.ask FROM trades t ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND t.executed_at >= q.quoted_at LIMIT 10',
    ],
  },
  {
    title: 'Windows',
    words: 'over window lag lead rank row_number moving rolling qualify change previous running cumulative ema',
    text: 'f(…) OVER (PARTITION BY … ORDER BY … [ROWS|RANGE BETWEEN … AND …]); QUALIFY filters by them.',
    examples: [
      'SELECT symbol, executed_at, price - lag(price) OVER (PARTITION BY symbol ORDER BY executed_at) AS change FROM trades ORDER BY executed_at DESC LIMIT 10',
      'SELECT symbol, id, quantity FROM trades QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY quantity DESC) <= 2',
    ],
  },
  {
    title: 'Text and Json',
    words: 'like ilike regexp match search json_get json_text concat upper lower substring',
    text: "LIKE is case-sensitive, ILIKE is not; || joins. json_get(j, 'name') is Json, json_text(j, 'name') is Text.",
    examples: ["SELECT id, venue FROM trades WHERE venue ILIKE 'l%' ORDER BY id LIMIT 10"],
  },
  {
    title: 'Cost',
    words: 'slow explain analyze index scan expensive plan live limit time performance',
    text: 'EXPLAIN says how a statement runs: "find … by" uses a key or an index, "read" reads a whole table. EXPLAIN ANALYZE runs and measures it; EXPLAIN LIVE says how it is kept up to date. Filter by the first columns of a key or an index.',
    examples: ['EXPLAIN SELECT price FROM trades WHERE id = 1'],
  },
]

const HELP_BYTES = 6 * 1024
const MOST_FUNCTIONS = 25

/** Everything in short, or what matches the words of a topic. */
export function iqlHelp(topic: string | undefined): string {
  const words = (topic ?? '').toLowerCase().match(/[\w]+/g) ?? []
  if (words.length === 0) {
    whole ??= writeWhole()
    return whole
  }
  const functions = describeFunctions(words)
  const chapters = CHAPTERS.map((chapter) => ({ chapter, score: score(chapter, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 3)
    .map(({ chapter }) => chapterText(chapter))
  if (functions.length + chapters.length === 0)
    return `Nothing matches. Chapters: ${CHAPTERS.map(({ title }) => title).join(', ')}. Functions: ${functionNames().join(' ')}`
  const text = [...chapters, functions.join('\n')].join('\n\n')
  return text.length > HELP_BYTES ? `${text.slice(0, HELP_BYTES - 50)}\n# Cut: ask for one function.` : text
}

let whole: string | undefined

function writeWhole(): string {
  return [
    ...CHAPTERS.map(chapterText),
    `Functions: ${functionNames().join(' ')}`,
    'Ask with a topic, such as time_bucket, for what a function does.',
  ].join('\n\n')
}

export function chapterText({ title, text, examples }: Chapter): string {
  return [`${title}. ${text}`, ...examples.map((example) => `  ${example}`)].join('\n')
}

function score({ title, words, text }: Chapter, wanted: readonly string[]): number {
  const inTitle = title.toLowerCase()
  const inWords = new Set(words.split(' '))
  const inText = new Set(text.toLowerCase().match(/\w+/g))
  return wanted.reduce(
    (sum, word) => sum + (inTitle.includes(word) ? 4 : 0) + (inWords.has(word) ? 2 : 0) + (inText.has(word) ? 1 : 0),
    0,
  )
}

export function functionNames(): string[] {
  return [...new Set([...FUNCTIONS.map(({ name }) => name), ...SPECIAL_FORMS.map(({ name }) => name)])].sort()
}

/** Those with a word in their name; those with one in their description, if there are no others. */
function describeFunctions(words: readonly string[]): readonly string[] {
  const all = [
    ...FUNCTIONS.map((entry) => ({ ...entry, signature: formatSignature(entry) })),
    ...SPECIAL_FORMS.map((form) => ({ ...form, signature: `${form.name}(…)` })),
  ]
  const named = all.filter(({ name }) =>
    words.some((word) => name === word || (word.length > 3 && name.includes(word))),
  )
  const shown =
    named.length > 0
      ? named
      : all.filter(({ description }) => words.every((word) => description.toLowerCase().includes(word)))
  return shown
    .slice(0, MOST_FUNCTIONS)
    .map(({ signature, description, example }) => `${signature}: ${description} Example: ${example}`)
}
