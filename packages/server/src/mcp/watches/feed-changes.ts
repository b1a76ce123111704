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
  const watched = { feeds, name, topic, choice, call }
  const [, epoch, place = ''] = POSITION.exec(since ?? '') ?? []
  const changes = epoch === undefined ? undefined : await readSince(watched, epoch, place, until)
  return changes ?? withView(watched, (view) => readWhole(view, watched))
}

/** Whether something was published after a position, or it is not known what was. */
export async function hasFeedChanges(
  feeds: FeedService,
  name: string,
  topic: string,
  since: string,
  call: Call,
): Promise<boolean> {
  const choice = topicChoice(topic)
  const [, epoch, place = ''] = POSITION.exec(since) ?? []
  if (choice === undefined || epoch === undefined) return true
  const page = await withView({ feeds, name, topic, choice, call }, (view) => readPage(view, choice, epoch, place))
  return page === undefined || page.messages.length > 0
}

interface Watched {
  readonly feeds: FeedService
  readonly name: string
  readonly topic: string
  readonly choice: TopicChoice
  readonly call: Call
}

/** Opened for each read, and not kept while the caller waits: products may begin to cover the feed meanwhile. */
async function withView<Result>(
  { feeds, name, choice, call }: Watched,
  read: (view: FeedView) => Promise<Result>,
): Promise<Result> {
  const view = await feeds.openView(name, choice, call.principal, call)
  try {
    return await read(view)
  } finally {
    view.close()
  }
}

/** Waits for messages after the place. Undefined if it is not known what followed it. */
async function readSince(
  watched: Watched,
  epoch: string,
  place: string,
  until: Promise<unknown>,
): Promise<FeedChanges | undefined> {
  const { feeds, name, topic, call } = watched
  const waiter = new Waiter()
  const subscription = await feeds.subscribe(name, { topic }, call.principal, waiter, { ...call, way: 'query' })
  // It sends nothing before.
  subscription.drained()
  try {
    for (let after = place; ; ) {
      const page = await withView(watched, (view) => readPage(view, watched.choice, epoch, after))
      if (page === undefined) return undefined
      const { messages, isLast, through, labels } = page
      after = through
      const found = { isWhole: false, messages, hasMore: !isLast, position: `${epoch} ${after}`, labels }
      if (messages.length > 0 || (isLast && !(await waiter.next(until)))) return found
    }
  } finally {
    subscription.close()
  }
}

async function readPage(view: FeedView, choice: TopicChoice, epoch: string, after: string) {
  if (view.epoch !== epoch) return undefined
  const kind = view.definition.history === undefined ? 'newest' : 'history'
  const page = await view.readAfter(choice, after, { kind, limit: MOST })
  return page.hasGap ? undefined : { ...page, labels: view.labels }
}

/** The newest message of a topic, or the first ones of a pattern. */
async function readWhole(view: FeedView, { topic, choice }: Watched): Promise<FeedChanges> {
  const { epoch, labels } = view
  if (choice.kind === 'topic') {
    const messages = await view.readLast(choice, 1)
    const position = `${epoch} ${view.writePlace(topic, messages)}`
    return { isWhole: true, messages, hasMore: false, position, labels }
  }
  const kind = view.definition.keep === 'latest' ? 'newest' : 'history'
  for (let after = BEGINNING; ; ) {
    const { messages, through, isLast } = await view.readAfter(choice, after, { kind, limit: MOST })
    after = through
    if (messages.length > 0 || isLast)
      return { isWhole: true, messages, hasMore: !isLast, position: `${epoch} ${after}`, labels }
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
