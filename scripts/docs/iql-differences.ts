/** What IQL means by intention where PostgreSQL means something else without an error. test/wire/postgres-values.test.ts asks both. */

interface Difference {
  readonly what: string
  readonly here: string
  readonly postgres: string
  /** Expressions, or statements, that show it. */
  readonly examples: readonly string[]
}

export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'a number with an exponent, as in `1e3`',
    here: 'Double',
    postgres: '`numeric`',
    examples: [
      '0.1e0 + 0.2e0',
      '0.3 = 0.1e0 + 0.2e0',
      '1e21',
      '123456789.123456789e0',
      'CAST(1e-7 AS text)',
      '1e0 / 3',
    ],
  },
  {
    what: '`round` and a cast of a Double that is halfway between two whole numbers',
    here: 'away from zero',
    postgres: 'to the even one',
    examples: [
      'round(CAST(2.5 AS float8))',
      'CAST(CAST(2.5 AS float8) AS bigint)',
      'CAST(CAST(-2.5 AS float8) AS bigint)',
    ],
  },
  {
    what: 'the quotient of Decimals',
    here: '16 digits after the point, or 12',
    postgres: 'at least 16 significant digits',
    examples: ['1.0 / 3', '2.0 / 3', '1 / 3.0'],
  },
  {
    what: '`power`, `exp`, `ln`',
    here: '12 significant digits',
    postgres: 'all digits that its C library gives',
    examples: ['power(CAST(2 AS float8), CAST(0.5 AS float8))', 'exp(1)', 'ln(10)'],
  },
  {
    what: '`sum`, `avg` and statistics of Doubles',
    here: 'exact, rounded once',
    postgres: 'rounded with every row',
    examples: [
      'SELECT sum(x) FROM (SELECT CAST(0.1 AS float8) AS x UNION ALL SELECT CAST(0.2 AS float8)) AS v',
      'SELECT corr(x, y) FROM (SELECT CAST(1 AS float8) AS x, CAST(2 AS float8) AS y UNION ALL SELECT 2, 5 UNION ALL SELECT 3, 4) AS v',
    ],
  },
  {
    what: 'a Double as Text, and its negative zero',
    here: 'as JavaScript writes it, `0`',
    postgres: '`1e+20`, `1e-07`, `-0`',
    examples: [
      'CAST(CAST(1e20 AS float8) AS text)',
      'CAST(CAST(1e-7 AS float8) AS text)',
      'ceil(CAST(-0.5 AS float8))',
    ],
  },
  {
    what: '`timestamp`, and a Date with an Interval added',
    here: 'Timestamp, in UTC; `LOCALTIMESTAMP` is without a zone',
    postgres: 'without a zone; an offset is ignored',
    examples: [
      "timestamp '2026-07-01 13:30'",
      "timestamp '2026-07-01 13:30+02'",
      "timestamp '2026-07-01 13:30' AT TIME ZONE 'America/New_York'",
      "CAST('2026-01-31' AS timestamp)",
      "DATE '2026-01-31' + INTERVAL '1 month'",
    ],
  },
  {
    what: 'a Timestamp as Text',
    here: '`2026-01-31T10:00:00.5Z`',
    postgres: '`2026-01-31 10:00:00.5+00`',
    examples: ["CAST(timestamptz '2026-01-31 10:00:00.5Z' AS text)"],
  },
  {
    what: "`date_part('second', x)`, `millisecond`, `microsecond` and `epoch`",
    here: 'whole numbers, within the second; `EXTRACT` is as in PostgreSQL',
    postgres: 'with fractions; milliseconds and microseconds include the seconds',
    examples: [
      "date_part('second', timestamptz '2026-01-31T09:45:10.5Z')",
      "date_part('millisecond', timestamptz '2026-01-31T09:45:10.5Z')",
      "date_part('microsecond', timestamptz '2026-01-31T09:45:10.5Z')",
      "date_part('epoch', timestamptz '2026-01-31T09:45:10.5Z')",
    ],
  },
  {
    what: '`to_timestamp` of a number with more than six digits after the point',
    here: 'a Decimal, rounded half away from zero',
    postgres: '`float8`, rounded half to even',
    examples: ['to_timestamp(1767600000.1234565)'],
  },
  {
    what: 'days of an Interval',
    here: '24 hours: `36 hours` is `1 day 12:00:00`',
    postgres: 'kept apart from hours: `36:00:00`',
    examples: [
      "INTERVAL '36 hours'",
      "INTERVAL '1 day' + INTERVAL '30 hours'",
      "INTERVAL '1 day -1 hour'",
      "INTERVAL '-25 hours'",
    ],
  },
  {
    what: '`generate_series` in months from the 31st',
    here: 'each step counts from the start: 31, 28, 31, 30',
    postgres: 'each step counts from the one before: 31, 28, 28, 28',
    examples: [
      "SELECT x FROM generate_series(timestamptz '2026-01-31 00:00Z', timestamptz '2026-04-30 00:00Z', interval '1 month') AS x",
    ],
  },
  {
    what: 'a backslash in a pattern of `LIKE` without `ESCAPE`',
    here: "a character like any other; [over PostgreSQL's protocol](wire-statements.md#protocol) the escape character",
    postgres: 'the escape character',
    // They are asked over PostgreSQL's protocol, where nothing differs.
    examples: [],
  },
  {
    what: '`upper`, `lower` and `ILIKE`',
    here: 'by the rules of Unicode',
    postgres: 'by the locale of the database',
    examples: ["upper('straße')", "lower('ÅSE')", "'ÄBC' ILIKE 'ä%'"],
  },
]
