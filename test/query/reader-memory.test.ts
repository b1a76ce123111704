/** What a reader process holds of a result with one long row, while its client reads slowly and afterwards. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentKib } from '../../packages/server/src/child-process/limits.ts'
import { openPlace } from '../support/engines.ts'
import { queryProcesses } from './query-processes.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const LENGTH = 12_000_000
const ROW_MIB = LENGTH / 2 ** 20
/** SQLite's own three of a value that a function returned, and that of JavaScript; with room for what else changes. */
const MAX_COPIES = 6

test('a long row is held a few times while its client reads slowly, and not at all afterwards', {
  skip: process.platform !== 'linux' && 'the memory of a process is read from /proc',
}, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startQueryServer(place)
  t.after(async () => {
    await server.stop()
    await leave()
  })
  assert.equal((await server.query('CREATE TABLE few (id Integer PRIMARY KEY)')).status, 200)
  assert.equal((await server.query('SELECT count(*) AS n FROM few AS a, few AS b')).status, 200)
  const atRest = await largestReader()
  assert.ok(atRest > 0)
  for (let round = 0; round < 3; round++) {
    const paused = await readSlowly(server, largestReader)
    assert.ok(paused - atRest < MAX_COPIES * ROW_MIB, `${atRest} MiB at rest, ${paused} MiB while the client waits`)
  }
  const afterwards = await largestReader()
  assert.ok(afterwards - atRest < 3 * ROW_MIB, `${atRest} MiB at rest, ${afterwards} MiB after the results`)
})

/** Its memory in MiB. */
async function largestReader(): Promise<number> {
  const readers = [...(await queryProcesses('read')), ...(await queryProcesses('background-read'))]
  return Math.max(0, ...(await Promise.all(readers.map(residentKib)))) / 1024
}

/** Returns what `measure` does when the first bytes have arrived and the process waits for its client. */
function readSlowly<Value>(server: QueryServer, measure: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer trader', 'content-type': 'text/plain' }
    const sent = request(`${server.url}/query`, { method: 'POST', headers }, async (reply) => {
      reply.pause()
      await sleep(300)
      const measured = await measure()
      let length = 0
      reply.on('data', (bytes: Buffer) => {
        length += bytes.length
      })
      reply.on('end', () =>
        length > LENGTH ? resolve(measured) : reject(new Error(`${reply.statusCode}, ${length} bytes`)),
      )
      reply.resume()
    })
    sent.on('error', reject).end(`SELECT repeat('x', ${LENGTH}) AS t`)
  })
}
