/** The time limits of results: query_seconds until the first rows are sent, query_export_seconds for whole tables. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inLongRuns } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const LIMIT_MS = 2500
/** Larger than what the sockets hold, so that the query runs as long as its result is not read. */
const LARGE = `SELECT a.n AS a, b.n AS b, repeat('x', 4000) AS t FROM numbers a CROSS JOIN numbers b`

inLongRuns('time limits of results', (place) => {
  let server: QueryServer
  let hasty: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { limits: { milliseconds: LIMIT_MS } })
    const numbers = Array.from({ length: 150 }, (_, n) => ({ n }))
    assert.equal((await server.query('CREATE TABLE numbers (n Integer PRIMARY KEY)')).status, 200)
    assert.equal((await server.call('/query/numbers/insert', numbers)).status, 200)
    // It reads the catalogue at its start.
    hasty = await startQueryServer(place(), { limits: { exportMilliseconds: 300 } })
  })
  after(async () => {
    await server.stop()
    await hasty.stop()
  })

  /** The text of a result that is not read for a while once it has begun. */
  async function readLate({ url }: QueryServer, accept: string, milliseconds: number): Promise<string> {
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain', accept }
    // Not fetch, which reads ahead.
    const request = http.request(`${url}/query`, { method: 'POST', headers }).end(LARGE)
    const [response]: http.IncomingMessage[] = await once(request, 'response')
    assert.equal(response?.statusCode, 200)
    await sleep(milliseconds)
    return text(response)
  }

  test('a result for whole tables that takes longer than query_seconds is complete; a JSON result is not', async () => {
    // PostgreSQL enforces a separate limit, two seconds longer.
    const ndjson = await readLate(server, 'application/x-ndjson', LIMIT_MS + 2500)
    assert.equal(ndjson.trimEnd().split('\n').length, 150 * 150)
    const { Code, detail } = JSON.parse(await readLate(server, 'application/json', LIMIT_MS + 1000)).Error
    assert.equal(Code, 'Limit.Time')
    assert.match(detail, /2\.5 s.*query_seconds/)
  })

  test('a result that takes longer than query_export_seconds names the limit, and where it cannot, the log does', async () => {
    const ndjson = await readLate(hasty, 'application/x-ndjson', 1000)
    const last = JSON.parse(ndjson.trimEnd().split('\n').at(-1) ?? '')
    assert.deepEqual([last.Error.Code, /0\.3 s.*query_export_seconds/.test(last.Error.detail)], ['Limit.Time', true])
    await assert.rejects(readLate(hasty, 'text/csv', 1000))
    await until('the reason is logged', 5000, async () =>
      hasty.log.some((line) => /"result cut off"/.test(line) && /query_export_seconds/.test(line)),
    )
  })

  test('a query that has no rows in time is refused with the setting', async () => {
    const { status, json } = await server.query(
      'SELECT count(*) AS n FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c CROSS JOIN numbers d CROSS JOIN numbers e',
      { headers: { accept: 'text/csv' } },
    )
    assert.deepEqual([status, json.Code], [408, 'Limit.Time'])
    assert.match(json.detail, /query_seconds/)
  })
})
