/** A worker's side of the channel to its supervisor. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Remembered, UsedOnce } from '../lib/replay-memory.ts'
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
  readonly #proofs = new ProofRequests((id, proofs) => this.send({ kind: 'proofs used', id, proofs }))

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
        case 'proofs':
          return this.#proofs.answer(message)
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

  workerLink({ number, opensPortLast, appliesFile, predecessor, proofsSince }: StartOrder): WorkerLink {
    const proofs = this.#proofs
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
      usedProofs: {
        since: proofsSince,
        // Of all workers, so that one of them reports it.
        get size() {
          return number === 1 ? proofs.size : 0
        },
        add: (proof) => proofs.add(proof),
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

interface ProofRequest {
  readonly proof: UsedOnce
  readonly resolve: (remembered: Remembered) => void
}

/** Asks the supervisor whether proofs are used for the first time: those of one turn of the event loop share a message. */
class ProofRequests {
  readonly #send: (id: number, proofs: readonly UsedOnce[]) => void
  #waiting: ProofRequest[] = []
  readonly #sent = new Map<number, readonly ProofRequest[]>()
  #id = 0
  /** When the supervisor last replied. */
  size = 0

  constructor(send: (id: number, proofs: readonly UsedOnce[]) => void) {
    this.#send = send
  }

  add(proof: UsedOnce): Promise<Remembered> {
    const { promise, resolve } = Promise.withResolvers<Remembered>()
    if (this.#waiting.push({ proof, resolve }) === 1) setImmediate(() => this.#ask())
    return promise
  }

  #ask(): void {
    const asked = this.#waiting
    this.#waiting = []
    this.#sent.set(++this.#id, asked)
    this.#send(
      this.#id,
      asked.map(({ proof }) => proof),
    )
  }

  answer({ id, remembered, size }: Extract<ToWorker, { kind: 'proofs' }>): void {
    this.size = size
    const asked = this.#sent.get(id) ?? []
    this.#sent.delete(id)
    for (const [index, { resolve }] of asked.entries()) resolve(remembered[index] ?? 'full')
  }
}

function newListeners() {
  return {
    onCommit: new Set<() => void>(),
    onWaiting: new Set<(owners: readonly string[]) => void>(),
  }
}
