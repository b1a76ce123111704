/** The SQLite engine of feeds: the suite of all engines, with two workers that share the file. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { noAudit } from 'gatehouse-protocol'
import { tradedInstruments } from '../../packages/server/src/declarative/demo-market.ts'
import type { FeedEngine, NewMessage, PublishOnce } from '../../packages/server/src/feeds/engine.ts'
import { LiveFeed } from '../../packages/server/src/feeds/live-feed.ts'
import { openSqliteFeeds, type SharedFeeds } from '../../packages/server/src/feeds/sqlite/engine.ts'
import { LoopWriter } from '../../packages/server/src/feeds/sqlite/loop-writer.ts'
import { FEEDS_FILE } from '../../packages/server/src/feeds/sqlite/schema.ts'
import { createStepUp } from '../../packages/server/src/step-up/step-up.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'
import { engineSuite } from './engine-suite.ts'
import { ALL, DEFAULTS, HISTORY, LATEST, only, publish, show, Workbench } from './suite/engine-under-test.ts'

engineSuite('sqlite', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
  const clock = createTestClock()
  const workers: Worker[] = []
  const open = (): Promise<FeedEngine> => {
    const worker = new Worker(workers)
    workers.push(worker)
    return openSqliteFeeds({ dataFolder, clock, sweepMs: 50, shared: worker, onError: (error) => console.error(error) })
  }
  return {
    engine: await open(),
    second: open,
    advance: (milliseconds) => clock.advance(milliseconds),
    close: () => rm(dataFolder, { recursive: true }),
  }
})

describe('feeds in SQLite', () => {
  const clock = createTestClock()
  let dataFolder: string
  let bench: Workbench
  before(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
    const engine = await openSqliteFeeds({ dataFolder, clock, sweepMs: 20, onError: (error) => console.error(error) })
    bench = new Workbench({ engine, close: () => rm(dataFolder, { recursive: true }) }, undefined)
  })
  after(() => bench.close())

  const once = (key: string): PublishOnce => ({ owner: 'alice', key, fingerprint: 'print' })

  test('expired messages are removed by one job at a time: while the file is locked, the queue does not grow', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
    let sent = 0
    // Read once for each batch of jobs.
    const counted = () => {
      sent += 1
      return clock()
    }
    const engine = await openSqliteFeeds({ dataFolder: folder, clock: counted, sweepMs: 5, onError: () => {} })
    const other = new Sqlite(join(folder, FEEDS_FILE))
    other.exec('begin immediate')
    sent = 0
    await sleep(500)
    assert.ok(sent <= 1)
    other.exec('rollback')
    await until('they are removed again', 5_000, () => sent > 2)
    other.close()
    await engine.close()
    await rm(folder, { recursive: true })
  })

  test('more long requests at once than the thread has memory for are all answered', async () => {
    const store = await bench.create(LATEST)
    // Two bytes for each character in memory. Repeated requests are not written, so that this takes little time.
    const data = JSON.stringify(`€${'x'.repeat(1_000_000)}`)
    const messages = Array.from({ length: 8 }, (_, index) => ({ topic: `T${index}`, data }))
    await store.append(messages, once('long'))
    const repeated = await Promise.all(Array.from({ length: 30 }, () => store.append(messages, once('long'))))
    assert.ok(repeated.every(({ isRepeated }) => isRepeated))
    await publish(store, 'A=1')
  })

  test('little is written without a thread; the first long request starts it, and numbers stay in order', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
    let threads = 0
    const count = (): void => {
      threads += 1
    }
    process.on('worker', count)
    const engine = await openSqliteFeeds({
      dataFolder: folder,
      clock,
      sweepMs: 20,
      monotonic: () => 0,
      onError: (error) => assert.fail(String(error)),
    })
    try {
      const store = await engine.open({ ...DEFAULTS, ...HISTORY, name: 'little', generation: 'little-1' })
      for (let number = 1; number <= 20; number++) assert.equal((await publish(store, `A=${number}`)).seq, number)
      await engine.check()
      const prices = tradedInstruments().map(({ symbol }) => ({ topic: symbol, data: '1' }))
      const latest = await engine.open({ ...DEFAULTS, ...LATEST, name: 'prices', generation: 'prices-1' })
      await latest.append(prices)
      assert.equal(threads, 0, 'the demonstration needs none')
      const many = Array.from({ length: 500 }, () => ({ topic: 'B', data: '1' }))
      const results = await Promise.all([publish(store, 'A=21'), store.append(many), publish(store, 'A=22')])
      assert.deepEqual([results.map(({ seq }) => seq), threads], [[21, 521, 522], 1])
      assert.equal((await publish(store, 'A=23')).seq, 523)
      assert.equal(threads, 1)
    } finally {
      process.off('worker', count)
      await engine.close()
      await rm(folder, { recursive: true })
    }
  })

  test('a slow disk, or a change of a feed with much in it, is left to the thread', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
    const file = join(folder, FEEDS_FILE)
    const [feed] = [
      {
        generation: 'feed-1',
        keep: 'all',
        topics: 10,
        bytes: 1e9,
        stateTime: undefined,
        history: { messages: 1e6, time: 1e9 },
      },
    ] as const
    const append = (data: string) => ({
      job: { kind: 'append', feed, batch: { topics: ['A'], data: [data], once: undefined }, publisher: '' } as const,
      now: 0,
    })
    const purge = { job: { kind: 'purge', generation: feed.generation }, now: 0 } as const
    let time = 0
    let syncMs = 1
    // Read before and after each group.
    const monotonic = () => (time += syncMs)
    const writer = new LoopWriter(file, monotonic)
    try {
      assert.equal(writer.write([{ job: { kind: 'define', feed, delays: [] }, now: 0 }])?.length, 1)
      for (let number = 0; number < 30; number++) {
        assert.equal(writer.write([append('1'.repeat(100_000))])?.[0]?.kind, 'appended')
        time += 250
      }
      assert.equal(writer.write([purge]), undefined, 'a file of 3 MB')
      assert.ok(writer.write([append('1')]) !== undefined)
      syncMs = 30
      let written = 0
      for (; written < 100 && writer.write([append('1')]) !== undefined; written++) time += 250
      assert.ok(written > 0 && written < 10, `${written} groups`)
    } finally {
      writer.close()
      await rm(folder, { recursive: true })
    }
  })

  test('a file that can no longer be read fails what needs it, not the process', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-feeds-'))
    const file = join(folder, FEEDS_FILE)
    const engine = await openSqliteFeeds({ dataFolder: folder, clock, sweepMs: 20, onError: () => {} })
    try {
      const other = new Sqlite(file)
      other.pragma('wal_checkpoint(truncate)')
      other.close()
      await writeFile(file, Buffer.alloc(8_192, 'x'))
      await assert.rejects(engine.check())
      await sleep(100)
      await assert.rejects(engine.check())
    } finally {
      await engine.close()
      await rm(folder, { recursive: true })
    }
  })

  test('a purge while messages are passed on ends that, and positions do not go back', async () => {
    const store = await bench.create(HISTORY)
    const feed = new LiveFeed({ ...DEFAULTS, ...HISTORY, name: 'purged', generation: 'purged-1' }, store, {
      onError: (error) => assert.fail(String(error)),
      stepUp: createStepUp({ clock: Date.now, audit: noAudit }),
    })
    const message = (seq: number) => ({ topic: 'A', data: '1', seq, time: 0 })
    const many = Array.from({ length: 300_000 }, (_, index) => message(index + 1))
    feed.deliver(many, many.length)
    feed.deliver([message(many.length + 1)], many.length + 1)
    assert.equal(feed.newestPosition('A'), feed.findOrAddPositions('A').write(store.epoch, 0), 'it takes several turns')
    feed.purged()
    const newest = feed.findOrAddPositions('A').write(store.epoch, many.length + 1)
    for (let turn = 0; turn < 50; turn++) {
      assert.equal(feed.newestPosition('A'), newest)
      await nextTurn()
    }
  })

  test('long requests are written although short ones never stop', async () => {
    const store = await bench.create(HISTORY)
    const short: Promise<unknown>[] = []
    let isWritten = false
    const long = store.append(Array.from({ length: 1_001 }, () => ({ topic: 'Long', data: '1' })))
    void long.then(() => {
      isWritten = true
    })
    for (; !isWritten && short.length < MOST_SHORT; await nextTurn()) short.push(publish(store, 'Short=1'))
    await Promise.all([long, ...short])
    assert.ok(short.length < MOST_SHORT)
  })

  test('keys and removed topics of feeds without any time are forgotten too', async () => {
    const store = await bench.create(LATEST)
    await store.append([{ topic: 'A', data: '1' }], once('day'))
    await publish(store, 'B=1')
    await publish(store, 'B')
    clock.advance(25 * 3_600_000)
    const rows = (): unknown => {
      const database = new Sqlite(join(dataFolder, 'feeds.db'), { readonly: true })
      const sql = "select (select count(*) from requests) + (select count(*) from topics where topic = 'B') as count"
      try {
        return database.prepare(sql).pluck().get()
      } finally {
        database.close()
      }
    }
    await until('they are forgotten', 5000, () => rows() === 0)
    assert.equal((await store.append([{ topic: 'A', data: '2' }], once('day'))).isRepeated, false)
  })

  test('a topic that was forgotten and comes back does not hide the gap', async () => {
    const store = await bench.create(HISTORY)
    const { seq } = await publish(store, 'A=1')
    await publish(store, 'A=2')
    await publish(store, 'A')
    clock.advance(3 * 3_600_000)
    await until('it is forgotten', 5000, async () => (await store.readAfter(only('A'), seq, NEXT)).hasGap)
    await sleep(100)
    await publish(store, 'A=3')
    assert.equal((await store.readAfter(only('A'), seq, NEXT)).hasGap, true)
  })

  test('a request that was sent under an earlier definition is written under the newest one', async () => {
    const feed = bench.define(HISTORY)
    const store = await bench.engine.open(feed)
    await publish(store, 'A=0')
    const changed = store.update({ ...feed, keep: 'latest', history: undefined })
    await Promise.all([publish(store, 'A=1'), changed])
    assert.deepEqual(show(await store.readLast(only('A'), 1)), ['A=1'])
  })

  test('the last messages of a pattern are bounded by their bytes', async () => {
    const store = await bench.create(HISTORY)
    const data = JSON.stringify('x'.repeat(100_000))
    await store.append(Array.from({ length: 40 }, (_, index) => ({ topic: `T${index}`, data })))
    const last = await store.readLast(ALL, 1_000)
    assert.deepEqual([last.length, last.at(-1)?.topic], [11, 'T39'])
  })
})

const MOST_SHORT = 20_000
const NEXT = { kind: 'history', limit: 100 } as const

/** What the supervisor does between workers, within one process. */
class Worker implements SharedFeeds {
  readonly #all: readonly Worker[]
  readonly #events = new EventEmitter()

  constructor(all: readonly Worker[]) {
    this.#all = all
  }

  committed(): void {
    this.#tellOthers('committed')
  }

  onCommit(listener: () => void): () => void {
    this.#events.on('committed', listener)
    return () => this.#events.off('committed', listener)
  }

  waiting(): void {}

  onWaiting(): void {}

  sendMessages(feed: string, messages: readonly NewMessage[]): void {
    this.#tellOthers('messages', feed, messages)
  }

  onMessages(listener: (feed: string, messages: readonly NewMessage[]) => void): void {
    this.#events.on('messages', listener)
  }

  #tellOthers(event: string, ...parts: readonly unknown[]): void {
    for (const worker of this.#all) if (worker !== this) setImmediate(() => worker.#events.emit(event, ...parts))
  }
}
