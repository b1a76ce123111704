/** What is published without waiting for replies is stored in its order, however far away NATS is, and also by a repetition. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedStore } from '../../packages/server/src/feeds/engine.ts'
import { openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { until } from '../support/until.ts'
import { ALL, createMessages, HISTORY, LATEST, publish, readAll, show, Workbench } from './suite/engine-under-test.ts'

/** Of each direction. */
const DELAY_MS = 20
/** Beyond the second after which a node counts what others have published. */
const MILLISECONDS = 3_500

test('messages that are on their way at once', { skip: whyWithoutNats() ?? false }, async (t) => {
  const server = await startNats()
  t.after(() => server.close())
  const link = await startSlowLink(Number(new URL(server.url).port))
  t.after(() => link.close())
  const url = `nats://127.0.0.1:${link.port}`
  const engine = await openNatsFeeds({ url, isDeclared: async () => true, onError: () => {}, onSkipped: () => {} })
  const bench = await Workbench.open({ engine, close: async () => {} })
  t.after(() => bench.close())

  await t.test('keep their order', async () => {
    const store = await bench.create(HISTORY)
    const sent = await publishInARow((index) => publish(store, `A=${index}`))
    assert.ok(sent > 300, `${sent} were sent`)
    const { messages } = await readAll(store, ALL)
    assert.deepEqual(
      show(messages),
      Array.from({ length: sent }, (_, index) => `A=${index}`),
    )
  })

  await t.test('keep it near the bound of the bytes too', async () => {
    const store = await bench.create({ ...HISTORY, bytes: 4_096 })
    // Each waits for the one before it.
    await publishInARow((index) => isStored(store, `B=${index}`.padEnd(1 + (index % 3) * 40, ' ')), 300)
    const { messages } = await readAll(store, ALL)
    const numbers = messages.map(({ data }) => Number(data))
    assert.ok(numbers.length > 10)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  })

  await t.test('a topic that is removed and published again is there', async () => {
    const store = await bench.create(LATEST)
    await publish(store, 'C=first')
    let last = 0
    await publishInARow(async (index) => {
      last = index
      await Promise.all([publish(store, 'C'), publish(store, `C=${index}`)])
    }, 300)
    assert.deepEqual(show((await readAll(store, ALL)).messages), [`C=${last}`])
  })
})

test('a request whose reply is lost with its NATS server', { skip: whyWithoutNats() ?? false }, async (t) => {
  const server = await startNats()
  t.after(() => server.close())
  const link = await startSlowLink(Number(new URL(server.url).port))
  t.after(() => link.close())
  const engine = await openNatsFeeds({
    ...{ url: `nats://127.0.0.1:${link.port}`, isDeclared: async () => true },
    ...{ onError: () => {}, onSkipped: () => {} },
  })
  const bench = await Workbench.open({ engine, close: async () => {} })
  t.after(() => bench.close())
  const publishOverAKill = async (store: FeedStore, key: string, ...texts: readonly string[]): Promise<void> => {
    await publish(store, 'Other=0')
    // It is begun, and its messages are on their way; the replies are not.
    const published = store.append(createMessages(...texts), { owner: 'publisher', key, fingerprint: 'f' })
    await until('the key is stored', 5_000, () => store.wasAppended({ owner: 'publisher', key, fingerprint: 'f' }))
    await sleep(DELAY_MS)
    link.dropReplies()
    await sleep(500)
    await server.kill()
    await server.start()
    link.passReplies()
    await published
  }

  await t.test('leaves the newest state of a topic', async () => {
    const store = await bench.create(LATEST)
    await publishOverAKill(store, 'a', 'A=1', 'B=1', 'A=2', 'B=2')
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['Other=0', 'A=2', 'B=2'])
  })

  await t.test('leaves a topic removed', async () => {
    const store = await bench.create(HISTORY)
    await publishOverAKill(store, 'b', 'C=1', 'C', 'D=1', 'D', 'D=2')
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['Other=0', 'D=2'])
  })
})

/** One each millisecond. Returns how many. */
async function publishInARow(act: (index: number) => Promise<unknown>, milliseconds = MILLISECONDS): Promise<number> {
  const sent: Promise<unknown>[] = []
  for (const end = performance.now() + milliseconds; performance.now() < end; await sleep(1))
    sent.push(act(sent.length))
  await Promise.all(sent)
  return sent.length
}

async function isStored(store: FeedStore, text: string): Promise<boolean> {
  return publish(store, text).then(
    () => true,
    () => false,
  )
}

interface SlowLink {
  readonly port: number
  dropReplies(): void
  passReplies(): void
  close(): void
}

async function startSlowLink(port: number): Promise<SlowLink> {
  const sockets = new Set<Socket>()
  let isDropping = false
  const link = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (data) => {
        if (from === near || !isDropping) setTimeout(() => to.write(data), DELAY_MS)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve))
  return {
    port: (link.address() as AddressInfo).port,
    dropReplies() {
      isDropping = true
    },
    passReplies() {
      isDropping = false
    },
    close() {
      for (const socket of sockets) socket.destroy()
      link.close()
    },
  }
}
