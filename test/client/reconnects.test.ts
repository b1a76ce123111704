/** Hundreds of clients of the library lose their server at once and come back: spread out, and each with few attempts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { getToken, Http, type StateChange, Stream } from '../../packages/client/src/index.ts'
import { signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const CLIENTS = 500
const LATE_MS = 60_000
const WINDOW_MS = 100

let place: TestPlace
let leave: () => Promise<void>
let server: TestServer
let port: number

const start = (): Promise<TestServer> =>
  startTestServer(place, {
    flags: {
      '--demo': 'true',
      '--port': String(port),
      '--stream-drain-time': '0',
      '--stream-max-connections-per-address': String(2 * CLIENTS),
      '--stream-max-connections-per-user': String(2 * CLIENTS),
    },
  })

before(async () => {
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  port = await freePort()
  server = await start()
})
after(async () => {
  await server.stop()
  await leave()
})

/** When a socket was opened, by all clients together. */
const attempts: number[] = []

class PlainSocket extends WebSocket {
  constructor(url: string, protocol: string) {
    super(url, protocol, { perMessageDeflate: false })
    attempts.push(performance.now())
  }
}

test('hundreds of clients come back spread out after a restart', async (t) => {
  const { access_token: token } = await signIn(server)
  const clients = Array.from({ length: CLIENTS }, () => {
    const http = new Http(server.issuer, { auth: getToken(() => token), WebSocket: PlainSocket as never })
    const stream = new Stream(http)
    const states: (StateChange & { readonly at: number })[] = []
    stream.on('state', (change) => states.push({ ...change, at: performance.now() }))
    return { http, stream, states }
  })
  t.after(() => {
    for (const { http } of clients) http.close()
  })
  // Not all at once: this is not what is measured.
  for (let index = 0; index < CLIENTS; index += 100)
    await Promise.all(clients.slice(index, index + 100).map(({ stream }) => stream.connect()))
  attempts.length = 0

  await server.stop()
  await until('all have noticed', LATE_MS, () =>
    clients.every(({ states }) => states.some(({ state }) => state === 'offline')),
  )
  // Full jitter: the first wait is anything from 0 to half a second.
  const waits = clients.map(({ states }) => states.find(({ state }) => state === 'offline')?.retryIn ?? 0)
  const planned = countPerWindow(waits, WINDOW_MS)
  assert.equal(planned.length, 5)
  // A fifth in each tenth of a second; six standard deviations are less than 11 % of all.
  assert.ok(Math.max(...planned) < 0.31 * CLIENTS && Math.min(...planned) > 0.09 * CLIENTS, String(planned))

  server = await start()
  const up = performance.now()
  await until('all are back', LATE_MS, () => clients.every(({ stream }) => stream.state === 'online'))
  const back = clients.map(({ states }) => (states.findLast(({ state }) => state === 'online')?.at ?? 0) - up)
  const accepted = countPerWindow(
    back.map((at) => Math.max(0, at)),
    WINDOW_MS,
  )
  const tried = countPerWindow(
    attempts.map((at) => at - Math.min(...attempts)),
    WINDOW_MS,
  )
  t.diagnostic(`the first attempts, planned for each ${WINDOW_MS} ms: ${planned.join(' ')}`)
  t.diagnostic(`${attempts.length} attempts, at most ${Math.max(...tried)} in ${WINDOW_MS} ms`)
  t.diagnostic(`back within ${Math.round(Math.max(...back))} ms, at most ${Math.max(...accepted)} in ${WINDOW_MS} ms`)
  // The waits double: a server that is away for long is not asked more and more.
  const most = Math.max(...clients.map(({ states }) => states.filter(({ state }) => state === 'connecting').length))
  t.diagnostic(`no client has tried more than ${most} times`)
  assert.ok(attempts.length <= 6 * CLIENTS, `${attempts.length} attempts`)
})

/** How many of the times are in each window, from 0. */
function countPerWindow(times: readonly number[], windowMs: number): number[] {
  const counts = Array.from({ length: Math.floor(Math.max(...times) / windowMs) + 1 }, () => 0)
  for (const time of times) {
    const index = Math.floor(time / windowMs)
    counts[index] = (counts[index] ?? 0) + 1
  }
  return counts
}
