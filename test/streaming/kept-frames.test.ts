/** The memory of frames that are kept: for subscribers whose turn comes later, and for clients that do not read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createTestController } from '../support/controllers.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { frame, OPCODE, openRaw } from '../support/frames.ts'
import { startGateway } from '../support/gateway.ts'
import { useServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const MEBIBYTE = 1024 * 1024

const server = useServer({
  flags: { '--demo': 'true', '--stream-drain-time': '0', '--limit-query': '' },
})

test('the messages of a live statement take no memory after its subscribers have them', async (t) => {
  const [TOPICS, CHANGES] = [40, 40]
  const token = (await signIn(server, ADMIN)).access_token
  const write = async (statement: string): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
    const response = await fetch(`${server.issuer}/query`, { method: 'POST', headers, body: statement })
    assert.ok(response.ok, await response.text())
  }
  const stream = await connect(server.port, { ...bearer(token), perMessageDeflate: { threshold: 0 } })
  t.after(() => stream.socket.terminate())
  await write('CREATE TABLE kept (id Integer PRIMARY KEY, n Integer)')
  await write('INSERT INTO kept VALUES (1, 0)')
  let [snapshots, changes] = [0, 0]
  stream.socket.on('message', (message) => {
    if (message.toString().includes('"Kind":"Snapshot"')) snapshots++
    if (message.toString().includes('"Kind":"Change"')) changes++
  })
  const Data = { Statement: 'SELECT id, n FROM kept', MaxRate: 50 }
  for (let topic = 0; topic < TOPICS; topic++)
    stream.send({ Controller: 'Query', Topic: `Live/${topic}`, Action: 'Sub', Data })
  await until('all topics have the result', 10_000, () => snapshots === TOPICS)
  const before = arrayBufferBytes()
  for (let n = 1; n <= CHANGES; n++) {
    const expected = changes + TOPICS
    await write(`UPDATE kept SET n = ${n + 1} WHERE id = 1`)
    await until('all topics have the change', 10_000, () => changes >= expected)
    // Other work, which uses the same pool.
    for (let other = 0; other < 10; other++) Buffer.allocUnsafe(3_000)
  }
  const kept = arrayBufferBytes() - before
  assert.ok(kept < MEBIBYTE, `${kept} bytes are kept of ${changes} messages`)
})

test('a client that does not read keeps little more memory than its send queue counts', async (t) => {
  const controller = createTestController()
  const { port, gateway } = await startGateway(t, {
    controllers: [controller],
    settings: { streamSendQueueBytes: 64 * MEBIBYTE, streamSendQueueBytesPerAddress: 64 * MEBIBYTE },
  })
  const slow = await openRaw(port, '/Platform?version=1.1')
  slow.write(frame({ opcode: OPCODE.text, payload: '{"Controller":"Test","Topic":"Open","Action":"Sub"}' }))
  slow.socket.pause()
  await until('it is subscribed', 5_000, () => controller.subscribers('Open') === 1)
  const queued = () => gateway.connections().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0)
  // Fills what the system takes.
  for (let filled = 0; filled < 40 && queued() < 4 * MEBIBYTE; filled++) {
    controller.publish('Open', 'x'.repeat(MEBIBYTE))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const [counted, before] = [queued(), arrayBufferBytes()]
  for (let published = 0; published < 5_000; published++) {
    controller.publish('Open', published)
    // Other work, which uses the same pool.
    Buffer.allocUnsafe(3_000)
  }
  const [more, kept] = [queued() - counted, arrayBufferBytes() - before]
  assert.ok(more > 5_000 * 100, `${more} bytes are counted`)
  assert.ok(kept < 2 * more, `${kept} bytes are kept, and ${more} are counted`)
  slow.socket.destroy()
})

/** What is still referenced. */
function arrayBufferBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  collect()
  return process.memoryUsage().arrayBuffers
}
