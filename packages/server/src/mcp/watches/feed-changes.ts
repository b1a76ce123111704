/** What has been published on a topic, or a pattern, of a feed since a position. */
import type { Refusal, UrgentSink } from 'gatehouse-protocol'
import {
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
}

const MOST = 200

/** Positions of watches stay here: they need no seal. */
const POSITION = /^([0-9A-Za-z]{1,16}) (\d{1,15})$/

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
  const [, epoch, seq] = POSITION.exec(since ?? '') ?? []
  const waiter = new Waiter()
  const subscription =
    epoch === view.epoch ? await feeds.subscribe(name, { topic }, call.principal, waiter, call) : undefined
  // It sends nothing before.
  subscription?.drained()
  try {
    for (let after = Number(seq); epoch === view.epoch; ) {
      const page = await view.readAfter(choice, after, {
        kind: history === undefined ? 'newest' : 'history',
        limit: MOST,
      })
      if (page.hasGap) break
      const { messages, isLast } = page
      after = Math.max(page.through, messages.at(-1)?.seq ?? 0)
      if (messages.length > 0) return { isWhole: false, messages, hasMore: !isLast, position: `${view.epoch} ${after}` }
      if (!isLast) continue
      if (!(await waiter.next(until)))
        return { isWhole: false, messages, hasMore: false, position: `${view.epoch} ${after}` }
    }
  } finally {
    subscription?.close()
  }
  const messages =
    choice.kind === 'topic'
      ? await view.readLast(choice, 1)
      : (await view.readAfter(choice, 0, { kind: keep === 'latest' ? 'newest' : 'history', limit: MOST })).messages
  const newest = messages.reduce((highest, message) => Math.max(highest, message.seq), 0)
  return { isWhole: true, messages, hasMore: messages.length === MOST, position: `${view.epoch} ${newest}` }
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
