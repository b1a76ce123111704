/**
 * A table with columns answers as one without, whatever happens: random writes, compaction amid them, builders that are killed, files that
 * are deleted or cut. `STEPS=2000` runs more of them than the long run's minute of processor time.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, truncateSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { IS_LONG_RUN, onSqlite } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const STEPS = Number(process.env.STEPS ?? (IS_LONG_RUN ? 320 : 40))
const ROWS = 2000
const TIMING = { tickMs: 5, sweepMs: 40, rebuildSeconds: 0, orphanMs: 200, pauseMs: 5, segmentRows: 200, smallRows: 25 }
const STATEMENTS = [
  'SELECT symbol, count(*) AS n, sum(price) AS s, min(id) AS a, max(size) AS b FROM t GROUP BY symbol ORDER BY symbol',
  'SELECT count(*) AS n, sum(size) AS s FROM t WHERE price > 20',
  "SELECT size, avg(price) AS p FROM t WHERE symbol LIKE 'S1%' GROUP BY size ORDER BY size",
]

onSqlite('rows and columns', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { columnTiming: TIMING })
    for (const [table, options] of [
      ['columnar', 'WITH (columns = on)'],
      ['plain', ''],
    ] as const) {
      await must(
        `CREATE TABLE ${table} (id Integer PRIMARY KEY, symbol Text, price Decimal(9,2), size Integer) ${options}`,
      )
      await must(`INSERT INTO ${table} SELECT n, 'S' || CAST(n % 30 AS Text), CAST(n % 50 AS Decimal(9,2)), n % 11
        FROM generate_series(1, ${ROWS}) AS n`)
    }
    await until('segments are ready', 2500, async () => ((await status())?.ready ?? 0) >= 8)
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const status = async () => (await server.service.columns?.status())?.[0]
  const folder = () => join(place().dataFolder, 'columns')
  const onBoth = async (statement: string) => {
    for (const table of ['columnar', 'plain']) await must(statement.replace(' t ', ` ${table} `))
  }
  const compare = async (during: string) => {
    for (const statement of STATEMENTS) {
      // One after the other: a second query of a user would run in a process that `killBuilders` may end.
      const columnar = await must(statement.replace(' t ', ' columnar '))
      const plain = await must(statement.replace(' t ', ' plain '))
      assert.deepEqual(columnar.Rows, plain.Rows, `${during}: ${statement}`)
    }
  }

  test('the answer never differs', async () => {
    const random = mulberry(Number(process.env.TEST_SEED ?? 7))
    const pick = (most: number): number => Math.floor(random() * most)
    let last = ROWS
    const steps: readonly (() => Promise<unknown> | unknown)[] = [
      () => onBoth(`UPDATE t SET price = ${pick(50)} WHERE id = ${pick(last)}`),
      () => onBoth(`UPDATE t SET symbol = 'S1${pick(9)}' WHERE id BETWEEN ${pick(last)} AND ${pick(last)}`),
      () => onBoth(`DELETE FROM t WHERE id = ${pick(last)}`),
      () =>
        onBoth(`INSERT INTO t (id, symbol, price, size) VALUES (${-pick(1e6)}, NULL, 3.5, 4) ON CONFLICT DO NOTHING`),
      () => onBoth(`UPDATE t SET id = ${++last} WHERE id = ${pick(last)}`),
      async () => {
        const from = last + 1
        last += 40
        await onBoth(
          `INSERT INTO t SELECT n, 'T', CAST(1 AS Decimal(9,2)), 2 FROM generate_series(${from}, ${last}) AS n`,
        )
      },
      () => withFile((path) => unlinkSync(path)),
      () => withFile((path) => truncateSync(path, pick(3000))),
      () => killBuilders(place().dataFolder),
      () => sleep(pick(30)),
    ]
    for (let step = 0; step < STEPS; step++) {
      const chosen = pick(steps.length)
      await steps[chosen]?.()
      await compare(`step ${step} (${chosen})`)
    }
    await until('all is ready again', 5000, async () => {
      const now = await status()
      return now !== undefined && now.marked + now.missing === 0
    })
    await compare('the end')
    const verified = await server.service.columns?.verify('columnar', new AbortController().signal)
    assert.ok((verified?.equal ?? 0) > 5)
  })

  function withFile(change: (path: string) => void): void {
    const [name] = readdirSync(folder()).filter((file) => file.endsWith('.seg'))
    try {
      if (name !== undefined) change(join(folder(), name))
    } catch (error) {
      // It has just been removed.
      assert.match(String(error), /ENOENT/)
    }
  }

  test('segments are read: a change without a mark would not be seen', async () => {
    // Its file may have been harmed, too, without anybody knowing it yet.
    await until('all is ready and as the rows are', 5000, async () => {
      const now = await status()
      if (now === undefined || now.ready === 0 || now.marked + now.missing > 0) return false
      const verified = await server.service.columns?.verify('columnar', new AbortController().signal)
      return verified?.equal === now.ready
    })
    const database = new Sqlite(join(place().dataFolder, 'query.db'))
    const triggers = database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE name LIKE '_gh_columns_%_delete'")
      .pluck()
      .all()
    for (const name of triggers) database.exec(`DROP TRIGGER ${name}`)
    database.close()
    const count = async () => (await must('SELECT size, count(*) AS n FROM columnar GROUP BY size ORDER BY size')).Rows
    const before = await count()
    await must('DELETE FROM columnar WHERE id BETWEEN 300 AND 600')
    assert.deepEqual(await count(), before)
    const verified = await server.service.columns?.verify('columnar', new AbortController().signal)
    assert.ok((verified?.different ?? 0) > 0, 'verification finds it')
    assert.notDeepEqual(await count(), before, 'and the segments that differ are not read any more')
  })
})

/** Processes that write segments are children of this one. */
function killBuilders(dataFolder: string): void {
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0')
      const isOurs = words.includes(join(dataFolder, 'query.db')) && words.includes('background-read')
      if (isOurs) process.kill(Number(entry), 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

/** Repeatable. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296
  }
}
