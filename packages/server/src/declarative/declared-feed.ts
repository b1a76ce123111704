/** A feed as a file or a request declares it: its schema, the checks that a schema cannot make, and the definition that follows from it. */
import { CONTROLLER_NAME, FEED_CLASSES, PLATFORM_SCOPES } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { LONGEST_SCOPE, notOneOf } from '../resources/apis.ts'
import { nameFault, type TakenNames } from '../resources/controller-names.ts'
import { declaredStepUp, STEP_UP_MEMBERS, stepUpTarget, WRITE_STEP_UP_MEMBERS } from '../resources/step-up-members.ts'
import { closed, number, oneOf, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'

export type DeclaredFeed = XStatic<typeof FEED>

const [SECOND, HOUR, DAY] = [1_000, 3_600_000, 86_400_000]
const [KIB, MIB, GIB] = [2 ** 10, 2 ** 20, 2 ** 30]

/** Of members that are absent. */
const DEFAULTS = {
  description: '',
  class: 'Channel',
  read: 'identity',
  write: 'Platform/Admin',
  keep: 'latest',
  message_bytes: 64 * KIB,
  topics: 100_000,
  bytes: GIB,
  rate: 100_000,
} as const
const DEFAULT_HISTORY = { messages: 1_000, time: HOUR } as const

const LONGEST_HISTORY = 30 * DAY
const LONGEST_STATE = 365 * DAY

/** Names and `>`, whose tokens are the topic. Subjects that begin with `$` are those of NATS itself. */
export const NATS_SUBJECT = /^[^$\s\x00-\x1f\x7f.*>][^\s\x00-\x1f\x7f.*>]*(?:\.[^\s\x00-\x1f\x7f.*>]+)*\.>$/
/** Where the server has the subjects of its own feeds. */
const OWN_SUBJECTS = /^gatehouse\./

export const FEED = closed(['name'], {
  name: text({ pattern: CONTROLLER_NAME.source, maxLength: 64, description: 'The Controller in messages.' }),
  description: words('What is published.'),
  class: oneOf(FEED_CLASSES, `The class of the feed for clients of version 2. Default: ${DEFAULTS.class}.`),
  read: scope(
    ['identity', ...PLATFORM_SCOPES],
    `Who may subscribe and read the history: those with this scope, or identity: any signed-in caller. Default: ${DEFAULTS.read}.`,
  ),
  write: scope(PLATFORM_SCOPES, `The scope that publishing needs. Default: ${DEFAULTS.write}.`),
  ...STEP_UP_MEMBERS,
  ...WRITE_STEP_UP_MEMBERS,
  keep: oneOf(
    ['latest', 'all'],
    `latest: the newest message of a topic is its state, and may replace earlier ones. all: every message counts. Default: ${DEFAULTS.keep}.`,
  ),
  history: {
    ...closed([], {
      messages: bound(100_000, DEFAULT_HISTORY.messages, 'Messages of a topic.'),
      time: time('1 hour', `How long they are kept, from 1 second to 30 days. Default: 1 hour.`),
    }),
    description: 'What is kept of each topic; both bounds hold. Default: no history.',
  },
  state_time: time(
    '1 day',
    'With keep latest: how long a topic has its state after its newest message, from 1 second to 365 days. Default: without a limit.',
  ),
  message_bytes: bound(MIB, DEFAULTS.message_bytes, 'The longest Data of a message, in bytes.'),
  topics: bound(1_000_000, DEFAULTS.topics, 'Topics that may hold a state or history.'),
  bytes: bound(64 * GIB, DEFAULTS.bytes, 'Bytes of the Data of all messages that are kept.'),
  rate: bound(1_000_000, DEFAULTS.rate, 'Messages per second, of all publishers together.'),
  nats_subject: text({
    pattern: NATS_SUBJECT.source,
    maxLength: 255,
    description:
      'An existing subject of NATS that the feed offers, such as md.prices.>. Default: a subject of its own.',
  }),
})

/** A built-in scope, or one of your own of the platform. */
function scope(examples: readonly string[], description: string) {
  return text({ minLength: 1, maxLength: LONGEST_SCOPE, examples, description })
}

function bound<const Default extends number>(maximum: number, byDefault: Default, description: string) {
  return number('integer', { minimum: 1, maximum, description: `${description} Default: ${byDefault}.` })
}

function time(example: string, description: string) {
  return text({ pattern: DURATION.source, examples: [example], description })
}

/** `taken` are the names of other controllers, `known` the scopes that it may name. */
export function feedFaults(feed: DeclaredFeed, taken: TakenNames, known: KnownScopes): Fault[] {
  const { bytes = DEFAULTS.bytes, message_bytes: messageBytes = DEFAULTS.message_bytes } = feed
  const faults: Fault[] = []
  const fault = (path: string, text: string | undefined) => text !== undefined && faults.push({ path, text })
  fault('name', nameFault(feed.name, taken))
  fault('read', scopeFault(feed.read, ['identity', ...known.platformRights()]))
  fault('write', scopeFault(feed.write, known.platformRights()))
  fault('history.time', timeFault(feed.history?.time, LONGEST_HISTORY))
  fault('state_time', timeFault(feed.state_time, LONGEST_STATE))
  if (feed.state_time !== undefined && feed.keep === 'all')
    fault(
      'state_time',
      'needs keep latest: with all, a topic has no state; history.time says how long messages are kept',
    )
  if (OWN_SUBJECTS.test(feed.nats_subject ?? ''))
    fault(
      'nats_subject',
      'must not begin with gatehouse: these are subjects of the server, which has one for every feed',
    )
  if (bytes < messageBytes) fault('bytes', `must be at least message_bytes, ${messageBytes}`)
  return faults
}

function scopeFault(name: string | undefined, allowed: readonly string[]): string | undefined {
  if (name === undefined || allowed.includes(name)) return undefined
  return notOneOf(name, allowed)
}

function timeFault(text: string | undefined, longest: number): string | undefined {
  const milliseconds = text === undefined ? undefined : readDuration(text)
  if (milliseconds === undefined || (milliseconds >= SECOND && milliseconds <= longest)) return undefined
  return `must be from 1 second to ${writeDuration(longest)}`
}

/** With the defaults. The declaration has no faults. */
export function feedTarget(feed: DeclaredFeed): FeedDefinition {
  const { history, state_time, nats_subject, message_bytes, ...others } = feed
  const { require_acr, require_age, write_require_acr, write_require_age, ...rest } = others
  const stepUp = stepUpTarget(feed)
  const { message_bytes: messageBytes, ...defaults } = DEFAULTS
  return {
    ...defaults,
    ...rest,
    ...(stepUp && { stepUp }),
    messageBytes: message_bytes ?? messageBytes,
    history: history && {
      messages: history.messages ?? DEFAULT_HISTORY.messages,
      time: readDuration(history.time ?? '') ?? DEFAULT_HISTORY.time,
    },
    stateTime: readDuration(state_time ?? ''),
    natsSubject: nats_subject,
  }
}

/** Every member that has a value, by its declared name. */
export function presentFeed(feed: FeedDefinition): Readonly<Record<string, unknown>> {
  const { name, description, history, stateTime, natsSubject } = feed
  return {
    name,
    ...(description !== '' && { description }),
    class: feed.class,
    read: feed.read,
    write: feed.write,
    ...declaredStepUp(feed.stepUp),
    keep: feed.keep,
    ...(history && { history: { messages: history.messages, time: writeDuration(history.time) } }),
    ...(stateTime !== undefined && { state_time: writeDuration(stateTime) }),
    message_bytes: feed.messageBytes,
    topics: feed.topics,
    bytes: feed.bytes,
    rate: feed.rate,
    ...(natsSubject !== undefined && { nats_subject: natsSubject }),
  }
}

/** The same without the members that have their default, as in a file. */
export function declaredFeed(feed: FeedDefinition): Readonly<Record<string, unknown>> {
  const defaults = new Map<string, unknown>(Object.entries(DEFAULTS))
  return Object.fromEntries(
    Object.entries(presentFeed(feed)).filter(([member, value]) => defaults.get(member) !== value),
  )
}
