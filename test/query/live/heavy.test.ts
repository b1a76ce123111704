/** Live statements whose result takes long to read: they end with their clients, and others do not wait for them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const ROWS = 1500
const PATIENCE_MS = 10_000

onEveryEngineInLongRuns('live statements that take long to read', (place) => {
  let server: QueryServer
  const clients: AbortController[] = []
  before(async () => {
    server = await startQueryServer(place())
    const made = await server.query("CREATE TABLE nums (n Integer PRIMARY KEY) READ SCOPE 'Platform/Market'")
    assert.equal(made.status, 200, made.text)
    const values = Array.from({ length: ROWS }, (_, n) => `(${n})`).join(', ')
    assert.equal((await server.query(`INSERT INTO nums VALUES ${values}`)).status, 200)
  })
  after(async () => {
    leave()
    await server.stop()
  })

  /** Each is another one, so that they share nothing. */
  const heavy = (tag: string) =>
    `SELECT count(*) AS "${tag}" FROM nums a CROSS JOIN nums b CROSS JOIN nums c WHERE (a.n + b.n * c.n) % 7 < 0`
  const open = (as: string, statement: string): Promise<Response> => {
    const client = new AbortController()
    clients.push(client)
    const headers = { authorization: `Bearer ${as}`, accept: 'text/event-stream', 'content-type': 'text/plain' }
    return fetch(`${server.url}/query`, { method: 'POST', headers, body: statement, signal: client.signal })
  }
  const openHeavy = (as: string, tag: string): void => void open(as, heavy(tag)).catch(() => {})
  const leave = (): void => {
    for (const client of clients.splice(0)) client.abort()
  }
  const listed = () => [...server.service.live.list()].length
  const reads = () => {
    const { running, waiting } = server.service.load()
    return running + waiting
  }

  test('are listed before they have a result; when the client disconnects, nothing more is read for it', async () => {
    for (const as of ['trader', 'market']) for (const n of [1, 2, 3]) openHeavy(as, `${as} left ${n}`)
    await until('all are listed', PATIENCE_MS, () => listed() === 6 && reads() === 6)
    leave()
    await until('no read runs or waits', PATIENCE_MS, () => listed() === 0 && reads() === 0)
  })

  test('of two users do not make other users wait', async () => {
    for (const as of ['trader', 'market']) for (const n of [1, 2, 3]) openHeavy(as, `${as} kept ${n}`)
    await until('all are listed', PATIENCE_MS, () => listed() === 6)
    const response = await Promise.race([
      open('admin', 'SELECT n % 3 AS k, count(*) AS c FROM nums GROUP BY n % 3'),
      // Less than the time limit of the heavy ones.
      sleep(25_000, undefined, { ref: false }),
    ])
    assert.equal(response?.status, 200)
    leave()
    await until('no read runs or waits', PATIENCE_MS, () => reads() === 0)
  })
})
