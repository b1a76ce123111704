/** Declared feeds as streaming controllers: `Publish` and `Sub` of every topic. */
import {
  type JsonText,
  licenceContext,
  Refusal,
  type RunningSubscription,
  stepUpContext,
  type UrgentSink,
} from 'gatehouse-protocol'
import {
  type Feed,
  type FeedMessage,
  type FeedService,
  MAX_DEPTH,
  MAX_LAST,
  MAX_RATE,
  MIN_RATE,
  mayRead,
  mayWrite,
  type RequestOrigin,
  type SubscribeRequest,
  type Subscriber,
} from '../feeds/feeds.ts'
import { isDeeperThan } from '../lib/json-depth.ts'
import { dataText } from '../streaming/streaming.ts'
import { type Call, type Caller, type Controller, members, refuse } from '../streaming/topics/controller.ts'

export interface FeedControllersEnv {
  readonly feeds: FeedService
  /** How many patterns one connection may subscribe to. */
  readonly maxPatterns: () => number
  /** How many it subscribes to; it stays so when the definitions of feeds change. */
  readonly patterns: WeakMap<Caller, number>
}

type Sink = UrgentSink<JsonText | FeedMessage>

export function feedControllers(feeds: readonly Feed[], env: FeedControllersEnv): readonly Controller[] {
  return feeds.map((feed) => createController(feed, env))
}

function createController(
  { name, description, class: feedClass, read, write, keep }: Feed,
  { feeds, maxPatterns, patterns }: FeedControllersEnv,
): Controller {
  /** The reply has the position, if the feed has a history. */
  async function publish(call: Call): Promise<object> {
    const { principal, topic } = call
    if (principal === undefined) throw refuse('Authority')
    const data = dataText(call)
    if (data === undefined || isDeeperThan(data, MAX_DEPTH)) throw refuse('Data', 'Data')
    try {
      const position = await feeds.publish(name, [{ topic, data }], principal, undefined, requestOrigin(call))
      return position === undefined ? {} : { Position: position }
    } catch (error) {
      throw streamRefusal(error, name)
    }
  }

  async function open(call: Call, sink: Sink): Promise<RunningSubscription> {
    const { principal, topic, caller } = call
    if (principal === undefined) throw refuse('Authority')
    const request = readSubscribe(call)
    const onClosed = topic.endsWith('*') ? countPattern(caller) : () => {}
    try {
      const subscription = await feeds.subscribe(
        name,
        request,
        principal,
        feedSink(sink, name, onClosed),
        requestOrigin(call),
      )
      // Clients that send no Data get what they always got.
      const confirmation = call.data === undefined ? undefined : await confirm(topic, subscription)
      return running(subscription, confirmation, onClosed)
    } catch (error) {
      onClosed()
      throw streamRefusal(error, name)
    }
  }

  /** Returns what to call when the subscription ends, by the client or by the feed. */
  function countPattern(caller: Caller): () => void {
    const count = patterns.get(caller) ?? 0
    if (count >= maxPatterns()) throw refuse('Limited', 'patterns')
    patterns.set(caller, count + 1)
    let isCounted = true
    return () => {
      if (isCounted) patterns.set(caller, (patterns.get(caller) ?? 1) - 1)
      isCounted = false
    }
  }

  async function confirm(topic: string, subscription: Subscriber): Promise<object> {
    try {
      const { delay = 0, labels } = subscription
      return {
        Keep: keep,
        Position: await subscription.startPosition(),
        ...(delay > 0 && { Delay: delay }),
        ...(topic.endsWith('*') && labels.length > 0 && { Licence: labels }),
      }
    } catch (error) {
      subscription.close()
      throw error
    }
  }

  return {
    name,
    summary: description === '' ? 'A feed.' : description,
    feedClass,
    topics: {
      '*': {
        summary: 'Pushes the messages of a topic, or with a pattern such as NYSE/* of all topics below it.',
        needs: read,
        publishNeeds: write,
        isHidden: (principal) => !mayRead({ read }, principal) && !mayWrite({ write }, principal),
        repliesOnlyToId: true,
        mayOverlap: true,
        publish,
        subscription: { open, isCounted: true },
      },
    },
  }
}

function requestOrigin({ caller: { address, connectionId: requestId } }: Call): RequestOrigin {
  return { address, requestId }
}

function readSubscribe({ topic, data }: Call): SubscribeRequest {
  if (data === undefined) return { topic }
  const { MaxRate: maxRate, Resume: resume, Last: last } = members(data)
  if (maxRate !== undefined) {
    if (typeof maxRate !== 'number') throw refuse('Data.Deserialise', 'MaxRate')
    if (maxRate < MIN_RATE || maxRate > MAX_RATE) throw refuse('Data', 'MaxRate')
  }
  if (resume !== undefined && typeof resume !== 'string') throw refuse('Data.Deserialise', 'Resume')
  if (last !== undefined) {
    if (typeof last !== 'number' || !Number.isInteger(last)) throw refuse('Data.Deserialise', 'Last')
    if (last < 0 || last > MAX_LAST) throw refuse('Data', 'Last')
  }
  return { topic, maxRate, resume, last }
}

function running(
  subscription: RunningSubscription,
  confirmation: object | undefined,
  onClosed: () => void,
): RunningSubscription {
  return {
    confirmation,
    drained: () => subscription.drained(),
    setPrincipal: (principal) => subscription.setPrincipal(principal),
    pause: () => subscription.pause(),
    resume: (principal) => subscription.resume(principal),
    close() {
      subscription.close()
      onClosed()
    },
  }
}

function feedSink(sink: Sink, feed: string, onClosed: () => void): UrgentSink<FeedMessage> {
  return {
    send: (message) => sink.send(message),
    sendOrClose: (message) => sink.sendOrClose(message),
    get maySend() {
      return sink.maySend
    },
    get isOpen() {
      return sink.isOpen
    },
    end(reason) {
      onClosed()
      sink.end(streamRefusal(reason, feed))
    },
  }
}

/** An error of the feeds as one of the stream. Anything but a Refusal is a bug, or an outage, and is passed on unchanged. */
function streamRefusal(error: unknown, feed: string): Refusal {
  if (!(error instanceof Refusal)) throw error
  switch (error.code) {
    case 'access.insufficient_scope':
    case 'Auth.StepUp':
    case 'Auth.UserNeeded':
      return refuse('Authority', stepUpContext(error))
    case 'Licence.Needed':
    case 'Licence.NotReady':
    case 'Licence.Places':
    case 'Licence.Displaced':
      return refuse('Authority', licenceContext(error))
    case 'Licence.Unavailable':
      return refuse('Fault')
    case 'feed.unknown':
      return refuse('Controller', feed)
    case 'feed.bad_topic':
      return refuse('Data', 'Topic')
    case 'feed.bad_position':
      return refuse('Data', 'Resume')
    case 'feed.no_rate':
      return refuse('Data', 'MaxRate')
    case 'feed.no_history':
      return refuse('Data', 'Resume')
    case 'feed.no_last':
      return refuse('Data', 'Last')
    case 'feed.message_too_large':
      return refuse('Limited', 'message size')
    case 'feed.topics':
      return refuse('Limited', 'topics of the feed')
    case 'feed.full':
      return refuse('Limited', 'bytes of the feed')
    case 'feed.too_fast':
      return refuse('Limited', 'rate of the feed')
    case 'feed.publisher_too_fast':
      return refuse('Limited', 'rate of the publisher')
    default:
      return refuse('Fault', '', error)
  }
}
