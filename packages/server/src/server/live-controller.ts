/** The streaming controller `Query`: live statements of the query service as subscriptions. */
import { randomUUID } from 'node:crypto'
import {
  type Audit,
  JsonText,
  licenceContext,
  type Principal,
  Refusal,
  type RunningSubscription,
  type SubscriberSink,
  stepUpContext,
} from 'gatehouse-protocol'
import { asKnown, type LiveMessage, type LiveQueries, problemOfQuery, requirePlatformAccess } from '../query/index.ts'
import { type Call, type Caller, type Controller, refuse, refuseWithProblem } from '../streaming/topics/controller.ts'
import { readLiveData } from './live-data.ts'

export const LIVE_SUMMARY =
  'Pushes the result of the statement in Data, then its changes. The client chooses the name after the slash.'
const PREFIX = 'Live/'
const MAX_NAME_LENGTH = 128

export function createLiveController(live: LiveQueries, audit: Audit): Controller {
  async function open(call: Call, sink: SubscriberSink<JsonText>): Promise<RunningSubscription> {
    const { principal, caller, topic } = call
    if (topic.length === PREFIX.length || topic.length > PREFIX.length + MAX_NAME_LENGTH) throw refuse('Data', 'Topic')
    if (principal === undefined) throw refuse('Authority')
    const statement = readLiveData(call)
    const { connectionId, address } = caller
    const requestId = randomUUID()
    try {
      requirePlatformAccess(principal)
      const request = {
        ...statement,
        principal,
        connectionId,
        requestId,
        address,
        encoding: ENCODING,
        signal: call.signal,
      }
      const subscription = await live.subscribe(request, liveSink(sink))
      return { ...guarded(subscription, sink), close: () => subscription.close() }
    } catch (error) {
      const refusal = streamRefusal(error)
      if (refusal.code === 'Authority' && refusal.message === '') record(caller, principal, requestId)
      throw refusal
    }
  }

  function record(caller: Caller, { subject: actor, clientId: client }: Principal, requestId: string): void {
    const { address } = caller
    audit.record({ event: 'live.refused', actor, client, address, requestId, details: { reason: 'Authority' } })
  }

  return {
    name: 'Query',
    summary: 'Live statements: a result, and then whatever changes in it.',
    topics: {
      [`${PREFIX}*`]: {
        summary: LIVE_SUMMARY,
        needs: 'identity',
        subscription: { open },
      },
    },
  }
}

/** As the query service writes JSON by default. */
const ENCODING = { rows: 'objects', integers: 'numbers' } as const

type Rights = Pick<RunningSubscription, 'drained' | 'setPrincipal' | 'pause' | 'resume'>

/** A caller who has no scope of the platform left loses the statement, regardless of what it reads. */
function guarded(subscription: RunningSubscription, sink: SubscriberSink<JsonText>): Rights {
  const ifAllowed = (principal: Principal, act: () => void): void => {
    try {
      requirePlatformAccess(principal)
    } catch (error) {
      subscription.close()
      sink.end(streamRefusal(error))
      return
    }
    act()
  }
  return {
    drained: () => subscription.drained(),
    setPrincipal: (principal) => ifAllowed(principal, () => subscription.setPrincipal(principal)),
    pause: () => subscription.pause(),
    resume: (principal) => ifAllowed(principal, () => subscription.resume(principal)),
  }
}

function liveSink(sink: SubscriberSink<JsonText>): SubscriberSink<LiveMessage> {
  return {
    send: (message) => sink.send(sharedData(message)),
    get maySend() {
      return sink.maySend
    },
    end: (reason) => sink.end(streamRefusal(reason)),
  }
}

/** All subscribers that are sent a message share its text, and so its frames. */
const texts = new WeakMap<LiveMessage, JsonText>()

function sharedData(message: LiveMessage): JsonText {
  let data = texts.get(message)
  if (data === undefined) {
    data = new JsonText(message.text)
    texts.set(message, data)
  }
  return data
}

/** An error of the query service as one of the stream. Anything but a Refusal is a bug and is passed on unchanged. */
function streamRefusal(error: unknown): Refusal {
  const known = asKnown(error)
  if (!(known instanceof Refusal)) throw error
  switch (known.code) {
    case 'Auth.Required':
    case 'Auth.InvalidToken':
    case 'Auth.MissingScope':
    case 'Auth.StepUp':
    case 'Auth.UserNeeded':
      return refuse('Authority', stepUpContext(known))
    case 'Licence.Needed':
    case 'Licence.Places':
    case 'Licence.Displaced':
    case 'Licence.NotReady':
      return refuse('Authority', licenceContext(known))
    case 'Limit.Rows':
      return refuse('Limited', 'rows')
    case 'Limit.Live':
      return refuse('Limited', 'live statements')
    case 'Limit.Memory':
      return refuse('Limited', 'memory')
    case 'Limit.Concurrency':
    case 'Limit.Overload':
      return refuse('Limited', 'queries')
    case 'Limit.Time':
      return refuse('Operation.Timeout')
    case 'Limit.Cancelled':
      return refuse('Operation.Abort')
    case 'Request.BadPosition':
      return refuse('Data', 'Resume')
    case 'Data.Unavailable':
    case 'Licence.Unavailable':
      return refuse('Fault')
    default:
      return refuseWithProblem('Data', 'Statement', problemOfQuery(known))
  }
}
