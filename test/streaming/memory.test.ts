/** The memory of a signed-in connection that uses compression in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { signIn } from '../support/demo-user.ts'
import { serveProcess } from '../support/process.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'

const MANY = '1000000'
const CONNECTIONS = 2_000
const MAX_KIB = 20

test('a signed-in connection that compresses takes 20 KiB at most', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-memory-'))
  const server = await serveProcess([
    ...['--demo', '--data', folder, '--stream-drain-time', '0', '--stream-deflate-threshold', '16'],
    ...['--stream-max-connections-per-user', MANY, '--stream-max-sessions-per-user', MANY],
    ...['--stream-max-connections-per-address', MANY, '--max-connections-per-address', MANY],
  ])
  const clients: StreamClient[] = []
  t.after(async () => {
    for (const { socket } of clients) socket.terminate()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const { access_token: token } = await signIn(server)
  const open = async (): Promise<StreamClient> => {
    const client = await connect(server.port, {
      headers: { Authorization: `Bearer ${token}` },
      perMessageDeflate: { threshold: 0 },
    })
    assert.match(client.socket.extensions, /permessage-deflate/)
    const reply = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })
    assert.equal((reply.Data as { Result: string }).Result, 'Success')
    return client
  }
  const openMany = async (count: number): Promise<void> => {
    for (let opened = 0; opened < count; opened += 50)
      clients.push(...(await Promise.all(Array.from({ length: 50 }, open))))
  }
  // By then the code is compiled and the heap has its size.
  await openMany(1_000)
  const before = residentKiB(server.child.pid)
  await openMany(CONNECTIONS)
  const each = (residentKiB(server.child.pid) - before) / CONNECTIONS
  t.diagnostic(`${each.toFixed(1)} KiB for each connection`)
  assert.ok(each <= MAX_KIB, `${each.toFixed(1)} KiB for each connection`)
})

function residentKiB(pid = 0): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
