/** Random rows and statements for column segments: values at the limits of what a segment can store, and every shape that it answers. */
import type { IqlValue } from 'gatehouse-iql'
import type { Choice } from '../agree/choice.ts'
import type { Range, Row } from './segmented-table.ts'

const TEXTS = [
  'a',
  'b',
  'B',
  'ab',
  '',
  'é',
  'z',
  '\u{FFFD}',
  '\u{1F600}',
  '\u{10FFFF}',
  'a\0b',
  '10',
  '9',
  ' x',
  "it's",
]
const UUIDS = ['123e4567-e89b-12d3-a456-426614174000', '00000000-0000-0000-0000-000000000001']
const INTEGERS = [0n, 1n, -1n, 5n, 255n, 256n, 65_535n, 65_536n, 1_000_000n, -70_000n, 4_294_967_295n]
const WILD_INTEGERS = [2n ** 53n, -(2n ** 53n), 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 52n]
const DOUBLES = [0, 1, -1.5, 0.1, 0.2, 0.3, 100, 1e15, 1.25, 99.99, 1e-7]
const WILD_DOUBLES = [
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e300,
  5e-324,
  0.30000000000000004,
  -1e22,
  123456789.1234,
  Math.PI,
]
const DAY = 86_400_000_000n
const NOW = 1_769_853_600_000_000n
const WILD_TIMES = [
  -62_135_596_800_000_000n,
  253_402_300_799_999_999n,
  -9_007_199_254_740_991n,
  9_007_199_254_740_991n,
  -1n,
  0n,
]

/** Each column has a range of its own in a table, so that all widths occur. */
export function makeRows(choice: Choice, count: number, isTame: boolean): Row[] {
  const step = choice.of([1n, 1n, 3n, 1000n, 2n ** 40n])
  let id = choice.of([0n, 1n, -500n, -(2n ** 62n)])
  const nulls = choice.of([0, 10, 50])
  const orNull = (value: () => IqlValue): IqlValue => (choice.below(100) < nulls ? null : value())
  const scale = choice.of([1n, 1000n, 1_000_000n])
  const span = choice.of([3, 300, 70_000, 2 ** 30])
  const base = choice.of(INTEGERS)
  const unit = choice.of([1n, 1000n, 60_000_000n, DAY])
  const wild = (): boolean => !isTame && choice.oneIn(40)
  const isText = choice.oneIn(8)
  const points = choice.of([0, 1, 2, 4])
  return Array.from({ length: count }, () => {
    id += 1n + BigInt(choice.below(Number(step > 1000n ? 1000n : step))) * (step > 1000n ? step / 1000n : 1n)
    const time = (): bigint =>
      wild() ? choice.of(WILD_TIMES) : NOW + BigInt(choice.below(Math.min(span, 70_000))) * unit
    return {
      id,
      k: orNull(() => choice.of(TEXTS)),
      t: orNull(() => `t${choice.below(isText ? 400 : 5)}`),
      g: orNull(() => choice.of(UUIDS)),
      i: orNull(() => (wild() ? choice.of(WILD_INTEGERS) : base + BigInt(choice.below(span)) * scale)),
      n: BigInt(choice.below(6)) - 2n,
      d: orNull(() => (wild() ? 999_999_999_999_999_999n : BigInt(choice.below(span)) * 7n - 20_000n)),
      p: orNull(() => BigInt(choice.below(500)) * 25n - 1000n),
      w: orNull(() => BigInt(choice.below(span)) * 10n ** 20n),
      x: orNull(() => (wild() ? choice.of([...WILD_DOUBLES, Number.NaN]) : choice.of(DOUBLES))),
      y: orNull(() =>
        wild() ? choice.of(WILD_DOUBLES) : Math.round(choice.below(span) * 10 ** points) / 10 ** points / 8,
      ),
      ok: orNull(() => choice.oneIn(2)),
      ts: orNull(() => time()),
      dt: orNull(() => BigInt(choice.below(400)) + 20_000n),
      tm: orNull(() => BigInt(choice.below(86_400)) * 1_000_000n),
    }
  })
}

/** Ranges that do not overlap: some begin before the first row, end after the last one, or have no rows. */
export function makeRanges(choice: Choice, ids: readonly bigint[]): Range[] {
  const ranges: Range[] = []
  let at = choice.below(20)
  let next = choice.oneIn(3) ? (ids[0] as bigint) - 10n : (ids[at] as bigint)
  while (at < ids.length) {
    at += 1 + choice.below(80)
    const last = ids[Math.min(at, ids.length) - 1] as bigint
    if (last >= next) ranges.push({ first: next, last })
    next = last + 1n
    if (choice.oneIn(5)) {
      at += choice.below(10)
      next = ids[at] ?? next
    }
    if (choice.oneIn(8)) break
  }
  return ranges
}

const KEYS = [
  'k',
  't',
  'g',
  'n',
  'i',
  'p',
  'd',
  'x',
  'y',
  'ok',
  'dt',
  'tm',
  'ts',
  'upper(k)',
  'length(t)',
  "k || 'x'",
  "coalesce(t, 'none')",
  "k IN ('a', 'b')",
  "CASE WHEN k = 'a' THEN 1 WHEN k = 'b' THEN 2 END",
  'k IS NULL',
  "time_bucket(INTERVAL '1 hour', ts)",
  "time_bucket(INTERVAL '7 minutes', ts)",
  "time_bucket(INTERVAL '1 day', ts)",
  "time_bucket(INTERVAL '1000 days', ts)",
  "date_trunc('minute', ts)",
  "date_trunc('day', ts)",
  "date_trunc('week', ts)",
  "date_trunc('month', ts)",
  "date_trunc('quarter', ts)",
  "date_trunc('year', ts)",
  "date_trunc('month', dt)",
  "date_trunc('day', dt)",
  "time_bucket(INTERVAL '3 months', ts)",
  "time_bucket(INTERVAL '3 days', dt)",
  "time_bucket(INTERVAL '1 day', ts, 'America/New_York')",
  "time_bucket(INTERVAL '6 hours', ts, 'Australia/Lord_Howe')",
  "time_bucket(INTERVAL '1 month', ts, 'Europe/London')",
  "date_trunc('day', ts, 'Australia/Sydney')",
  "date_trunc('week', ts, 'America/Sao_Paulo')",
  "date_trunc('hour', ts, 'Asia/Kathmandu')",
] as const
/** Some of these are read from rows. */
const MORE_KEYS = ['i + 1', 'k || t']
const NUMBERS = ['i', 'n', 'd', 'p', 'x', 'y']
const VALUES = [...NUMBERS, ...NUMBERS, 'k', 't', 'ts', 'dt', 'tm', 'id', 'k', 't', 'ts', 'w', 'g']
const LITERALS: Readonly<Record<string, readonly string[]>> = {
  i: ['0', '5', '-1', '255', '65536', '2.5', '1000000', '9007199254740993', '0.1e0', '1e30', 'NULL'],
  n: ['0', '1', '-2', '2.5', '1.5e0'],
  d: ['0', '1', '-2', '0.0007', '-1.99930', '2.5e0', '0.00005', '123456789012345678901234.5'],
  p: ['0', '1.25', '-2.5', '0.1', '1.2501', '0.25e0'],
  x: [
    '0.1e0',
    '1',
    '0.3e0',
    '1e300',
    '-1e300',
    '0',
    '1.25',
    '0.30000000000000004e0',
    "CAST('NaN' AS Double)",
    "CAST('Infinity' AS Double)",
    "CAST('-Infinity' AS Double)",
  ],
  y: ['0.125e0', '1', '-0.5', '100.75e0', '1e10'],
  id: ['1', '100', '-250', '1.5'],
  ts: ["'2026-01-31T10:00:00Z'", "'2026-02-01'", "DATE '2026-02-03'", 'now()', "'1969-12-31T23:59:59.999999Z'"],
  dt: ["'2025-01-01'", "'2025-03-01T10:00:00Z'", "DATE '2025-06-01'"],
  tm: ["'09:30:00'", "'00:00:00'"],
  ok: ['TRUE', 'FALSE'],
}
const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', '=', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']

function makeCondition(choice: Choice): string {
  if (choice.oneIn(40)) return choice.of(['n + 1 = 2', 'n % 2 = 0', 'i = n', "k = 'a' OR n = 1"])
  if (choice.oneIn(3))
    return choice.of([
      "k = 'a'",
      "k <> 'b'",
      "k > 'A'",
      "k IN ('a', 'B', 'z')",
      "k NOT IN ('a', 'B', NULL)",
      "k LIKE '%b%'",
      "k ILIKE 'B'",
      "upper(k) = 'B' OR k IS NULL",
      "t = 't1'",
      "t BETWEEN 't1' AND 't3'",
      "NOT (t = 't1')",
      'k IS NULL',
      'x IS NOT NULL',
      'ts IS NULL',
      'g IS NOT NULL',
      "g = '123e4567-e89b-12d3-a456-426614174000'",
      'ok',
      'NOT ok',
      'ok IS TRUE',
      'TRUE',
      'NULL',
      "length(k) = 1 AND k < 'c'",
      "k IS DISTINCT FROM 'a'",
      'n IN (1, 2, NULL)',
      'n NOT IN (1, 2)',
      'i IN (5, 255, 1.5)',
      'p IN (1.25, 2)',
      'x IN (0.1e0, 1)',
    ])
  const column = choice.of(Object.keys(LITERALS))
  const literals = LITERALS[column] ?? []
  if (choice.oneIn(4))
    return `${column} ${choice.of(['', 'NOT '])}BETWEEN ${choice.of(literals)} AND ${choice.of(literals)}`
  const operator = choice.of(OPERATORS)
  return choice.oneIn(6)
    ? `${choice.of(literals)} ${operator} ${column}`
    : `${column} ${operator} ${choice.of(literals)}`
}

function makeAggregate(choice: Choice): string {
  const number = choice.of(NUMBERS)
  const call = choice.oneIn(10)
    ? choice.of(['sum(w)', `sum(DISTINCT ${number})`, `avg(DISTINCT ${number})`, `sum(${number} + 1)`, `max(upper(k))`])
    : choice.of([
        'count(*)',
        `count(${choice.of(VALUES)})`,
        `sum(${number})`,
        `avg(${number})`,
        `min(${choice.of(VALUES)})`,
        `max(${choice.of(VALUES)})`,
        `first(${choice.of(VALUES)}, ${choice.of(VALUES)})`,
        `last(${choice.of(VALUES)}, ${choice.of(VALUES)})`,
        `first(${number}, ts)`,
        'bool_and(ok)',
        'bool_or(ok)',
        `sum(${choice.of(['p', 'd', 'n', 'i'])} * ${choice.of(['p', 'd', 'n', 'i'])})`,
        `count(DISTINCT ${choice.of(VALUES)})`,
        `median(${number})`,
        `percentile_cont(0.9, ${number})`,
        `percentile_disc(0.25, ${number})`,
        `vwap(${choice.of(['p', 'd', 'n', 'i'])}, ${choice.of(['p', 'd', 'n', 'i'])})`,
        `${choice.of(['variance', 'stddev', 'var_pop', 'stddev_pop'])}(${number})`,
      ])
  return choice.oneIn(5) ? `${call} FILTER (WHERE ${makeCondition(choice)})` : call
}

export function makeStatement(choice: Choice): string {
  const keys = choice.oneIn(4) ? [] : choice.list(1, 3, () => choice.of(choice.oneIn(15) ? MORE_KEYS : KEYS))
  const aggregates = choice.list(keys.length === 0 ? 1 : 0, 4, () => makeAggregate(choice))
  const outputs = [
    ...keys.map((key, index) => `${key} AS g${index}`),
    ...aggregates.map((call, index) => `${call} AS a${index}`),
  ]
  const conditions = choice.oneIn(2) ? [] : choice.list(1, 3, () => makeCondition(choice))
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.map((x) => `(${x})`).join(' AND ')}`
  const grouped = keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
  const having = choice.oneIn(6)
    ? ` HAVING ${choice.of(['count(*) > 2', '10 / (count(*) - 3) > 0', 'max(n) > 0'])}`
    : ''
  const direction = (): string => choice.of(['', ' DESC', ' DESC NULLS LAST', ' NULLS FIRST'])
  const ordered = choice.oneIn(3)
    ? [`${1 + choice.below(outputs.length)}${direction()}`]
    : choice.oneIn(3)
      ? keys.map((_key, index) => `${keys.length - index}${direction()}`)
      : []
  const orderBy = ordered.length === 0 ? '' : ` ORDER BY ${ordered.join(', ')}`
  const limit = choice.oneIn(4) ? ` LIMIT ${choice.below(20)}` : ''
  const table = choice.oneIn(8) ? 'filtered' : 'rows'
  return `SELECT ${choice.oneIn(8) ? 'DISTINCT ' : ''}${outputs.join(', ')} FROM ${table}${where}${grouped}${having}${orderBy}${limit}`
}
