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
const ANY_SUBJECT = '>'

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

/** The sequence numbers of the first and the last message of a stream. Where there is none, the last is the one before the first. */
export interface Places {
  readonly first: number
  readonly last: number
}

/** The state of the stream at one time. */
export interface Head {
  readonly places: Places
  /** The number of its last message. */
  readonly last: number
  readonly messages: number
  readonly bytes: number
  /** Of all its messages, also of removals. */
  readonly subjects: number
  readonly epoch: string
  /** Messages up to this number may have been removed without a trace. */
  readonly cut: number
  /** That of the feed, as in the mark. */
  readonly generation: string | undefined
  /** Every message is kept until all readers have it, however late: what they see of it is in copies. */
  readonly isLog: boolean
  /** By the clock of its server, in milliseconds; undefined with versions before 2.10. */
  readonly time: number | undefined
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
  /** What JetStream stores in addition to the subject and the data of a message: its own fields and the headers of Gatehouse. */
  readonly recordBytes: number = 75
  readonly #nats: Nats
  /** Creates the stream again, which somebody has deleted. */
  restore: (() => Promise<void>) | undefined
  /** Called when another node has made it a log. */
  onLog: (() => void) | undefined

  constructor(nats: Nats, name: string, subjects: Subjects, isOurs: boolean) {
    this.#nats = nats
    this.name = name
    this.subjects = subjects
    this.isOurs = isOurs
  }

  async head(): Promise<Head> {
    const head = readHead(await this.#info())
    if (head.isLog) this.onLog?.()
    return head
  }

  async #info(): Promise<StreamInfo> {
    const found = await findStream(this.#nats, this.name)
    if (found !== undefined) return found
    await this.restore?.()
    const restored = await findStream(this.#nats, this.name)
    if (restored === undefined) throw new NatsUnavailable(`NATS has no stream ${this.name}`)
    return restored
  }

  async setMark(change: Partial<Mark>): Promise<void> {
    const info = await this.#nats.run(() => this.#nats.streams.info(this.name))
    const { epoch, cut, generation } = readHead(info)
    const mark = { epoch, generation, ...change, cut: Math.max(cut, change.cut ?? 0) }
    await this.#nats.run(() => this.#nats.streams.update(this.name, { description: describe(mark) }))
  }

  /** The sequence number from which on the stream has the messages after a number. */
  async placeAfter(seq: number): Promise<number> {
    return seq + 1
  }

  /** The message of a subject with the highest number; the subject may be a pattern. */
  newest(subject = ANY_SUBJECT): Promise<Delivered | undefined> {
    return this.#get({ last_by_subj: subject })
  }

  first(subject: string): Promise<Delivered | undefined> {
    return this.next(1, subject)
  }

  /** The first message of a subject from a sequence number on. */
  next(place: number, subject = ANY_SUBJECT): Promise<Delivered | undefined> {
    return this.#get({ seq: Math.max(1, place), next_by_subj: subject })
  }

  /** The sequence number from which on no message is one of these, which come first; the one after the last where all are. */
  async placeAfterAll(isOne: (message: Delivered) => boolean, { first, last }: Places): Promise<number> {
    let [low, high] = [first, last + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.next(middle)
      if (found !== undefined && isOne(found)) low = found.place + 1
      else high = middle
    }
    return low
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

  /** Removes messages before a sequence number, of all topics or of one subject. */
  async purgeBefore(place: number, filter?: string): Promise<void> {
    // Nothing is before the first; JetStream would take it for a purge without a bound.
    if (place <= 1) return
    const bound = filter === undefined ? { seq: place } : { seq: place, filter }
    await this.#nats.run(() => this.#nats.streams.purge(this.name, bound))
  }
}

export interface OwnStreamOptions {
  /** Copies of each message in a cluster of NATS. */
  readonly replicas: number
  readonly isDeclared: (generation: string) => Promise<boolean>
}

/**
 * Creates the stream, or changes it so that it fits the definition. `isLog`: every message is kept until all readers have it. Once it is a
 * log it remains one, as only the copies have what is older.
 */
export async function openOwnStream(
  nats: Nats,
  feed: Feed,
  { replicas, isDeclared }: OwnStreamOptions,
  isLog: boolean,
): Promise<FeedStream> {
  const name = streamName(feed.name)
  const subjects = Subjects.ofFeed(feed.name)
  const stream = new FeedStream(nats, name, subjects, true)
  const existing = await findOfGeneration(nats, feed, isDeclared)
  const wasLog = existing !== undefined && readHead(existing).isLog
  const config = {
    ...buildConfig(feed, nats, replicas, isLog || wasLog),
    name,
    subjects: [subjects.prefix, subjects.all],
  }
  if (existing === undefined) {
    const generation = markedGeneration(feed)
    const description = describe({ epoch: newEpoch(), cut: 0, generation })
    await withBytesIfPossible(config, (fitting) => nats.run(() => nats.streams.add({ ...fitting, description })))
  } else {
    if (!wasLog) {
      await keepHidden(stream, feed, existing)
      await markUnattended(stream, existing)
    }
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

/** As it is in the mark: streams from before there were generations have none, and their feeds their names for it. */
export function markedGeneration({ name, generation }: DroppedFeed): string | undefined {
  return generation === name ? undefined : generation
}

export function readGeneration(info: StreamInfo, { name }: DroppedFeed): string {
  return readMark(info).generation ?? name
}

export async function findStream(nats: Nats, name: string): Promise<StreamInfo | undefined> {
  try {
    return await nats.run(() => nats.streams.info(name))
  } catch (error) {
    if (apiCode(error) === STREAM_NOT_FOUND) return undefined
    throw error
  }
}

export type OwnConfig = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>

/** A log is cut by the nodes, when all readers have what is cut. */
function buildConfig(feed: Feed, nats: Nats, replicas: number, isLog: boolean): Omit<OwnConfig, 'name' | 'subjects'> {
  const { topicTime, historyTime = 0 } = retentionRules(feed)
  const age = topicTime === undefined || isLog ? 0 : Math.max(topicTime, historyTime) + UNATTENDED_MS
  return {
    ...STORAGE,
    max_msgs_per_subject: isLog ? -1 : mostPerTopic(feed),
    max_age: age * NANOSECONDS,
    max_msg_size: feed.messageBytes + HEADER_BYTES,
    // JetStream also counts headers and subjects, which can be longer than the data. Of a log it is the bound of what other programs publish.
    max_bytes: feed.bytes * (isLog ? 4 : 2),
    duplicate_window: (age === 0 ? KEY_MS : Math.min(KEY_MS, age)) * NANOSECONDS,
    num_replicas: replicas,
    ...(nats.isAtLeast(2, 12) ? { allow_atomic: true } : {}),
  }
}

/** Of each stream that is ours. */
export const STORAGE = { storage: 'file', retention: 'limits', discard: 'new', allow_direct: true } as const

/** How many messages of a topic our stream holds: one more than readers see, which tells that there were others. */
export function mostPerTopic(feed: Feed): number {
  const { perTopic } = retentionRules(feed)
  return Number.isFinite(perTopic) ? perTopic + 1 : 1
}

/** JetStream reserves the bytes of all streams; where it has not as many, the bound is that of the nodes alone. */
export async function withBytesIfPossible(
  config: OwnConfig,
  act: (config: OwnConfig) => Promise<unknown>,
): Promise<void> {
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
export async function keepHidden(stream: FeedStream, feed: Feed, { config }: StreamInfo): Promise<void> {
  const { perTopic } = retentionRules(feed)
  const before = config.max_msgs_per_subject - 1
  if (before < 1 || !Number.isFinite(perTopic) || perTopic <= before) return
  let cut = 0
  for (const [subject, count] of await stream.counts(stream.subjects.all)) {
    const hidden = count > before ? await stream.first(subject) : undefined
    if (hidden === undefined) continue
    await stream.purgeBefore(hidden.place + 1, subject)
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

export function describe({ epoch, cut, generation }: Mark): string {
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
  const { config, created, state, ts } = info
  const { epoch, cut = 0, generation } = readMark(info)
  return {
    places: { first: state.first_seq, last: state.last_seq },
    last: state.last_seq,
    messages: state.messages,
    bytes: state.bytes,
    subjects: state.num_subjects ?? 0,
    // A stream that was deleted and created again has another.
    epoch: epoch ?? Date.parse(created).toString(36),
    cut: epoch === undefined ? unknownCut(config, state) : cut,
    generation,
    // The others of ours have a limit for each topic.
    isLog: epoch !== undefined && config.max_msgs_per_subject <= 0,
    time: ts === undefined ? undefined : Date.parse(ts),
  }
}
