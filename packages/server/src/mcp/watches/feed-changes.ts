/** What has been published on a topic, or a pattern, of a feed since a position. */
import type { Refusal, UrgentSink } from 'gatehouse-protocol'
import {
  BEGINNING,
  type FeedLabel,
  type FeedMessage,
  type FeedService,
  type FeedView,
  refuse,
  type StoredMessage,
  type TopicChoice,
  topicChoice,
} from '../../feeds/feeds.ts'
import type { Call } from '../protocol/features.ts'

export interface FeedChanges {
  /** The state, or the newest messages, because what followed the position is not known. */
  readonly isWhole: boolean
  readonly messages: readonly StoredMessage[]
  readonly hasMore: boolean
  readonly position: string
  /** What is delayed, or left out. */
  readonly labels: readonly FeedLabel[]
}

const MOST = 200

/** Positions of watches stay here: they need no seal. The second part is a place in what the caller sees. */
const POSITION = /^([0-9A-Za-z]{1,16}) ([0-9a-z]+\.[0-9a-z]+(?:_[0-9a-z]+\.[0-9a-z]+)*)$/

export async function readFeedChanges(
  feeds: FeedService,
  name: string,
  topic: string,
  since: string | undefined,
  call: Call,
  until: Promise<unknown>,
): Promise<FeedChanges> {
  const { keep, history } = feeds.definitionToRead(name, call.principal, call)
  const choice = topicChoice(topic)
  if (choice === undefined)
    throw refuse('feed.bad_topic', `${JSON.stringify(topic)} is neither a topic nor a pattern such as NYSE/*`)
  if (keep !== 'latest' && history === undefined)
    throw refuse(
      'feed.no_history',
      `The feed ${name} keeps nothing: it can be followed on a stream, and not be watched`,
    )
  const view = await feeds.openView(name, choice, call.principal, call)
  try {
    return await readChanges(feeds, view, { name, topic, choice, since }, call, until)
  } finally {
    view.close()
  }
}

interface Watched {
  readonly name: string
  readonly topic: string
  readonly choice: TopicChoice
  readonly since: string | undefined
}

async function readChanges(
  feeds: FeedService,
  view: FeedView,
  { name, topic, choice, since }: Watched,
  call: Call,
  until: Promise<unknown>,
): Promise<FeedChanges> {
  const { keep, history } = view.definition
  const { labels, epoch: known } = view
  const [, epoch, place = ''] = POSITION.exec(since ?? '') ?? []
  const waiter = new Waiter()
  const subscription =
    epoch === known ? await feeds.subscribe(name, { topic }, call.principal, waiter, call) : undefined
  // It sends nothing before.
  subscription?.drained()
  try {
    for (let after = place; epoch === known; ) {
      const kind = history === undefined ? 'newest' : 'history'
      const { messages, through, isLast, hasGap } = await view.readAfter(choice, after, { kind, limit: MOST })
      if (hasGap) break
      after = through
      const position = `${known} ${after}`
      if (messages.length > 0) return { isWhole: false, messages, hasMore: !isLast, position, labels }
      if (isLast && !(await waiter.next(until))) return { isWhole: false, messages, hasMore: false, position, labels }
    }
  } finally {
    subscription?.close()
  }
  if (choice.kind === 'topic') {
    const messages = await view.readLast(choice, 1)
    const position = `${known} ${view.writePlace(topic, messages)}`
    return { isWhole: true, messages, hasMore: false, position, labels }
  }
  for (let after = BEGINNING; ; ) {
    const kind = keep === 'latest' ? 'newest' : 'history'
    const { messages, through, isLast } = await view.readAfter(choice, after, { kind, limit: MOST })
    after = through
    if (messages.length > 0 || isLast)
      return { isWhole: true, messages, hasMore: !isLast, position: `${known} ${after}`, labels }
  }
}

/** Only learns that there is something. */
class Waiter implements UrgentSink<FeedMessage> {
  readonly maySend = true
  readonly isOpen = true
  #wake: (() => void) | undefined
  #isAwake = false
  #error: Refusal | undefined

  send(): void {
    this.#isAwake = true
    this.#wake?.()
  }

  sendOrClose(): void {
    this.send()
  }

  end(reason: Refusal): void {
    this.#error = reason
    this.send()
  }

  /** False if nothing came until then. */
  async next(until: Promise<unknown>): Promise<boolean> {
    const isNew = () => this.#isAwake
    if (!isNew())
      await Promise.race([
        until,
        new Promise<void>((resolve) => {
          this.#wake = resolve
        }),
      ])
    if (this.#error !== undefined) throw this.#error
    const wasNew = isNew()
    this.#isAwake = false
    return wasNew
  }
}
