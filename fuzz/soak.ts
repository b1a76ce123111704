/** Soak test of the streaming gateway: `node --expose-gc fuzz/soak.ts [minutes]`. Clients connect, sign in, subscribe, renew and disconnect; nothing may leak. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestController } from '../test/support/controllers.ts'
import { openGateway, type TestGateway } from '../test/support/gateway.ts'
import { connect } from '../test/support/stream-client.ts'

export interface SoakSample {
  readonly clients: number
  readonly heapMiB: number
  readonly descriptors: number
}

const CLIENTS = 24

/** Takes a sample at the end of each part, when all its clients have disconnected. */
export async function soak(
  milliseconds: number,
  parts: number,
  onSample: (sample: SoakSample) => void = () => {},
): Promise<SoakSample[]> {
  const controller = createTestController()
  const gate = await openGateway({
    controllers: [controller],
    settings: { streamMaxSessionsPerUser: 1e6, streamMaxConnectionsPerUser: 1e6, streamMessageBurst: 1e9 },
  })
  const samples: SoakSample[] = []
  let clients = 0
  try {
    for (let part = 0; part < parts; part++) {
      const end = performance.now() + milliseconds / parts
      const publishing = setInterval(() => controller.publish('Market', { at: Date.now() }), 5)
      await Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          while (performance.now() < end) await runClient(gate, clients++)
        }),
      ).finally(() => clearInterval(publishing))
      for (let wait = 0; gate.gateway.connections().length > 0 && wait < 500; wait++) await pause(10)
      assert.equal(gate.gateway.connections().length, 0, 'a connection was left behind')
      globalThis.gc?.()
      await pause(50)
      globalThis.gc?.()
      const sample = {
        clients,
        heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
        descriptors: readdirSync('/proc/self/fd').length,
      }
      samples.push(sample)
      onSample(sample)
    }
    return samples
  } finally {
    await gate.stop()
  }
}

/** One client, from connect to one of four ways of disconnecting. */
async function runClient({ port, mint, bus, clock }: TestGateway, number: number): Promise<void> {
  const wishes = { subject: `user-${number % 10}`, sessionId: `session-${number}`, tokenId: `token-${number}` }
  const authenticate = async (): Promise<object> => ({
    Controller: 'Auth',
    Topic: 'AuthToken',
    TransactionID: number,
    Data: { Provider: 'Bearer', AccessToken: await mint.issue(wishes) },
  })
  const client = await connect(port, { perMessageDeflate: number % 2 === 0 ? { threshold: 0 } : false })
  await client.request(await authenticate())
  client.send({ Controller: 'Test', Topic: 'Market', Action: 'Sub' })
  client.send({ Controller: 'Test', Topic: 'Hang', TransactionID: 1 })
  await client.next()
  client.send({ Action: 'Cancel', TransactionID: 1 })
  client.send(await authenticate())
  for (let message = 0; message < 3; message++) await client.next()
  switch (number % 4) {
    case 0:
      client.socket.close()
      break
    case 1:
      client.socket.terminate()
      break
    case 2:
      await bus.publish({ kind: 'session-ended', sessionId: wishes.sessionId, expiresAt: clock() })
      break
    default:
      client.socket.send(Buffer.from([1]), { binary: true })
  }
  await client.closed
}

if (import.meta.main) {
  const minutes = Number(process.argv[2] ?? 10)
  const samples = await soak(minutes * 60_000, 10, (sample) => console.log(sample))
  const [, second, ...rest] = samples
  const last = rest.at(-1)
  assert.ok(second !== undefined && last !== undefined)
  assert.ok(last.heapMiB < second.heapMiB + 16, 'the heap grows')
  assert.ok(last.descriptors <= second.descriptors + 2, 'file descriptors leak')
  console.log('flat')
}
