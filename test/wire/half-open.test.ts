/** Thousands of connections that never sign in: they are bounded in number and time, and those of others go on. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { message, signInTo, startUp, WireClient } from '../support/wire-client.ts'
import { startWire } from '../support/wire-server.ts'

const HALF_OPEN = 10_000
const AT_A_TIME = 500
/** As many as the server lets wait. */
const WAITING = 500

test('a sign-in that takes more than 10 s is closed', { timeout: 30_000 }, async (context) => {
  const { port } = await startWire(context)
  const began = performance.now()
  const client = await WireClient.open(port)
  client.send(startUp({ user: 'alice' }))
  await client.closed()
  const took = performance.now() - began
  assert.ok(took > 9_000 && took < 20_000, `${took} ms`)
})

/** The time of a round trip on an open connection, at the 99th percentile. */
async function p99(client: WireClient, isOver: () => boolean): Promise<number> {
  const times: number[] = []
  while (!isOver()) {
    const began = performance.now()
    client.send(message('S'))
    await client.reply()
    times.push(performance.now() - began)
    await sleep(2)
  }
  times.sort((one, other) => one - other)
  return times[Math.floor(times.length * 0.99)] ?? 0
}

test(`${HALF_OPEN} half-open connections from exempt addresses: ${WAITING} wait, the others are refused, and open ones are answered`, {
  timeout: 120_000,
}, async (context) => {
  const { wire, port, mint, metrics } = await startWire(context, { settings: { exempt: ['127.0.0.0/8'] } })
  const { client } = await signInTo(port, 'token', await mint.issue())
  const end = performance.now() + 2_000
  const alone = await p99(client, () => performance.now() > end)
  const sockets: Socket[] = []
  let isOver = false
  const beside = p99(client, () => isOver)
  const before = process.memoryUsage().rss
  context.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const refused = () => metrics.sum('gatehouse_wire_refused_total')
  const began = performance.now()
  let closed = 0
  for (let count = 0; count < HALF_OPEN; count += AT_A_TIME) {
    for (let each = 0; each < AT_A_TIME; each += 1) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('close', () => {
        closed += 1
      })
      socket.resume()
      sockets.push(socket)
    }
    // Beyond its backlog, the system drops connections that this process has not accepted yet.
    await until('they are accepted', 5_000, () => refused() + WAITING >= sockets.length)
  }
  await sleep(1_000)
  isOver = true
  const time = await beside
  // Their ends reach this process late if others are busy.
  await until('the others are refused', 6_000, () => HALF_OPEN - closed <= WAITING)
  const seconds = (performance.now() - began) / 1000
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  assert.equal([...wire.connections()].length, 1)
  // The clients are in this process too, so that the times are those of both sides.
  context.diagnostic(
    `p99 ${alone.toFixed(1)} ms alone, ${time.toFixed(1)} ms beside them; ${grown.toFixed(0)} MiB more`,
  )
  assert.ok(grown < 300, `${grown} MiB`)
  await until('after their deadline there is room again', 12_000, () => closed === HALF_OPEN)
  const waited = metrics.sum('gatehouse_wire_refused_total', (labels) => labels.includes('deadline'))
  // On a busy machine, places become free again while connections still come.
  assert.ok(
    waited >= WAITING && waited <= WAITING * (1 + Math.floor(seconds / 10)),
    `${waited} waited, in ${seconds} s`,
  )
  assert.equal(refused(), HALF_OPEN)
  const { replies } = await signInTo(port, 'token', await mint.issue())
  assert.equal(replies.at(-1)?.type, 'Z')
})
