/** The limits of connections by PostgreSQL's protocol, and what hostile clients can reach. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { dataRow, readyForQuery } from '../../packages/server/src/wire/protocol/replies.ts'
import type { OpenSession } from '../../packages/server/src/wire/session/contract.ts'
import { until } from '../support/until.ts'
import { errorFields, message, signInTo, startUp, WireClient } from '../support/wire-client.ts'
import { createSession, startWire } from '../support/wire-server.ts'

test('one user has at most 20 connections, a node at most wire_connections: 53300', async (context) => {
  const { port, mint } = await startWire(context, { settings: { connections: 25 } })
  const outcome = async (subject: string): Promise<string> => {
    const { replies } = await signInTo(port, 'token', await mint.issue({ subject }))
    const last = replies.at(-1)
    return last?.type === 'E' ? (errorFields(last.body).C ?? '') : (last?.type ?? '')
  }
  for (let count = 0; count < 20; count += 1) assert.equal(await outcome('alice'), 'Z')
  assert.equal(await outcome('alice'), '53300')
  for (let count = 0; count < 5; count += 1) assert.equal(await outcome('ben'), 'Z')
  assert.equal(await outcome('carol'), '53300')
})

test('of one address 50 connections may sign in at a time; others are refused at once, and signed-in ones go on', async (context) => {
  const { port, mint } = await startWire(context)
  const { client } = await signInTo(port, 'token', await mint.issue())
  const half = await Promise.all(Array.from({ length: 50 }, () => WireClient.open(port)))
  const refused = await WireClient.open(port)
  assert.equal((await refused.error()).C, '53300')
  client.send(message('S'))
  assert.equal((await client.reply())?.type, 'Z')
  for (const each of half) each.close()
  await until('there is room again', 2_000, async () => {
    const { client: next, replies } = await signInTo(port, 'token', await mint.issue())
    next.close()
    return replies.at(-1)?.type === 'Z'
  })
})

test('random bytes at every stage end in an error or a close, and never in an internal error', async (context) => {
  const { port, mint, log } = await startWire(context)
  const token = await mint.issue()
  const types = Buffer.from('QPBDECSHdcfXFp?')
  for (let count = 0; count < 150; count += 1) {
    const noise = randomBytes(1 + (count % 200))
    const stage = count % 3
    const client = await WireClient.open(port)
    if (stage === 0) client.send(noise)
    else {
      client.send(startUp({ user: 'token' }))
      await client.reply()
      if (stage === 1) client.send(noise)
      else {
        client.send(message('p', `${token}\0`))
        await client.repliesTo('Z')
        // A message whose type and length are right, with a body that is not.
        client.send(message(String.fromCharCode(types[count % types.length] ?? 0), noise))
      }
    }
    client.socket.end()
    await client.closed()
  }
  assert.deepEqual(
    log.filter((line) => /error/i.test(line)),
    [],
  )
})

test('a client that does not read holds back its own rows only, and a kick ends it within a second', async (context) => {
  const row = dataRow(['x'.repeat(10_000)])
  let [written, ended] = [0, 0]
  const openSession: OpenSession = (_caller, output) => {
    let isOver = false
    return createSession(output, {
      async handle(received) {
        if (received.kind !== 'query') return
        while (!isOver) {
          written += row.length
          if (!output.write(row)) await output.drained()
        }
      },
      end() {
        isOver = true
        ended += 1
      },
    })
  }
  const { wire, port, mint, publish } = await startWire(context, { openSession })
  const { client } = await signInTo(port, 'token', await mint.issue())
  client.socket.pause()
  client.send(message('Q', 'SELECT 1\0'))
  await until('the socket is full', 5_000, async () => {
    const before = written
    await new Promise((resolve) => setTimeout(resolve, 100))
    return written > 0 && written === before
  })
  assert.ok(written < 32 * 1024 * 1024, `${written} bytes`)
  const [connection] = [...wire.connections()]
  const began = performance.now()
  await publish({ kind: 'wire-kick', connectionId: connection?.connectionId ?? '' })
  assert.equal(ended, 1)
  assert.equal([...wire.connections()].length, 0)
  assert.ok(performance.now() - began < 1_000)
  // It has half a second to take the reason, and is cut off then.
  client.socket.resume()
  await client.closed()
})

test('amid rows, the last message is the reason', async (context) => {
  const openSession: OpenSession = (_caller, output) =>
    createSession(output, {
      async handle(received) {
        if (received.kind !== 'query') return
        for (let count = 0; ; count += 1) {
          if (!output.write(dataRow([`row ${count}`]))) await output.drained()
          await new Promise(setImmediate)
          if (count > 100_000) return
        }
      },
    })
  const { port, mint, publish } = await startWire(context, { openSession })
  const { client } = await signInTo(port, 'token', await mint.issue({ tokenId: 'spent' }))
  client.send(message('Q', 'SELECT 1\0'))
  assert.equal((await client.reply())?.type, 'D')
  await publish({ kind: 'token-revoked', tokenId: 'spent', expiresAt: Date.now() + 60_000 })
  const fields = await client.error()
  assert.deepEqual([fields.S, fields.C], ['FATAL', '57P01'])
  await client.closed()
})

test('messages that are sent ahead wait in the socket while a statement runs', async (context) => {
  let handled = 0
  let release = (): void => {}
  const openSession: OpenSession = (_caller, output) =>
    createSession(output, {
      handle(received) {
        handled += 1
        if (received.kind !== 'query') return undefined
        return new Promise((resolve) => {
          release = resolve
        })
      },
    })
  const { port, mint } = await startWire(context, { openSession })
  const { client } = await signInTo(port, 'token', await mint.issue())
  client.send(message('Q', 'SELECT 1\0'))
  await until('it runs', 2_000, () => handled === 1)
  const ahead = message('d', Buffer.alloc(60_000))
  for (let count = 0; count < 500; count += 1) client.send(ahead)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(handled, 1)
  // 30 MB were sent; what the server and both sockets hold is a part of it.
  assert.ok(client.socket.writableLength > 10_000_000, `${client.socket.writableLength}`)
  release()
  await until('all are handled', 5_000, () => handled === 501)
  client.close()
})

test('unfinished messages of one user are bounded, and do not stop those of others', async (context) => {
  const { port, mint } = await startWire(context, { settings: { keptBytes: 4 * 1_048_576 } })
  const bind = message('B', Buffer.alloc(1_000_000))
  const refused: string[] = []
  for (let count = 0; count < 4; count += 1) {
    const { client } = await signInTo(port, 'token', await mint.issue({ subject: 'alice' }))
    client.send(bind.subarray(0, 500_000))
    client.error().then(({ S, C }) => void refused.push(`${S} ${C}`))
  }
  await until('two are refused', 2_000, () => refused.length === 2)
  assert.deepEqual(refused, ['FATAL 53000', 'FATAL 53000'])
  const { client } = await signInTo(port, 'token', await mint.issue({ subject: 'ben' }))
  client.send(bind.subarray(0, 900_000))
  client.send(bind.subarray(900_000), message('S'))
  assert.equal((await client.reply())?.type, 'E')
})

test('costly messages of many connections wait for each other, and others are answered in between', async (context) => {
  let handled = 0
  const openSession: OpenSession = (_caller, output) =>
    createSession(output, {
      handle(received) {
        if (received.kind === 'sync') output.write(readyForQuery('I'))
        if (received.kind !== 'query') return
        handled += 1
        for (const end = performance.now() + 5; performance.now() < end; );
      },
    })
  const { port, mint } = await startWire(context, { openSession })
  const { client } = await signInTo(port, 'token', await mint.issue())
  for (let count = 0; count < 5; count += 1) {
    const { client: costly } = await signInTo(port, 'token', await mint.issue({ subject: 'costly' }))
    costly.send(...Array.from({ length: 100 }, () => message('Q', 'SELECT 1\0')))
  }
  await until('they are being handled', 2_000, () => handled > 0)
  let most = 0
  for (let count = 0; count < 10; count += 1) {
    const before = handled
    client.send(message('S'))
    await client.reply()
    most = Math.max(most, handled - before)
  }
  assert.ok(handled < 500, 'they have not ended meanwhile')
  assert.ok(most <= 10, `${most} costly messages before one answer`)
})
