/** Arithmetic with intervals, on a grid of times and intervals: on both engines what PostgreSQL itself computes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readInterval, readTime, readTimestamp } from 'gatehouse-iql'
import pg from 'pg'
import { onEveryEngine } from '../support/engines.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const TIMESTAMPS = [
  '1969-12-31T23:59:59.999999Z',
  '1999-12-31T00:00:00Z',
  '2000-02-29T12:34:56.5Z',
  '2023-01-31T00:00:00.000001Z',
  '2024-02-29T23:59:59Z',
  '2026-03-30T06:00:00Z',
  '1600-02-28T01:02:03Z',
]
const FIXED = [
  '0 seconds',
  '1 microsecond',
  '-1 second',
  '90 minutes',
  '1 day',
  '-36 hours',
  '1 week 2 days 03:04:05.000006',
]
const MONTHS = [
  '1 month',
  '-1 month',
  '11 months',
  '1 year',
  '-4 years',
  '1 year 2 months 3 days 04:05:06',
  '100 years -1 day',
]
const TIMES = ['00:00:00', '23:59:59.999999', '12:30:00']
const NUMBERS = [0, 1, -1, 7, -60]

const interval = (text: string): string => `INTERVAL '${text}'`
const pairs = <A, B>(left: readonly A[], right: readonly B[], make: (a: A, b: B) => string): string[] =>
  left.flatMap((a) => right.map((b) => make(a, b)))

/** Expressions of one type: the same text for both. */
const GRIDS: Readonly<Record<'timestamp' | 'time' | 'interval', readonly string[]>> = {
  timestamp: [
    ...pairs(TIMESTAMPS, [...FIXED, ...MONTHS], (at, by) => `TIMESTAMP '${at}' + ${interval(by)}`),
    ...pairs(TIMESTAMPS, [...FIXED, ...MONTHS], (at, by) => `TIMESTAMP '${at}' - ${interval(by)}`),
    ...pairs(TIMESTAMPS, MONTHS, (at, by) => `${interval(by)} + TIMESTAMP '${at}'`),
    ...pairs(TIMESTAMPS, [...FIXED, ...MONTHS], (at, by) => `DATE '${at.slice(0, 10)}' - ${interval(by)}`),
    ...pairs(TIMESTAMPS, MONTHS, (at, by) => `TIMESTAMP '${at}' + 3 * ${interval(by)} - ${interval('31 days')}`),
  ],
  time: [
    ...pairs(TIMES, FIXED, (at, by) => `TIME '${at}' + ${interval(by)}`),
    ...pairs(TIMES, FIXED, (at, by) => `TIME '${at}' - ${interval(by)}`),
  ],
  interval: [
    ...pairs(TIMESTAMPS, TIMESTAMPS, (a, b) => `TIMESTAMP '${a}' - TIMESTAMP '${b}'`),
    ...pairs([...FIXED, ...MONTHS], [...FIXED, ...MONTHS], (a, b) => `${interval(a)} + ${interval(b)}`),
    ...pairs([...FIXED, ...MONTHS], [...FIXED, ...MONTHS], (a, b) => `${interval(a)} - ${interval(b)}`),
    ...pairs([...FIXED, ...MONTHS], NUMBERS, (a, n) => `${interval(a)} * ${n}`),
  ],
}

/** The same with columns, which the engine computes for each row. */
const COLUMNS = {
  timestamp: [...FIXED, ...MONTHS].flatMap((by) => [
    `ts + ${interval(by)}`,
    `ts - ${interval(by)}`,
    `d + ${interval(by)}`,
  ]),
  interval: [
    "ts - TIMESTAMP '2000-01-01T00:00:00Z'",
    `(ts - TIMESTAMP '2000-01-01T00:00:00Z') * 3 + ${interval('1 day')}`,
  ],
} as const
const VALUES = TIMESTAMPS.map((at, id) => `(${id}, '${at}', '${at.slice(0, 10)}')`).join(', ')

onEveryEngine('arithmetic with intervals', (place) => {
  let server: QueryServer
  let native: pg.Client
  let drop: () => Promise<void>
  before(async () => {
    server = await startQueryServer(place())
    const database = await createPostgresDatabase()
    drop = database.drop
    native = new pg.Client({ connectionString: database.url, types: { getTypeParser: () => (text: string) => text } })
    await native.connect()
    await server.query('CREATE TABLE g (id Integer PRIMARY KEY, ts Timestamp, d Date)')
    assert.equal((await server.query(`INSERT INTO g VALUES ${VALUES}`)).status, 200)
    await native.query(`SET timezone = 'UTC'; SET intervalstyle = 'postgres'`)
    await native.query('CREATE TABLE g (id bigint PRIMARY KEY, ts timestamptz, d date)')
    await native.query(`INSERT INTO g VALUES ${VALUES}`)
  })
  after(async () => {
    await server.stop()
    await native.end()
    await drop()
  })

  const compare = async (kind: string, expressions: readonly string[], from = ''): Promise<void> => {
    for (let start = 0; start < expressions.length; start += 100) {
      const slice = expressions.slice(start, start + 100)
      const select = (texts: readonly string[]): string =>
        `SELECT ${texts.map((text, index) => `${text} AS c${index}`).join(', ')}${from}`
      const reply = await server.query(select(slice))
      assert.equal(reply.status, 200, reply.text)
      const { rows } = await native.query(select(slice.map((text) => shown(kind, text))))
      assert.equal(reply.json.Rows.length, rows.length)
      for (const [row, expected] of rows.entries())
        assert.deepEqual(
          slice.map((text, index) => `${text}: ${normal(kind, String(reply.json.Rows[row]?.[`c${index}`]))}`),
          slice.map((text, index) => `${text}: ${expected[`c${index}`]}`),
        )
    }
  }

  for (const [kind, expressions] of Object.entries(GRIDS))
    test(`${expressions.length} results of the type ${kind}`, () => compare(kind, expressions))

  for (const [kind, expressions] of Object.entries(COLUMNS))
    test(`${expressions.length} results of the type ${kind}, for each of ${TIMESTAMPS.length} rows`, () =>
      compare(kind, expressions, ' FROM g ORDER BY id'))
})

/** As microseconds; an interval as months and microseconds, as a day here has 24 hours. */
function shown(kind: string, expression: string): string {
  const zoned = expression.replace(/\bTIMESTAMP '/g, `TIMESTAMPTZ '`)
  if (kind === 'timestamp') return `(extract(epoch FROM (${zoned})::timestamptz) * 1000000)::bigint`
  if (kind === 'time') return `(extract(epoch FROM (${zoned})) * 1000000)::bigint`
  const part = (field: string): string => `extract(${field} FROM (${zoned}))`
  const micros = `((${part('day')} * 86400 + ${part('hour')} * 3600 + ${part('minute')} * 60 + ${part('second')}) * 1000000)::bigint`
  return `(${part('year')} * 12 + ${part('month')})::bigint || ' ' || ${micros}`
}

function normal(kind: string, text: string): string {
  if (kind === 'interval') {
    const { months, micros } = readInterval(text) ?? {}
    return `${months} ${micros}`
  }
  const value = kind === 'time' ? readTime(text) : readTimestamp(text)
  return String(value)
}
