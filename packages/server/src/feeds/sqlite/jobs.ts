/** What the server tells the thread that writes feeds.db, and what it answers. */
import type { Feed, FeedHistory } from '../feed.ts'
import type { QueuedRequest } from '../publisher-turns.ts'
import type { AppendFault } from '../refusals.ts'

export type Job =
  | { readonly kind: 'define'; readonly feed: FeedRules; readonly delays: readonly number[] }
  | { readonly kind: 'append'; readonly feed: FeedRules; readonly batch: BatchToAppend; readonly publisher: string }
  | { readonly kind: 'purge'; readonly generation: string }
  | { readonly kind: 'drop'; readonly generation: string }
  /** Removes what has expired; at most some thousand rows at once. */
  | { readonly kind: 'sweep'; readonly feeds: readonly SweptFeed[] }
  /** Shows delayed readers what is old enough; at most some thousand messages at once. */
  | { readonly kind: 'move'; readonly generation: string }
  | { readonly kind: 'check' }

/** What a definition says about what is kept. */
export interface FeedRules extends Pick<Feed, 'generation' | 'keep' | 'topics' | 'bytes' | 'stateTime'> {
  readonly history: FeedHistory | undefined
}

export interface SweptFeed {
  readonly rules: FeedRules
  /** Those that the process needs; undefined: it does not say. */
  readonly delays: readonly number[] | undefined
}

/** Topics and data in lists of their own: these are copied to the thread in a third of the time that objects take. */
export interface BatchToAppend {
  readonly topics: readonly string[]
  readonly data: readonly (string | undefined)[]
  readonly once: { readonly owner: string; readonly key: string; readonly fingerprint: string } | undefined
}

/** The jobs of one turn of the event loop. */
export interface JobBatch {
  readonly now: number
  readonly jobs: readonly SentJob[]
}

export interface SentJob extends QueuedRequest {
  readonly id: number
  readonly job: Job
}

export interface JobResults {
  readonly results: readonly (readonly [id: number, result: JobResult])[]
}

export type JobResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'swept'; readonly hasChanged: boolean; readonly hasMore: boolean }
  | MoveResult
  | AppendResult
  | { readonly kind: 'refused'; readonly fault: AppendFault }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string }

export interface MoveResult {
  readonly kind: 'moved'
  readonly messages: number
  readonly hasMore: boolean
  /** How much later than it was old enough the oldest of them is shown. */
  readonly lateMs: number
}

export interface AppendResult {
  readonly kind: 'appended'
  /** That of the feed when they were appended. */
  readonly epoch: string
  /** The newest message of the feed before these, whose numbers follow it without a gap. */
  readonly before: number
  readonly seq: number
  readonly time: number
  readonly isRepeated: boolean
}

/** A job that waits, as the turns of publishers see it. A publisher's long requests have turns of their own: its short ones do not wait for them. */
export function queuedRequest(job: Job): QueuedRequest {
  if (job.kind !== 'append') return { publisher: '', size: 1 }
  const { topics } = job.batch
  const length = textLength(job)
  const isLong = topics.length > LONG_MESSAGES || length > LONG_LENGTH
  return {
    publisher: isLong ? `${job.publisher}\nlong` : job.publisher,
    size: Math.max(topics.length, length / LENGTH_OF_MESSAGE),
  }
}

const [LONG_MESSAGES, LONG_LENGTH] = [100, 256 * 1024]
/** Longer messages count as several. */
const LENGTH_OF_MESSAGE = 2_048

/** The text of its messages, in characters. */
export function textLength(job: Job): number {
  if (job.kind !== 'append') return 0
  const { topics, data } = job.batch
  let length = 0
  for (const [index, topic] of topics.entries()) length += topic.length + (data[index]?.length ?? 0)
  return length
}
