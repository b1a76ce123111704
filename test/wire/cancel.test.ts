/** CancelRequest: the right key stops the statement on any node, a wrong one does nothing, and neither is answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenSession } from '../../packages/server/src/wire/session/contract.ts'
import { until } from '../support/until.ts'
import { readCancelKey, sendCancel, signInTo } from '../support/wire-client.ts'
import { createSession, startWire, type TestWire } from '../support/wire-server.ts'

function counted(): { cancelled: string[]; openSession: OpenSession } {
  const cancelled: string[] = []
  return {
    cancelled,
    openSession: ({ user }, output) => createSession(output, { cancel: () => void cancelled.push(user) }),
  }
}

async function connect({ port, mint }: TestWire, version?: number) {
  const { client, replies } = await signInTo(port, 'token', await mint.issue(), {}, version)
  assert.equal(replies.at(-1)?.type, 'Z')
  return { client, ...readCancelKey(replies) }
}

test('the key of a connection cancels it, in protocol 3.0 and 3.2; those of others do not', async (context) => {
  const { cancelled, openSession } = counted()
  const wire = await startWire(context, { openSession })
  for (const version of [0x30000, 0x30002]) {
    const { client, processId, key } = await connect(wire, version)
    await sendCancel(wire.port, processId, Buffer.from(key).fill(7))
    await sendCancel(wire.port, processId + 1, key)
    await sendCancel(wire.port, processId, Buffer.concat([key, key]))
    assert.deepEqual(cancelled, [])
    await sendCancel(wire.port, processId, key)
    assert.deepEqual(cancelled.splice(0), ['token'])
    client.close()
  }
})

test('a key ends with its connection', async (context) => {
  const { cancelled, openSession } = counted()
  const wire = await startWire(context, { openSession })
  const { client, processId, key } = await connect(wire)
  client.close()
  await until('it is closed', 2_000, () => [...wire.wire.connections()].length === 0)
  await sendCancel(wire.port, processId, key)
  assert.deepEqual(cancelled, [])
})

test('a node passes a request on to the others, with a digest of the key only', async (context) => {
  const { cancelled, openSession } = counted()
  const there = await startWire(context, { openSession })
  const passed: [number, string][] = []
  const here = await startWire(context, {
    passCancelOn: async (processId, digest) => {
      passed.push([processId, digest])
      return there.wire.cancel(processId, digest)
    },
  })
  const { processId, key } = await connect(there)
  await sendCancel(here.port, processId, key)
  await until('it is cancelled', 2_000, () => cancelled.length === 1)
  assert.equal(passed[0]?.[0], processId)
  assert.ok(!passed[0]?.[1].includes(key.toString('base64url')))
})

test('after many wrong keys the requests of an address are dropped for a while', async (context) => {
  let passed = 0
  const { cancelled, openSession } = counted()
  const wire = await startWire(context, {
    openSession,
    passCancelOn: async () => {
      passed += 1
      return false
    },
  })
  const { processId, key } = await connect(wire)
  for (let count = 0; count < 40; count += 1) await sendCancel(wire.port, count + 1, Buffer.alloc(4))
  assert.equal(passed, 20)
  await sendCancel(wire.port, processId, key)
  assert.deepEqual(cancelled, [])
})
