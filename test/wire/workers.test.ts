/** Tools on several workers: connections are listed, cancelled and closed wherever they are, and the port is shared. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ADMIN, ALICE, bearer, post, signIn } from '../support/demo-user.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { message, readCancelKey, sendCancel, signInTo } from '../support/wire-client.ts'
import { texts, WireSession } from '../support/wire-session.ts'

/** Takes longer than any test. */
const LONG =
  'select count(*) as n from trades a, trades b, trades c, trades d where a.price + b.price > c.price + d.price\0'

let server: RunningProcess
let port: number
let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-wire-'))
  port = await freePort()
  server = await serveProcess(['--demo', '--data', join(folder, 'data'), '--workers', '2', '--wire-port', `${port}`])
  // A worker that starts later opens the ports last.
  await until('both workers serve the port', 30_000, async () => {
    const opened = [await connected(), await connected()]
    const { items } = await admin('GET', '/admin/wire')
    for (const { client } of opened) client.close()
    return new Set(items.map(({ node }) => node)).size === 2
  })
  await until('these are closed', 5_000, async () => (await admin('GET', '/admin/wire')).total === 0)
})
after(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const connected = () => signInTo(port, ALICE.username, ALICE.password)

interface Listed {
  readonly total: number
  readonly items: readonly { readonly node: string }[]
  readonly closed: number
}

async function admin(method: string, path: string): Promise<Listed> {
  const { access_token: token } = await signIn(server, ADMIN)
  const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, ...bearer(token) })
  assert.equal(reply.status, 200)
  return (await reply.json()) as Listed
}

test('both workers serve the port, and an operator sees and closes the connections of both', async () => {
  const opened = []
  for (let count = 0; count < 4; count += 1) opened.push(await connected())
  const { total, items } = await admin('GET', '/admin/wire?user=alice')
  assert.equal(total, 4)
  assert.equal(new Set(items.map(({ node }) => node)).size, 2)
  assert.equal((await admin('DELETE', '/admin/wire?user=alice')).closed, 4)
  for (const { client } of opened) assert.equal((await client.error()).C, '57P01')
})

test('a cancel request reaches the statement on either worker', async () => {
  for (let count = 0; count < 6; count += 1) {
    const { client, replies } = await connected()
    const { processId, key } = readCancelKey(replies)
    client.send(message('Q', LONG))
    await new Promise((resolve) => setTimeout(resolve, 200))
    await sendCancel(port, processId, key)
    assert.equal((await client.error()).C, '57014')
    client.close()
  }
})

test('pg_cancel_backend reaches the statement of the same user on either worker', async () => {
  for (let count = 0; count < 4; count += 1) {
    const { client, replies } = await connected()
    const { processId } = readCancelKey(replies)
    client.send(message('Q', LONG))
    await new Promise((resolve) => setTimeout(resolve, 200))
    const other = await WireSession.open(port, ALICE.username, ALICE.password)
    assert.deepEqual(texts(await other.query(`SELECT pg_cancel_backend(${processId})`)), [['t']])
    assert.equal((await client.error()).C, '57014')
    other.close()
    client.close()
  }
})

test('a revoked token ends its connection amid rows, on either worker, within a second', async () => {
  for (let count = 0; count < 4; count += 1) {
    const { access_token: token } = await signIn(server)
    const { client } = await signInTo(port, 'token', token)
    client.send(message('Q', 'select a.symbol, b.price from trades a, trades b, trades c\0'))
    await client.reply()
    assert.equal((await client.reply())?.type, 'D')
    await post(server, '/connect/revocation', { client_id: 'demo-cli', token })
    const began = performance.now()
    assert.equal((await client.error()).C, '57P01')
    await client.closed()
    assert.ok(performance.now() - began < 1_000, `${performance.now() - began} ms`)
  }
})

test('if the port of the demonstration is taken, the server starts without it and says so', async (context) => {
  const other = createServer().listen(5433, '127.0.0.1')
  const isTaken = await new Promise<boolean>((resolve) => {
    other.once('listening', () => resolve(true))
    // Taken by someone else, which is as good.
    other.once('error', () => resolve(true))
  })
  assert.ok(isTaken)
  const late = await mkdtemp(join(tmpdir(), 'gatehouse-wire-'))
  const second = await serveProcess(['--demo', '--data', join(late, 'data'), '--workers', '2', '--wire-port', 'auto'])
  context.after(async () => {
    await second.stop()
    other.close()
    await rm(late, { recursive: true, force: true })
  })
  const { stdout, stderr } = second.output()
  assert.match(`${stdout}${stderr}`, /the wire port is in use: tools cannot connect/)
})
