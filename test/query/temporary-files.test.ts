/** The temporary files of queries: bounded for each statement and each user, on both engines. */
import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { onEveryEngine, openPlace } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MIB = 1024 * 1024
const LIMIT = 8 * MIB

/** Sorts texts with this number of bytes in total. */
const sorted = (bytes: number) =>
  `SELECT row_number() OVER (ORDER BY rpad('x', 1000) || CAST(v AS Text)) AS r FROM generate_series(1, ${Math.round(bytes / 1000)}) AS v`

onEveryEngine('temporary files', (place) => {
  let server: QueryServer
  before(async () => {
    const limits = { concurrency: 3, tempBytes: LIMIT, tempBytesPerUser: 2 * LIMIT }
    server = await startQueryServer(place(), { limits })
    assert.equal((await server.query('CREATE TABLE lines (id Integer PRIMARY KEY, t Text)')).status, 200)
  })
  after(() => server.stop())

  test('a sort within the limit succeeds', async () => {
    const reply = await server.query(`SELECT max(r) AS n FROM (${sorted(LIMIT / 2)}) AS q`)
    assert.deepEqual([reply.status, reply.json.Rows], [200, [{ n: Math.round(LIMIT / 2000) }]], reply.text)
  })

  for (const [what, statement] of [
    ['a window', `SELECT max(r) AS n FROM (${sorted(50 * LIMIT)}) AS q`],
    [
      'ORDER BY',
      `SELECT rpad('x', 1000) || CAST(v AS Text) AS t FROM generate_series(1, 400000) AS v ORDER BY t DESC LIMIT 99999`,
    ],
    [
      'DISTINCT',
      `SELECT count(*) AS n FROM (SELECT DISTINCT rpad(CAST(v AS Text), 1000) AS t FROM generate_series(1, 400000) AS v) AS q`,
    ],
  ] as const)
    test(`${what} past the limit of a statement is 422 Limit.Disk`, async () => {
      const reply = await server.query(statement)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Disk'], reply.text.slice(0, 300))
      assert.match(reply.json.detail, /query_temp_bytes/)
      assert.equal((await server.query('SELECT count(*) AS n FROM lines WHERE length(t) > 1')).status, 200)
    })

  test('a write that sorts past the limit is 422 Limit.Disk, and writes nothing', async () => {
    const reply = await server.query(`INSERT INTO lines (id, t) SELECT r, 'x' FROM (${sorted(100 * LIMIT)}) AS q`)
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Disk'], reply.text.slice(0, 300))
    assert.deepEqual((await server.query('SELECT count(*) AS n FROM lines')).json.Rows, [{ n: 0 }])
    assert.equal((await server.query("INSERT INTO lines (id, t) VALUES (1, 'after')")).status, 200)
  })
})

describe('temporary files of the embedded engine', {
  skip: process.platform !== 'linux' && 'only there all files of a process are known',
}, () => {
  let opened: Awaited<ReturnType<typeof openPlace>>
  let server: QueryServer
  before(async () => {
    opened = await openPlace('sqlite')
    const limits = { concurrency: 4, tempBytes: 4 * LIMIT, tempBytesPerUser: 6 * LIMIT, milliseconds: 20_000 }
    server = await startQueryServer(opened.place, { limits })
  })
  after(async () => {
    await server.stop()
    await opened.leave()
  })

  /** Holds this number of files while it runs, which is longer than any time limit. The first 16 MB of each stay in memory. */
  const holding = (files: number, bytes: number) => {
    const rows = `SELECT rpad('x', 1000) || CAST(v AS Text) AS t FROM generate_series(1, ${Math.round(bytes / 1000)}) AS v LIMIT 999999`
    const held = Array.from({ length: files }, (_, index) => `CROSS JOIN (${rows}) AS q${index}`)
    const lengths = Array.from({ length: files }, (_, index) => ` + length(q${index}.t)`)
    return `SELECT count(*) AS n FROM generate_series(1, 1000000) AS a ${held.join(' ')} WHERE a${lengths.join('')} < 0`
  }

  test('many files count together', async () => {
    const reply = await server.query(holding(2, 5 * LIMIT))
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Disk'], reply.text.slice(0, 300))
    assert.match(reply.json.detail, /\(the setting query_temp_bytes\)/)
  })

  test('all statements of a user count together; those of others go on', async () => {
    const statements = Array.from({ length: 3 }, () => server.query(holding(1, 5 * LIMIT), { as: 'market' }))
    const other = server.query(`SELECT max(r) AS n FROM (${sorted(2 * LIMIT)}) AS q`, { as: 'trader' })
    const first = await Promise.race(statements)
    assert.deepEqual([first.status, first.json.Code], [422, 'Limit.Disk'], first.text.slice(0, 300))
    assert.match(first.json.detail, /\(the setting query_temp_bytes_per_user\)/)
    assert.equal((await other).status, 200)
    assert.ok((await temporaryBytes()) <= 7 * LIMIT)
    for (const { requestId } of server.service.running.list()) server.service.running.cancel(requestId, undefined)
    await Promise.all(statements)
  })
})

/** Of all processes of queries of this process. */
async function temporaryBytes(): Promise<number> {
  let bytes = 0
  for (const entry of await readdir('/proc')) {
    const status = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    if (Number(status.split(') ').at(-1)?.split(' ')[1]) !== process.pid) continue
    for (const descriptor of await readdir(`/proc/${entry}/fd`).catch(() => [])) {
      const file = await stat(`/proc/${entry}/fd/${descriptor}`).catch(() => undefined)
      if (file?.isFile() && file.nlink === 0) bytes += file.blocks * 512
    }
  }
  return bytes
}
