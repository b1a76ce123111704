/** A worker's side of the channel to its supervisor. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewMessage, WorkerLink } from '../server/worker-link.ts'
import type { RateCount } from '../store/cluster/rate-count-sync.ts'
import type { SharedFile } from '../store/database/shared-file.ts'
import type { FromWorker, SharedFileName, StartOrder, ToWorker } from './messages.ts'

/** The supervisor closes the ports within milliseconds, unless it or another worker hangs. */
const LONGEST_CLOSE_MS = 5_000
/** Commits within this time are announced by one message, because each wakes the supervisor and all other workers. */
const COMMITS_MS = 10

type FeedListener = (generation: string, messages: readonly NewMessage[]) => void
type RatesListener = (from: string, counts: readonly RateCount[]) => void

export class Link {
  /** The first order of the supervisor. */
  readonly order: Promise<StartOrder>
  /** Resolves when the supervisor wants this worker to stop. */
  readonly stopped: Promise<{ readonly isReplaced: boolean }>
  readonly #portsClosed = Promise.withResolvers<void>()
  readonly #files = { identity: newListeners(), query: newListeners(), feeds: newListeners() }
  #onFeedMessages: FeedListener = () => {}
  #onRates: RatesListener = () => {}
  #ownMetrics: () => string = () => ''
  readonly #scrapes = new Map<number, (text: string) => void>()
  #scrapeId = 0

  constructor() {
    const order = Promise.withResolvers<StartOrder>()
    const stopped = Promise.withResolvers<{ readonly isReplaced: boolean }>()
    this.order = order.promise
    this.stopped = stopped.promise
    process.on('message', (message: ToWorker) => {
      switch (message.kind) {
        case 'start':
          return order.resolve(message.order)
        case 'stop':
          return stopped.resolve(message)
        case 'ports closed':
          return this.#portsClosed.resolve()
        case 'committed':
          for (const listener of this.#files[message.file].onCommit) listener()
          return
        case 'waiting':
          for (const listener of this.#files[message.file].onWaiting) listener(message.owners)
          return
        case 'feed messages':
          return this.#onFeedMessages(
            message.generation,
            message.messages.map(({ topic, data }) => ({ topic, data })),
          )
        case 'rates':
          return this.#onRates(message.from, message.counts)
        case 'metrics wanted':
          return this.send({ kind: 'metrics', id: message.id, text: this.#ownMetrics() })
        case 'all metrics':
          return this.#scrapes.get(message.id)?.(message.text)
      }
    })
    this.send({ kind: 'online' })
  }

  /** Does nothing once the supervisor has ended: this process is about to end too. */
  send(message: FromWorker, whenSent = (): void => {}): void {
    if (process.connected) process.send?.(message, undefined, {}, whenSent)
  }

  /** Regularly reports to the supervisor that the event loop runs. */
  sayAlive(everyMs: number): void {
    if (everyMs > 0) setInterval(() => this.send({ kind: 'alive' }), everyMs).unref()
  }

  /** Call it before the process ends. */
  sendLastMetrics(): Promise<void> {
    return new Promise((resolve) => this.send({ kind: 'last metrics', text: this.#ownMetrics() }, resolve))
  }

  workerLink({ number, opensPortLast, appliesFile, predecessor }: StartOrder): WorkerLink {
    return {
      number,
      opensPortLast,
      appliesFile,
      predecessor,
      identityFile: this.#sharedFile('identity'),
      queryFile: this.#sharedFile('query'),
      feeds: {
        ...this.#sharedFile('feeds'),
        sendMessages: (generation, messages) => this.send({ kind: 'feed messages', generation, messages }),
        onMessages: (listener) => {
          this.#onFeedMessages = listener
        },
      },
      sendRates: (counts) => this.send({ kind: 'rates', counts }),
      onRates: (listener) => {
        this.#onRates = listener
      },
      closePorts: () => {
        this.send({ kind: 'closing' })
        return Promise.race([this.#portsClosed.promise, sleep(LONGEST_CLOSE_MS)])
      },
      shareMetrics: (own) => {
        this.#ownMetrics = own
        return () => this.#scrape()
      },
    }
  }

  #sharedFile(file: SharedFileName): SharedFile {
    const { onCommit, onWaiting } = this.#files[file]
    let pause: NodeJS.Timeout | undefined
    let hasMore = false
    const announce = (): void => {
      hasMore = false
      this.send({ kind: 'committed', file })
      pause = setTimeout(() => {
        pause = undefined
        if (hasMore) announce()
      }, COMMITS_MS)
    }
    return {
      committed() {
        if (pause === undefined) announce()
        else hasMore = true
      },
      onCommit(listener) {
        onCommit.add(listener)
        return () => void onCommit.delete(listener)
      },
      waiting: (owners) => this.send({ kind: 'waiting', file, owners }),
      onWaiting: (listener) => void onWaiting.add(listener),
    }
  }

  #scrape(): Promise<string> {
    const id = ++this.#scrapeId
    return new Promise((resolve) => {
      this.#scrapes.set(id, (text) => {
        this.#scrapes.delete(id)
        resolve(text)
      })
      this.send({ kind: 'all metrics wanted', id })
    })
  }
}

function newListeners() {
  return {
    onCommit: new Set<() => void>(),
    onWaiting: new Set<(owners: readonly string[]) => void>(),
  }
}
