/** Requests to one feed, gathered into groups: each group is one transaction, and each request is appended whole or not at all. */
import { BatchQueue } from '../../lib/batch-queue.ts'
import { isUnavailable } from '../../lib/unavailable.ts'
import type { Appended, NewMessage, PublishOnce } from '../engine.ts'
import type { Feed } from '../feed.ts'
import { PublisherTurns, type QueuedRequest } from '../publisher-turns.ts'
import { refuseAppend } from '../refusals.ts'
import { TOO_MANY_BYTES, TOO_MANY_TOPICS } from './append-function.ts'
import { errorCode, type FeedDatabase } from './database.ts'
import { SCHEMA } from './tables.ts'

export interface AppendQueueOptions {
  readonly database: FeedDatabase
  readonly feedId: () => number
  readonly feed: () => Feed
  readonly isStored: () => boolean
  /** For an error of one request alone: whether it may succeed if it is sent again now. */
  readonly makeRoom: (error: unknown) => Promise<boolean>
  /** The error as the caller sees it. */
  readonly explain: (error: unknown) => unknown
  readonly onAppended: (group: AppendedGroup) => void
}

/** What was appended in one transaction. */
export interface AppendedGroup {
  readonly firstSeq: number
  readonly lastSeq: number
  readonly time: number
  /** How often the feed had been purged. */
  readonly purges: number
  /** Undefined where not all messages of the group were appended: then they have to be read. */
  readonly messages: readonly NewMessage[] | undefined
}

interface Waiting extends QueuedRequest {
  readonly since: number
  readonly messages: readonly NewMessage[]
  readonly once: PublishOnce | undefined
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

interface AppendRow {
  readonly o_first_seq: number
  readonly o_count: number
  readonly o_time: number
  readonly o_requests: readonly number[] | null
  readonly o_ends: readonly string[] | null
  readonly o_repeated: readonly number[] | null
  readonly o_repeated_seqs: readonly string[] | null
  readonly o_repeated_times: readonly string[] | null
  readonly o_used: readonly number[] | null
  readonly o_purges: number
}

const APPEND = `select * from ${SCHEMA}.append_3($1, $2, $3, $4, $5, $6, $7, $8, null, null)`
/** Messages of a group, or one request. */
const MOST_MESSAGES = 2_000
/** Longer messages count as several. */
const LENGTH_OF_MESSAGE = 2_048
const MOST_TURNS = 4
/** Requests that wait for less are sent after one has failed: a connection that broke is replaced at once. */
const LONG_WAIT_MS = 500

export class AppendQueue {
  readonly #options: AppendQueueOptions
  #isRunning = false
  readonly #turns = new PublisherTurns()
  readonly #queue = new BatchQueue<Waiting>({
    maxTurns: MOST_TURNS,
    isReady: () => !this.#isRunning,
    start: () => void this.#start(),
  })

  constructor(options: AppendQueueOptions) {
    this.#options = options
  }

  append(messages: readonly NewMessage[], once: PublishOnce | undefined, publisher: string): Promise<Appended> {
    let length = 0
    for (const { topic, data = '' } of messages) length += topic.length + data.length
    const size = Math.max(messages.length, length / LENGTH_OF_MESSAGE)
    return new Promise((resolve, reject) =>
      this.#queue.push({ since: performance.now(), messages, once, publisher, size, resolve, reject }),
    )
  }

  async #start(): Promise<void> {
    this.#isRunning = true
    const group = withoutRepeatedKeys(this.#turns.choose(this.#queue.items, MOST_MESSAGES))
    this.#queue.removeAll(group)
    await this.#run(group)
    this.#isRunning = false
    this.#queue.schedule()
  }

  /** In order. A request that is too much for the feed is found by halving the group. */
  async #run(group: readonly Waiting[]): Promise<void> {
    try {
      await this.#append(group)
    } catch (error) {
      const isRefused = errorCode(error) === TOO_MANY_TOPICS || errorCode(error) === TOO_MANY_BYTES
      if (isRefused && group.length > 1) {
        const half = group.length >> 1
        await this.#run(group.slice(0, half))
        await this.#run(group.slice(half))
      } else await this.#runAgain(group, error)
    }
  }

  async #runAgain(group: readonly Waiting[], error: unknown): Promise<void> {
    const { makeRoom, explain } = this.#options
    try {
      if (!(await makeRoom(error))) throw error
      await this.#append(group)
    } catch (last) {
      const failed = isUnavailable(last) ? [...group, ...this.#takeLongWaiting()] : group
      for (const { reject } of failed) reject(explain(last))
    }
  }

  /** They have waited for a server that did not answer, and would wait as long again. */
  #takeLongWaiting(): readonly Waiting[] {
    const before = performance.now() - LONG_WAIT_MS
    const count = this.#queue.items.findIndex(({ since }) => since > before)
    return this.#queue.take(count === -1 ? this.#queue.length : count)
  }

  async #append(group: readonly Waiting[]): Promise<void> {
    const { database, feedId, onAppended } = this.#options
    const messages = group.flatMap((request) => request.messages)
    const hasKeys = group.some(({ once }) => once !== undefined)
    const keys = (member: keyof PublishOnce) => (hasKeys ? group.map(({ once }) => once?.[member] ?? null) : null)
    const [row] = await database.write<AppendRow>(APPEND, [
      feedId(),
      database.now(),
      messages.map(({ topic }) => topic),
      messages.map(({ data }) => data ?? null),
      group.flatMap((request, index) => request.messages.map(() => index + 1)),
      keys('owner'),
      keys('key'),
      keys('fingerprint'),
    ])
    if (row === undefined) throw new Error('The database did not say what was appended')
    this.#reply(group, row)
    const lastSeq = row.o_first_seq + row.o_count - 1
    const isWhole = row.o_count === messages.length
    if (row.o_count > 0)
      onAppended({
        firstSeq: row.o_first_seq,
        lastSeq,
        time: row.o_time,
        purges: row.o_purges,
        messages: isWhole ? messages : undefined,
      })
  }

  #reply(group: readonly Waiting[], row: AppendRow): void {
    const { o_time: time, o_first_seq: firstSeq } = row
    const ends = new Map((row.o_requests ?? []).map((request, index) => [request, Number(row.o_ends?.[index])]))
    const used = new Set(row.o_used)
    for (const [index, { resolve, reject }] of group.entries()) {
      const repeated = row.o_repeated?.indexOf(index + 1) ?? -1
      if (used.has(index + 1)) reject(refuseAppend('key', this.#options.feed()))
      else if (repeated >= 0)
        resolve({
          seq: Number(row.o_repeated_seqs?.[repeated]),
          time: Number(row.o_repeated_times?.[repeated]),
          isRepeated: true,
        })
      else
        resolve({ seq: this.#options.isStored() ? (ends.get(index + 1) ?? firstSeq - 1) : 0, time, isRepeated: false })
    }
  }
}

/** Requests with the same key are not in one group: the second gets the result of the first. */
function withoutRepeatedKeys(group: readonly Waiting[]): readonly Waiting[] {
  const keys = new Set<string>()
  const end = group.findIndex(({ once }) => {
    if (once === undefined) return false
    const key = JSON.stringify([once.owner, once.key])
    const isRepeated = keys.has(key)
    keys.add(key)
    return isRepeated
  })
  return end < 0 ? group : group.slice(0, end)
}
