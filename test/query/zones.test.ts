/** Time zones on both engines: AT TIME ZONE as PostgreSQL's own, and buckets as their definition says. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { MICROS_PER_DAY, readTimestamp, writeTimestamp } from 'gatehouse-iql'
import pg from 'pg'
import { TIME_ZONES } from '../../packages/server/src/lib/program-files.ts'
import type { Zone } from '../../packages/server/src/query/zones/zone.ts'
import { findZone } from '../../packages/server/src/query/zones/zone-file.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres.ts'
import { type BothEngines, openBothEngines } from './agree/engines.ts'

const SAMPLE =
  `America/New_York Europe/London Europe/Dublin Europe/Berlin Asia/Kolkata Asia/Tokyo Asia/Kathmandu Australia/Sydney
Australia/Lord_Howe Pacific/Apia Pacific/Chatham America/Sao_Paulo America/Havana America/St_Johns America/Santiago Africa/Cairo
Asia/Tehran Antarctica/Troll Pacific/Kiritimati UTC`.split(/\s+/)

const [VERSION, ...LINES] = readFileSync(TIME_ZONES, 'utf8').trimEnd().split('\n')
/** The first name of each zone. */
const ALL = LINES.map((line) => line.split(/\s/, 1)[0] ?? '')
/** In several tests, each of which may take a minute and a half. */
const GROUPS = IS_LONG_RUN ? Object.values(Object.groupBy(ALL, (_name, index) => index % 40)) : [SAMPLE]

const SECOND = 1_000_000n
const [FROM, TO] = [readTimestamp('2011-12-01'), readTimestamp('2027-01-01')]

let engines: BothEngines
let database: PostgresDatabase
let native: pg.Client
before(async () => {
  engines = await openBothEngines()
  database = await createPostgresDatabase()
  native = new pg.Client({ connectionString: database.url })
  await native.connect()
})
after(async () => {
  await native.end()
  await database.drop()
  await engines.close()
})

function requireZone(name: string): Zone {
  const zone = findZone(name)
  assert.ok(zone, name)
  return zone
}

/** The seconds around each transition, and the readings around what the clock skips or repeats. */
function findEdges({ transitions, offsets }: Zone): bigint[] {
  const edges = new Set<bigint>()
  for (const [index, at] of transitions.entries()) {
    // Beyond the table PostgreSQL goes on with daylight-saving time.
    if (at >= (readTimestamp('2099-12-01') ?? 0n)) continue
    if (!IS_LONG_RUN && (at < (FROM ?? 0n) || at > (TO ?? 0n))) continue
    const [earlier, later] = [at + (offsets[index] ?? 0n), at + (offsets[index + 1] ?? 0n)]
    for (const edge of [at, earlier, later]) for (const near of [-SECOND, 0n, SECOND]) edges.add(edge + near)
    edges.add(((earlier + later) / 2n / SECOND) * SECOND)
  }
  return [...edges]
}

for (const [group, names] of GROUPS.entries())
  test(`AT TIME ZONE is PostgreSQL's at every transition, both ways, on both engines: zones ${group + 1} of ${GROUPS.length}`, async (context) => {
    const different: string[] = []
    const edges = (names ?? []).flatMap((name) =>
      findEdges(requireZone(name)).map((edge) => ({ t: name, ts: writeTimestamp(edge) })),
    )
    await engines.load(
      edges.map((edge, id) => ({ id: String(id), ...edge })),
      [{ id: '0' }],
    )
    for (const [name, own = []] of Map.groupBy(edges, ({ t }) => t)) {
      const first = edges.indexOf(own[0] ?? { t: '', ts: '' })
      const answers = await engines.ask(
        `SELECT id, ts AT TIME ZONE :zone AS l, ts AT TIME ZONE 'UTC' AT TIME ZONE :zone AS t FROM a WHERE t = :zone ORDER BY 1`,
        { zone: name },
      )
      const { rows } = await native.query<string[]>({
        text: `SELECT json_build_array(n + ${first - 1}, replace((t AT TIME ZONE 'UTC' AT TIME ZONE $2)::text, ' ', 'T'),
        replace((t AT TIME ZONE $2 AT TIME ZONE 'UTC')::text, ' ', 'T') || 'Z')::text
        FROM unnest($1::timestamp[]) WITH ORDINALITY AS u (t, n) ORDER BY n`,
        values: [own.map(({ ts }) => ts.slice(0, -1)), name],
        rowMode: 'array',
      })
      const expected = rows.map(([row = '']) => row.replaceAll(', ', ','))
      assert.equal(answers.sqlite.code, undefined)
      assertSame(answers.postgres.rows, answers.sqlite.rows, name)
      if (!sameLocal(answers.sqlite.rows, expected)) different.push(name)
      else assertSame(answers.sqlite.rows, expected, name)
    }
    // PostgreSQL may have another version of the data.
    context.diagnostic(`other data than ${VERSION} in this PostgreSQL: ${different.join(', ') || 'none'}`)
    assert.ok(different.length <= (IS_LONG_RUN ? 6 : 2), different.join(', '))
  })

function sameLocal(rows: readonly string[], expected: readonly string[]): boolean {
  return rows.every((row, index) => row.split(',', 2).join() === expected[index]?.split(',', 2).join())
}

/** Days around transitions of each kind. */
const TRANSITIONS = [
  ['America/New_York', '2025-11-01'],
  ['America/New_York', '2026-03-07'],
  ['Australia/Lord_Howe', '2026-04-03'],
  ['Australia/Lord_Howe', '2026-10-02'],
  ['Pacific/Apia', '2011-12-29'],
  ['America/Sao_Paulo', '2018-11-03'],
  ['America/Havana', '2025-11-01'],
  ['Antarctica/Troll', '2026-03-28'],
  ['Asia/Kathmandu', '1985-12-31'],
] as const
const WIDTHS = { '5 minutes': 5n, '45 minutes': 45n, '1 hour': 60n, '7 hours': 420n, '12 hours': 720n } as const
const MINUTE = 60n * SECOND
const STEP = 5n * MINUTE

test('buckets begin where their definition says, on both engines, and none after its rows', async () => {
  for (const [name, date] of TRANSITIONS) {
    const zone = requireZone(name)
    const start = readTimestamp(date) ?? 0n
    const widths = Object.keys(WIDTHS).map((width, index) => `time_bucket('${width}', t, :zone) AS w${index}`)
    const statement = `SELECT t, ${widths.join(', ')}, time_bucket('1 day', t, :zone) AS d, date_trunc('hour', t, :zone) AS h,
      date_trunc('day', t, :zone) AS e, time_bucket('2 days', t, :zone) AS two
      FROM generate_series(CAST(:start AS Timestamp), :stop, '5 minutes') AS t ORDER BY 1`
    const [from, to] = [writeTimestamp(start), writeTimestamp(start + 4n * MICROS_PER_DAY)]
    const answers = await engines.ask(statement, { zone: name, start: from, stop: to })
    assert.equal(answers.sqlite.code, undefined, name)
    assertSame(answers.postgres.rows, answers.sqlite.rows, name)
    const expected = expectedBuckets(zone, start)
    assertSame(answers.sqlite.rows.slice(-expected.length), expected, `${name} ${date}`)
  }
})

/** Shows the first difference: the rows are many. */
function assertSame(rows: readonly string[], expected: readonly string[], what: string): void {
  const index = expected.findIndex((row, at) => row !== rows[at])
  assert.equal(rows[index], expected[index], what)
  assert.equal(rows.length, expected.length, what)
}

/** By walking along the clock in steps of five minutes. The first two days are left out: their buckets begin before the walk. */
function expectedBuckets(zone: Zone, start: bigint): string[] {
  const widths = Object.values(WIDTHS).map((minutes) => minutes * MINUTE)
  const ticks: bigint[] = widths.map(() => 0n)
  const rows: string[] = []
  let [day, two, latest] = [0n, 0n, zone.toLocal(start) - STEP]
  for (let at = start; at <= start + 4n * MICROS_PER_DAY; at += STEP) {
    const [before, local] = [zone.toLocal(at - STEP), zone.toLocal(at)]
    for (const [index, width] of widths.entries()) {
      const isRead = (local % MICROS_PER_DAY) % width === 0n
      if (isRead || hasMultiple(before + STEP, local, width)) ticks[index] = at
    }
    if (local > latest) {
      const newDate = local / MICROS_PER_DAY
      const formerDate = latest / MICROS_PER_DAY
      if (newDate > formerDate) day = at
      // Days are counted from 2000-01-03, which is day 10,959, an odd number.
      if ((newDate + 1n) / 2n > (formerDate + 1n) / 2n) two = at
      latest = local
    }
    const hour = ticks[2] ?? 0n
    if (at >= start + 2n * MICROS_PER_DAY)
      rows.push(JSON.stringify([at, ...ticks, day, hour, day, two].map(writeTimestamp)))
  }
  return rows
}

/** Whether a reading that is skipped is a multiple of the width since its midnight. */
function hasMultiple(from: bigint, to: bigint, width: bigint): boolean {
  for (let read = from; read < to; read += MINUTE) if ((read % MICROS_PER_DAY) % width === 0n) return true
  return false
}

test('time_bucket_gapfill has exactly the buckets of time_bucket', async () => {
  for (const [name, date] of TRANSITIONS.slice(IS_LONG_RUN ? 0 : 3)) {
    for (const width of ['7 hours', '1 day', ...(IS_LONG_RUN ? [...Object.keys(WIDTHS), '3 days', '1 month'] : [])]) {
      const start = readTimestamp(date) ?? 0n
      const values = { zone: name, start: writeTimestamp(start), stop: writeTimestamp(start + 3n * MICROS_PER_DAY) }
      const every = `SELECT time_bucket('${width}', t, :zone) AS b FROM generate_series(CAST(:start AS Timestamp), :stop, '5 minutes') AS t
        WHERE t < :stop GROUP BY 1 ORDER BY 1`
      const filled = `SELECT time_bucket_gapfill('${width}', ts, :start, :stop, :zone) AS b FROM a GROUP BY 1 ORDER BY 1`
      const [wanted, found] = [await engines.ask(every, values), await engines.ask(filled, values)]
      assert.equal(wanted.sqlite.code, undefined)
      assert.deepEqual(found.sqlite, wanted.sqlite, `${name} ${width}`)
      assert.deepEqual(found.postgres, found.sqlite, `${name} ${width}`)
    }
  }
})

test('a parameter that names no zone is refused with a near name, and NULL gives NULL', async () => {
  const statement = `SELECT TIMESTAMP '2026-07-01T13:30:00Z' AT TIME ZONE :zone AS l`
  assert.deepEqual((await engines.ask(statement, { zone: null })).sqlite.rows, ['[null]'])
  assert.deepEqual((await engines.ask(statement, { zone: null })).postgres.rows, ['[null]'])
  const { sqlite, postgres } = await engines.ask(statement, { zone: 'America/NewYork' })
  assert.deepEqual([sqlite.code, postgres.code], ['IQL.BadValue', 'IQL.BadValue'])
})
