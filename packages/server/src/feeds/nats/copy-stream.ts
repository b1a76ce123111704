/**
 * A copy of a feed: the stream in which readers with one delay find its states and histories. Its messages have the numbers and times that
 * they have in the feed. Each epoch has copies of its own.
 */
import type { DroppedFeed, Feed } from '../feed.ts'
import type { Nats } from './connection.ts'
import {
  describe,
  FeedStream,
  findStream,
  type Head,
  keepHidden,
  markedGeneration,
  mostPerTopic,
  type OwnConfig,
  readGeneration,
  STORAGE,
  withBytesIfPossible,
} from './stream.ts'
import { copiesOf, copyName, Subjects } from './subjects.ts'

/** In which JetStream knows what was moved already. */
const DUPLICATES_NS = 10e9

export interface CopyOptions {
  readonly feed: Feed
  /** Milliseconds; 0 for readers in real time. */
  readonly delay: number
  /** Of the log. */
  readonly head: Pick<Head, 'epoch' | 'cut'>
  readonly replicas: number
}

export class CopyStream extends FeedStream {
  override readonly recordBytes = 240
  /** For readers in real time: resolves with the state of the log, when the copy has everything that was in it. */
  catchUp: (() => Promise<Head>) | undefined

  constructor(nats: Nats, { feed, delay, head }: CopyOptions) {
    const { epoch } = head
    super(nats, copyName(feed.name, delay, epoch), Subjects.ofCopy(feed.name, delay, epoch), true)
  }

  override async head(): Promise<Head> {
    const log = await this.catchUp?.()
    const own = await this.readOwn()
    if (log === undefined) return own
    return { ...own, last: Math.max(log.last, own.last), cut: Math.max(log.cut, own.cut) }
  }

  /** What it has now. Its last message is never removed. */
  async readOwn(): Promise<Head> {
    const head = await super.head()
    const newest = await this.newest()
    const last = Math.max(head.places.last, newest?.place ?? 0)
    return { ...head, places: { ...head.places, last }, last: newest?.seq ?? 0 }
  }

  override async placeAfter(seq: number): Promise<number> {
    const { places, last } = await this.readOwn()
    if (seq >= last) return places.last + 1
    // Since the copy was created every message was moved: both numbers grow alike.
    const likely = await this.next(places.last - (last - seq))
    if (likely?.seq === seq) return likely.place + 1
    return Math.max(1, await this.placeAfterAll((message) => message.seq <= seq, places))
  }
}

/** Creates a copy, or changes it so that it fits the definition. */
export async function openCopy(nats: Nats, options: CopyOptions): Promise<CopyStream> {
  const copy = new CopyStream(nats, options)
  const config = buildConfig(copy, options)
  const existing = await findStream(nats, copy.name)
  if (existing === undefined) {
    const { feed, head } = options
    const generation = markedGeneration(feed)
    const description = describe({ epoch: head.epoch, cut: head.cut, generation })
    await withBytesIfPossible(config, (fitting) => nats.run(() => nats.streams.add({ ...fitting, description })))
  } else if (existing.config.max_msgs_per_subject !== config.max_msgs_per_subject) {
    await keepHidden(copy, options.feed, existing)
    await withBytesIfPossible(config, (fitting) => nats.run(() => nats.streams.update(copy.name, fitting)))
  }
  return copy
}

function buildConfig({ name, subjects }: CopyStream, { feed, replicas }: CopyOptions): OwnConfig {
  return {
    ...STORAGE,
    name,
    subjects: [subjects.prefix, subjects.all],
    max_msgs_per_subject: mostPerTopic(feed),
    duplicate_window: DUPLICATES_NS,
    num_replicas: replicas,
  }
}

/** Removes the copies of a generation of a feed that are not among the kept ones. */
export async function dropCopies(
  nats: Nats,
  feed: DroppedFeed,
  isKept: (copy: CopyName) => boolean | Promise<boolean>,
): Promise<void> {
  const names: string[] = []
  for await (const info of nats.streams.list(copiesOf(feed.name))) {
    if (readGeneration(info, feed) !== feed.generation) continue
    const copy = readCopyName(info.config.name)
    if (copy === undefined || !(await isKept(copy))) names.push(info.config.name)
  }
  for (const name of names) await dropStream(nats, name)
}

/** Another node may do so too. */
async function dropStream(nats: Nats, name: string): Promise<void> {
  try {
    await nats.run(() => nats.streams.delete(name))
  } catch (error) {
    if ((await findStream(nats, name)) !== undefined) throw error
  }
}

export interface CopyName {
  readonly delay: number
  readonly epoch: string
}

function readCopyName(name: string): CopyName | undefined {
  const [, delay, epoch] = /-at-(\d+)-([0-9a-f]+)$/.exec(name) ?? []
  return delay === undefined || epoch === undefined ? undefined : { delay: Number(delay), epoch }
}
