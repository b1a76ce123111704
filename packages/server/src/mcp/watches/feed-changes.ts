/** What has been published on a topic, or a pattern, of a feed since a position. */
import type { Refusal, UrgentSink } from 'gatehouse-protocol'
import { type FeedMessage, type FeedService, refuse, type StoredMessage, topicChoice } from '../../feeds/feeds.ts'
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
  const feed = feeds.findToRead(name, call.principal, call)
  const { keep, history } = feed.definition
  const choice = topicChoice(topic)
  if (choice === undefined)
    throw refuse('feed.bad_topic', `${JSON.stringify(topic)} is neither a topic nor a pattern such as NYSE/*`)
  if (keep !== 'latest' && history === undefined)
    throw refuse(
      'feed.no_history',
      `The feed ${name} keeps nothing: it can be followed on a stream, and not be watched`,
    )
  const { store } = feed
  const [, epoch, seq] = POSITION.exec(since ?? '') ?? []
  const waiter = new Waiter()
  const subscription =
    epoch === store.epoch ? await feeds.subscribe(name, { topic }, call.principal, waiter, call) : undefined
  // It sends nothing before.
  subscription?.drained()
  try {
    for (let after = Number(seq); epoch === store.epoch; ) {
      const page = await store.readAfter(choice, after, {
        kind: history === undefined ? 'newest' : 'history',
        limit: MOST,
      })
      if (page.hasGap) break
      const { messages, isLast } = page
      after = Math.max(page.through, messages.at(-1)?.seq ?? 0)
      if (messages.length > 0)
        return { isWhole: false, messages, hasMore: !isLast, position: `${store.epoch} ${after}` }
      if (!isLast) continue
      if (!(await waiter.next(until)))
        return { isWhole: false, messages, hasMore: false, position: `${store.epoch} ${after}` }
    }
  } finally {
    subscription?.close()
  }
  const messages =
    choice.kind === 'topic'
      ? await store.readLast(choice, 1)
      : (await store.readAfter(choice, 0, { kind: keep === 'latest' ? 'newest' : 'history', limit: MOST })).messages
  const newest = messages.reduce((highest, message) => Math.max(highest, message.seq), 0)
  return { isWhole: true, messages, hasMore: messages.length === MOST, position: `${store.epoch} ${newest}` }
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
