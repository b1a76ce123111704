/** The SQLite engine of feeds: the suite of all engines, with two workers that share the file. */
import { EventEmitter } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FeedEngine, NewMessage } from '../../packages/server/src/feeds/engine.ts'
import { openSqliteFeeds, type SharedFeeds } from '../../packages/server/src/feeds/sqlite/engine.ts'
import { createTestClock } from '../support/server.ts'
import { engineSuite } from './engine-suite.ts'

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
