/** Rows under one value of an index: few are read on the event loop, many by a reader process, with equal results. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { queryProcesses } from './query-processes.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const GROUPS = { none: 0, one: 1, hundred: 100, more: 101, many: 3000 } as const
const LARGE = 'x'.repeat(40_000)

const PLAIN = {
  kind: 'plain',
  whole: 9_007_199_254_740_991,
  real: 0.1,
  flag: true,
  at: '2026-01-02T03:04:05.678901Z',
  day: '2026-01-02',
  hour: '03:04:05.000001',
  cents: '-0.05',
  uid: '6f2c1f3a-0000-4000-8000-000000000001',
  1: 1,
  note: 'n',
}
/** Values that JSON, SQLite and JavaScript numbers represent differently. */
const SAMPLES: readonly Record<string, unknown>[] = [
  PLAIN,
  { ...PLAIN, whole: -5, real: -0, flag: false, cents: '90071992547409.91', note: '"\\ \u0001\n\u2028 é 漢 😀' },
  { kind: 'plain' },
  { ...PLAIN, kind: 'wide', whole: '9007199254740993' },
  { ...PLAIN, kind: 'wide', cents: '9999999999999999.99', at: '9999-12-31T23:59:59.999999Z' },
  { ...PLAIN, kind: 'endless', real: 'NaN' },
  { ...PLAIN, kind: 'infinite', real: '-Infinity' },
  { ...PLAIN, kind: 'long', note: LARGE },
  { ...PLAIN, kind: 'longest', note: LARGE + LARGE },
]

onEveryEngineInLongRuns('rows under one value of an index', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { limits: { concurrency: 1, waiting: 10, resultRows: 2000 } })
    await server.query('CREATE TABLE members (id Integer PRIMARY KEY, side Text, kind Text, note Text)')
    await server.query('CREATE INDEX members_by_kind ON members (kind, side)')
    const rows = Object.entries(GROUPS).flatMap(([kind, count]) =>
      Array.from({ length: count }, (_row, index) => ({ kind, side: index % 2 === 0 ? 'a' : 'b', note: 'n' })),
    )
    const large = Array.from({ length: 5 }, () => ({ kind: 'large', side: 'a', note: LARGE }))
    const numbered = [...rows, ...large].map((row, id) => ({ id, ...row }))
    assert.equal((await server.call('/query/members/insert', numbered)).status, 200)
  })
  after(() => server.stop())

  for (const [kind, count] of Object.entries(GROUPS)) {
    test(`${count} rows are complete, and equal to those of an ordered query`, async () => {
      for (const rest of [`kind = '${kind}'`, `kind = '${kind}' AND side = 'b'`, `kind = '${kind}' LIMIT 7`]) {
        const plain = await server.query(`SELECT id, side, note FROM members WHERE ${rest}`)
        const sorted = await server.query(
          `SELECT id, side, note FROM members WHERE ${rest.replace('LIMIT', 'ORDER BY id LIMIT')}`,
        )
        assert.equal(plain.status, 200)
        assert.equal(plain.json.RowCount, sorted.json.RowCount)
        assert.equal(plain.json.Truncated, sorted.json.Truncated)
        assert.equal(new Set(plain.json.Rows.map(({ id }) => id)).size, plain.json.RowCount, 'no row twice')
      }
    })
  }

  test('few rows with long texts are complete too', async () => {
    const reply = await server.query("SELECT note FROM members WHERE kind = 'large'")
    assert.deepEqual(
      reply.json.Rows.map(({ note }) => note),
      Array.from({ length: 5 }, () => LARGE),
    )
  })

  test('every value is encoded as by a reader process, whatever the other values are', async () => {
    const columns = 'id, kind, whole, real, flag, at, day, hour, cents, uid, "1", "__proto__", note'
    await server.query(`CREATE TABLE samples (id Integer PRIMARY KEY, kind Text, whole Integer, real Double, flag Boolean, at Timestamp,
      day Date, hour Time, cents Decimal(18, 2), uid Uuid, "1" Integer, "__proto__" Text, note Text)`)
    await server.query('CREATE INDEX samples_by_kind ON samples (kind)')
    for (const [id, sample] of SAMPLES.entries()) {
      const reply = await server.call('/query/samples/insert', { id, ...sample })
      assert.equal(reply.status, 200, reply.text)
    }
    const kinds = new Set(SAMPLES.map(({ kind }) => kind))
    for (const chosen of [
      columns,
      'id, whole, real, flag, at, day, hour, cents, uid, note',
      'id, whole, "1"',
      'note, real',
    ]) {
      for (const rest of [
        ...[...kinds].map((kind) => `kind = '${kind}'`),
        ...SAMPLES.map((_sample, id) => `id = ${id}`),
      ]) {
        for (const form of ['', '?rows=arrays', '?integers=strings']) {
          const ask = async (from: string) =>
            (await server.call(`/query${form}`, { Statement: `SELECT ${chosen} FROM ${from}` })).text.replace(
              /"RequestId":.*/,
              '',
            )
          const atOnce = await ask(`samples WHERE ${rest}`)
          const byReader = await ask(`(SELECT ${columns} FROM samples WHERE ${rest}) s ORDER BY s.id + 0`)
          assert.equal(atOnce, byReader, `${chosen} ${rest} ${form}`)
        }
      }
    }
  })

  test('a truncated page continues after its last row', async () => {
    const text = "SELECT id FROM members WHERE kind = 'many'"
    const first = await server.query(text)
    assert.deepEqual([first.json.RowCount, first.json.Truncated], [2000, true])
    const second = await server.call(`/query?after=${first.json.NextCursor}`, { Statement: text })
    const ids = new Set([...first.json.Rows, ...second.json.Rows].map(({ id }) => id))
    assert.equal(ids.size, GROUPS.many)
  })

  /** Symbol A has 100 rows, B 300, three at each time. */
  const createTicks = async () => {
    await server.query('DROP TABLE IF EXISTS ticks')
    await server.query(
      'CREATE TABLE ticks (id Integer PRIMARY KEY, symbol Text NOT NULL, at Integer NOT NULL, note Text)',
    )
    await server.query('CREATE INDEX ticks_by_symbol ON ticks (symbol, at)')
    await server.query("INSERT INTO ticks SELECT i, 'A', 99 - i, 'n' FROM generate_series(0, 99) AS i")
    await server.query("INSERT INTO ticks SELECT 1000 - i, 'B', i / 3, 'n' FROM generate_series(0, 299) AS i")
  }

  test('rows in the order of an index are those of a sort', async () => {
    await createTicks()
    for (const rest of [
      "symbol = 'A' ORDER BY at",
      "symbol = 'A' ORDER BY at DESC LIMIT 7",
      "symbol = 'B' ORDER BY at, id",
      "symbol = 'B' ORDER BY at DESC, id DESC LIMIT 100",
      "symbol = 'B' AND at >= 30 AND at < 40 ORDER BY at DESC, id DESC",
      "symbol = 'B' AND at BETWEEN 98 AND 200 ORDER BY at, id LIMIT 4",
      "symbol = 'B' AND 5 > at ORDER BY at, id",
    ]) {
      const text = `SELECT id, at FROM ticks WHERE ${rest}`
      const sorted = await server.query(text.replace('BY at', 'BY at + 0').replace("symbol = '", "'' || symbol = '"))
      const found = await server.query(text)
      assert.equal(found.status, 200, found.text)
      assert.deepEqual(found.json.Rows, sorted.json.Rows, rest)
    }
  })

  if (engine === 'sqlite') {
    test('few rows are read without a reader; a further filter or a sort needs one', async () => {
      /** Of each query: its rows, and whether it needed a reader. */
      const read = async (rest: string) => {
        for (const id of await queryProcesses('read')) process.kill(id, 'SIGKILL')
        await until('the readers have ended', 5000, () => server.service.load().total === 0)
        const { json } = await server.query(
          `SELECT id FROM ${rest.includes('symbol') ? 'ticks' : 'members'} WHERE ${rest}`,
        )
        return [json.RowCount, server.service.load().total > 0]
      }
      assert.deepEqual(await read("kind = 'hundred'"), [100, false])
      assert.deepEqual(await read("kind = 'one' AND note = 'n'"), [1, true])
      assert.deepEqual(await read("kind = 'one' ORDER BY note"), [1, true])
      assert.deepEqual(await read("kind = 'one' AND kind = 'two'"), [0, true])
      assert.deepEqual(await read("side = 'a' LIMIT 1"), [1, true])
      assert.deepEqual(await read("kind = 'more'"), [101, true])
      await createTicks()
      assert.deepEqual(await read("symbol = 'B' ORDER BY at DESC LIMIT 100"), [100, false])
      assert.deepEqual(await read("symbol = 'A' AND at >= 50 ORDER BY at, id"), [50, false])
      assert.deepEqual(await read("symbol = 'B' AND at BETWEEN 7 AND 9"), [9, false])
      assert.deepEqual(await read("symbol = 'B' ORDER BY at DESC, id LIMIT 5"), [5, true])
      assert.deepEqual(await read("symbol = 'B' ORDER BY note LIMIT 5"), [5, true])
    })
  }
})
