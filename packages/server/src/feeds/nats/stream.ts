/** The stream of JetStream that keeps the messages of a feed: its limits, its epoch, and what was cut from it. */
import { randomBytes } from 'node:crypto'
import type { StreamConfig, StreamInfo, StreamState } from '@nats-io/jetstream'
import type { DroppedFeed, Feed } from '../feed.ts'
import { apiCode, errorText, type Nats, NatsUnavailable, UnfitNats } from './connection.ts'
import { type Delivered, storedAs } from './delivered.ts'
import { covers, Subjects, streamName } from './subjects.ts'

export const KEY_MS = 24 * 60 * 60_000
/** JetStream removes what no node has removed in this time: without it, subscribers would not be notified that a topic has expired. */
const UNATTENDED_MS = 10 * 60_000
/** Of headers and the names of subjects. */
const HEADER_BYTES = 2_048
const STREAM_NOT_FOUND = 10_059
const NO_MESSAGE = 10_037
const NO_ROOM_FOR_BYTES: ReadonlySet<number> = new Set([10_023, 10_028, 10_047])
const NANOSECONDS = 1e6

/** What of a feed is visible to its readers. */
export interface Rules {
  /** How many messages of a topic. The stream keeps one more: its number tells from where on the history is complete. */
  readonly perTopic: number
  /** Milliseconds; undefined without a limit. */
  readonly historyTime: number | undefined
  /** Milliseconds after its newest message in which a topic exists. */
  readonly topicTime: number | undefined
}

export function retentionRules({ keep, history, stateTime, natsSubject }: Feed): Rules {
  return {
    perTopic: natsSubject === undefined && history !== undefined ? history.messages : Number.POSITIVE_INFINITY,
    historyTime: history?.time ?? stateTime,
    topicTime: keep === 'latest' ? stateTime : history?.time,
  }
}

/** The state of the stream at one time. */
export interface Head {
  readonly first: number
  /** When its first message was stored. */
  readonly firstTime: number
  readonly last: number
  readonly messages: number
  readonly bytes: number
  /** Of all its messages, also of removals. */
  readonly subjects: number
  readonly epoch: string
  /** Messages up to this number may have been removed without a trace. */
  readonly cut: number
}

/** What is kept in the description of the stream. */
interface Mark {
  readonly epoch: string
  readonly cut: number
  /** That of the feed; undefined for streams from before there were generations, whose feeds have their names for it. */
  readonly generation: string | undefined
}

export class FeedStream {
  readonly name: string
  readonly subjects: Subjects
  /** Another program's is only read. */
  readonly isOurs: boolean
  readonly #nats: Nats
  /** Creates the stream again, which somebody has deleted. */
  restore: (() => Promise<void>) | undefined

  constructor(nats: Nats, name: string, subjects: Subjects, isOurs: boolean) {
    this.#nats = nats
    this.name = name
    this.subjects = subjects
    this.isOurs = isOurs
  }

  async head(): Promise<Head> {
    const found = await findStream(this.#nats, this.name)
    if (found !== undefined) return readHead(found)
    await this.restore?.()
    const restored = await findStream(this.#nats, this.name)
    if (restored === undefined) throw new NatsUnavailable(`NATS has no stream ${this.name}`)
    return readHead(restored)
  }

  async setMark(change: Partial<Mark>): Promise<void> {
    const info = await this.#nats.run(() => this.#nats.streams.info(this.name))
    const { epoch, cut } = readHead(info)
    const { generation } = readMark(info)
    const mark = { epoch, generation, ...change, cut: Math.max(cut, change.cut ?? 0) }
    await this.#nats.run(() => this.#nats.streams.update(this.name, { description: describe(mark) }))
  }

  /** The message of a subject with the highest number; the subject may be a pattern. */
  newest(subject: string): Promise<Delivered | undefined> {
    return this.#get({ last_by_subj: subject })
  }

  first(subject: string): Promise<Delivered | undefined> {
    return this.#get({ seq: 1, next_by_subj: subject })
  }

  /** How many messages of a subject it holds. */
  async count(subject: string): Promise<number> {
    return (await this.counts(subject)).get(subject) ?? 0
  }

  /** Of each subject that matches. */
  async counts(filter: string): Promise<ReadonlyMap<string, number>> {
    const query = { subjects_filter: filter, deleted_details: false, offset: 0 }
    const { state } = await this.#nats.run(() => this.#nats.streams.info(this.name, query))
    return new Map(Object.entries(state.subjects ?? {}))
  }

  async #get(query: { last_by_subj: string } | { seq: number; next_by_subj: string }): Promise<Delivered | undefined> {
    const found = await this.#nats
      .run(() => this.#nats.streams.getMessage(this.name, query))
      .catch((error: unknown) => {
        if (apiCode(error) === NO_MESSAGE) return null
        throw error
      })
    return found === null ? undefined : storedAs(found)
  }

  /** Removes messages before a number, of all topics or of one subject. */
  async purgeBefore(seq: number, filter?: string): Promise<void> {
    // Nothing is before the first; JetStream would take it for a purge without a bound.
    if (seq <= 1) return
    await this.#nats.run(() => this.#nats.streams.purge(this.name, filter === undefined ? { seq } : { seq, filter }))
  }
}

export interface OwnStreamOptions {
  /** Copies of each message in a cluster of NATS. */
  readonly replicas: number
  readonly isDeclared: (generation: string) => Promise<boolean>
}

/** Creates the stream, or changes it so that it fits the definition. */
export async function openOwnStream(
  nats: Nats,
  feed: Feed,
  { replicas, isDeclared }: OwnStreamOptions,
): Promise<FeedStream> {
  const name = streamName(feed.name)
  const subjects = Subjects.ofFeed(feed.name)
  const config = buildConfig(feed, name, subjects, nats, replicas)
  const stream = new FeedStream(nats, name, subjects, true)
  const existing = await findOfGeneration(nats, feed, isDeclared)
  if (existing === undefined) {
    const generation = feed.generation === feed.name ? undefined : feed.generation
    const description = describe({ epoch: newEpoch(), cut: 0, generation })
    await withBytesIfPossible(config, (fitting) => nats.run(() => nats.streams.add({ ...fitting, description })))
  } else {
    await keepHidden(stream, feed, existing)
    await markUnattended(stream, existing)
    await withBytesIfPossible(config, (fitting) => nats.run(() => nats.streams.update(name, fitting)))
  }
  return stream
}

/** A stream of another program whose messages, all of them or more, are those of the subject; undefined where there is none. */
export async function findForeignStream(nats: Nats, subject: string): Promise<FeedStream | undefined> {
  for await (const info of nats.streams.list(subject)) {
    const { name, retention, subjects } = info.config
    if (retention === 'limits' && subjects.some((offered) => covers(offered, subject)))
      return new FeedStream(nats, name, Subjects.ofPattern(subject), false)
  }
  return undefined
}

/** Unless it is the stream of another generation of the feed. */
export async function dropOwnStream(nats: Nats, feed: DroppedFeed): Promise<void> {
  const found = await findStream(nats, streamName(feed.name))
  if (found === undefined || readGeneration(found, feed) !== feed.generation) return
  await nats.run(() => nats.streams.delete(found.config.name))
}

/** The stream of a generation that is not declared any more is replaced. */
async function findOfGeneration(
  nats: Nats,
  feed: Feed,
  isDeclared: OwnStreamOptions['isDeclared'],
): Promise<StreamInfo | undefined> {
  const found = await findStream(nats, streamName(feed.name))
  if (found === undefined) return undefined
  const generation = readGeneration(found, feed)
  if (generation === feed.generation) return found
  if (await isDeclared(generation)) throw new Error(`The feed ${feed.name} was declared again meanwhile`)
  await nats.run(() => nats.streams.delete(found.config.name))
  return undefined
}

/** Streams from before there were generations have the name of their feed. */
function readGeneration(info: StreamInfo, { name }: DroppedFeed): string {
  return readMark(info).generation ?? name
}

async function findStream(nats: Nats, name: string): Promise<StreamInfo | undefined> {
  try {
    return await nats.run(() => nats.streams.info(name))
  } catch (error) {
    if (apiCode(error) === STREAM_NOT_FOUND) return undefined
    throw error
  }
}

type OwnConfig = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>

function buildConfig(feed: Feed, name: string, subjects: Subjects, nats: Nats, replicas: number): OwnConfig {
  const { topicTime, historyTime = 0 } = retentionRules(feed)
  const age = topicTime === undefined ? 0 : Math.max(topicTime, historyTime) + UNATTENDED_MS
  return {
    name,
    subjects: [subjects.prefix, subjects.all],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    max_msgs_per_subject: mostPerTopic(feed),
    max_age: age * NANOSECONDS,
    max_msg_size: feed.messageBytes + HEADER_BYTES,
    // JetStream also counts headers and subjects, which can be longer than the data.
    max_bytes: feed.bytes * 2,
    duplicate_window: (age === 0 ? KEY_MS : Math.min(KEY_MS, age)) * NANOSECONDS,
    num_replicas: replicas,
    allow_direct: true,
    ...(nats.isAtLeast(2, 12) ? { allow_atomic: true } : {}),
  }
}

/** How many messages of a topic our stream holds: one more than readers see, which tells that there were others. */
export function mostPerTopic(feed: Feed): number {
  const { perTopic } = retentionRules(feed)
  return Number.isFinite(perTopic) ? perTopic + 1 : 1
}

/** JetStream reserves the bytes of all streams; where it has not as many, the bound is that of the nodes alone. */
async function withBytesIfPossible(config: OwnConfig, act: (config: OwnConfig) => Promise<unknown>): Promise<void> {
  try {
    await act(config)
  } catch (error) {
    const code = error instanceof Error && error.cause !== undefined ? apiCode(error.cause) : apiCode(error)
    if (NO_ROOM_FOR_BYTES.has(code)) await act({ ...config, max_bytes: -1 })
    else if (code === 0) throw error
    else throw new UnfitNats(`NATS refuses the stream ${config.name} of a feed: ${errorText(error)}`, { cause: error })
  }
}

/** A longer history does not bring back what readers could not see any more. */
async function keepHidden(stream: FeedStream, feed: Feed, { config }: StreamInfo): Promise<void> {
  const { perTopic } = retentionRules(feed)
  const before = config.max_msgs_per_subject - 1
  if (before < 1 || !Number.isFinite(perTopic) || perTopic <= before) return
  let cut = 0
  for (const [subject, count] of await stream.counts(stream.subjects.all)) {
    const hidden = count > before ? await stream.first(subject) : undefined
    if (hidden === undefined) continue
    await stream.purgeBefore(hidden.seq + 1, subject)
    cut = Math.max(cut, hidden.seq)
  }
  if (cut > 0) await stream.setMark({ cut })
}

/** While no node was running, JetStream itself may have removed the oldest messages. */
async function markUnattended(stream: FeedStream, info: StreamInfo): Promise<void> {
  const { config, created, state } = info
  const isOldEnough = config.max_age > 0 && Date.now() - Date.parse(created) > config.max_age / NANOSECONDS
  if (isOldEnough && readHead(info).cut < state.first_seq - 1) await stream.setMark({ cut: state.first_seq - 1 })
}

export function newEpoch(): string {
  return randomBytes(6).toString('hex')
}

const DESCRIPTION = /^A feed of Gatehouse\. Epoch ([0-9a-f]{1,12}), cut up to (\d+)(?:, generation ([\w-]+))?$/

function describe({ epoch, cut, generation }: Mark): string {
  return `A feed of Gatehouse. Epoch ${epoch}, cut up to ${cut}${generation === undefined ? '' : `, generation ${generation}`}`
}

function readMark({ config }: StreamInfo): Partial<Mark> {
  const [, epoch, cut, generation] = DESCRIPTION.exec(config.description ?? '') ?? []
  return { ...(epoch !== undefined && { epoch }), ...(cut !== undefined && { cut: Number(cut) }), generation }
}

/** Of another program's stream it is not known what was removed, and of which topics, unless it only ever loses its oldest messages. */
function unknownCut({ max_msgs_per_subject }: StreamConfig, { first_seq, last_seq, num_deleted }: StreamState): number {
  return max_msgs_per_subject > 0 || num_deleted > 0 ? last_seq : first_seq - 1
}

function readHead(info: StreamInfo): Head {
  const { config, created, state } = info
  const { epoch, cut = 0 } = readMark(info)
  return {
    first: state.first_seq,
    firstTime: Date.parse(state.first_ts),
    last: state.last_seq,
    messages: state.messages,
    bytes: state.bytes,
    subjects: state.num_subjects ?? 0,
    // A stream that was deleted and created again has another.
    epoch: epoch ?? Date.parse(created).toString(36),
    cut: epoch === undefined ? unknownCut(config, state) : cut,
  }
}
