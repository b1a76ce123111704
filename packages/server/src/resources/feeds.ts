/** Feeds: messages that programs publish, and streams pass on to subscribers. */
import { CONTROLLER_NAME, FEED_CLASSES, PLATFORM_SCOPES } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { closed, number, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import { describeUnknownScope, LONGEST_SCOPE } from './apis.ts'
import { CONTROLLER_NAME_PATTERN, DURATION_PATTERN, nameFault } from './controller-names.ts'
import type { JsonObject, Known, Resource } from './define-resource.ts'
import { unheldText } from './product-coverage.ts'
import { declaredStepUp, STEP_UP_MEMBERS, stepUpTarget, WRITE_STEP_UP_MEMBERS } from './step-up-members.ts'

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
const NATS_SUBJECT = /^[^$\s\x00-\x1f\x7f.*>][^\s\x00-\x1f\x7f.*>]*(?:\.[^\s\x00-\x1f\x7f.*>]+)*\.>$/
/** Where the server has the subjects of its own feeds. */
const OWN_SUBJECTS = /^gatehouse\./

const FEED = closed(['name'], {
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

export const FEEDS = {
  noun: 'feed',
  section: 'feeds',
  key: 'name',
  scope: 'Platform/Admin',
  list: shortList(FEED, 'Feeds: messages that programs publish, and streams pass on to subscribers.'),
  patterns: [
    CONTROLLER_NAME_PATTERN,
    DURATION_PATTERN,
    [NATS_SUBJECT.source, 'must be a subject of NATS that consists of names and ends with >, such as md.prices.>'],
  ],
  toItem: toFeed,
  present: presentFeed,
  declare: declareFeed,
  compare: (feed) => presentFeed(feed),
  namedScopes: ({ read, write }) => [read, write],
  refersTo: ['scopes', 'products'],
  faults: feedFaults,
  conflict: async ({ name }, { controllers }) =>
    (await controllers.find(name)) && `${name} is the name of a remote controller: choose another`,
  store: ({ feeds }) => feeds,
  changedEvent: 'feeds-changed',
  routes: {
    list: 'Lists feeds page by page, ordered by name, each with its usage as for one feed.',
    pages: { things: 'Feeds' },
    create: 'Declares a feed. All nodes have it at once.',
    show: 'Shows a feed, and how much of it is kept.',
    change:
      'Changes a feed (JSON merge patch). Callers that may no longer read it lose their subscriptions, and what exceeds its bounds is deleted, at once.',
    remove: 'Deletes a feed with all its messages. Its subscriptions end at once.',
    instead: 'declare another feed',
    replies: {
      create: 'The feed, with its defaults.',
      show: 'The feed, with usage: {"topics", "bytes"}, which is null where this node does not know it.',
    },
  },
  commands: {
    argument: 'FEED',
    options: {
      '--description': { value: 'TEXT', help: 'what is published' },
      '--class': { value: 'CLASS', help: 'the class for clients of version 2 (default Channel)' },
      '--read': {
        value: 'SCOPE',
        help: 'who may subscribe: a scope, or identity: any signed-in caller (default identity)',
      },
      '--write': { value: 'SCOPE', help: 'the scope that publishing needs (default Platform/Admin)' },
      '--require-acr': { value: '1|2', help: 'subscribers need a sign-in with 1 or 2 factors (step-up)' },
      '--require-age': { value: 'SECONDS', help: 'how long ago subscribers may have signed in (step-up)' },
      '--write-require-acr': { value: '1|2', help: 'the same for publishers' },
      '--write-require-age': { value: 'SECONDS', help: 'the same for publishers' },
      '--keep': {
        value: 'latest|all',
        help: 'whether the newest message of a topic is its state, or all count (default latest)',
      },
      '--history-messages': {
        member: 'history.messages',
        value: 'COUNT',
        help: 'how many messages of each topic are kept (default: none, or 1000 with --history-time)',
      },
      '--history-time': {
        member: 'history.time',
        value: 'TIME',
        help: 'how long they are kept, such as "1 day" (default: "1 hour" with --history-messages)',
      },
      '--state-time': {
        value: 'TIME',
        help: 'how long a topic has its state after its newest message, such as "1 day" (default: no limit)',
      },
      '--message-bytes': { value: 'BYTES', help: 'the longest message (default 65536)' },
      '--topics': { value: 'COUNT', help: 'topics that may hold a state or history (default 100000)' },
      '--bytes': { value: 'BYTES', help: 'the size of all messages that are kept (default 1073741824)' },
      '--rate': { value: 'COUNT', help: 'messages per second (default 100000)' },
      '--nats-subject': { value: 'SUBJECT', help: 'the existing subject of NATS that the feed offers' },
      '--default': {
        resets: true,
        value: 'MEMBER',
        help: 'return to the default of history, state_time or another member; repeatable',
      },
    },
    columns: ['name', 'class', 'read', 'write', 'keep', 'history', 'description'],
    list: { summary: 'Lists feeds.', examples: ['feed list', 'feed list --json'] },
    show: {
      summary: 'Shows a feed and, with --server, how much of it is stored.',
      examples: ['feed show Prices'],
    },
    add: {
      summary: 'Declares a feed; a running server has it within a second.',
      examples: [
        'feed add Prices --class Market --read Platform/Market',
        'feed add Orders --keep all --history-messages 10000 --history-time "7 days" --read Platform/Trading',
      ],
    },
    set: {
      summary: 'Changes a feed, with immediate effect for its publishers and subscribers.',
      examples: ['feed set Prices --read identity', 'feed set Orders --default history'],
    },
    remove: {
      summary: 'Deletes a feed with all its messages.',
      examples: ['feed remove Prices --yes'],
      confirm: (feed) => `Delete the feed ${feed} with all its messages?`,
      done: (feed) => `The feed ${feed} was deleted.`,
    },
  },
} as const satisfies Resource<FeedDefinition, DeclaredFeed>

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

function feedFaults(
  feed: DeclaredFeed,
  { scopes, controllers, products }: Pick<Known, 'scopes' | 'controllers' | 'products'>,
): Fault[] {
  const { bytes = DEFAULTS.bytes, message_bytes: messageBytes = DEFAULTS.message_bytes } = feed
  const faults: Fault[] = []
  const fault = (path: string, text: string | undefined) => text !== undefined && faults.push({ path, text })
  fault('name', nameFault(feed.name, controllers))
  fault('read', scopeFault(feed.read, ['identity', ...scopes.platformRights()]))
  fault('write', scopeFault(feed.write, scopes.platformRights()))
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
  const delayed = [...(products?.values() ?? [])].find(
    ({ delay, covers }) => delay !== undefined && covers.some((each) => 'feed' in each && each.feed === feed.name),
  )
  const unheld = delayed && unheldText(toFeed(feed))
  if (unheld !== undefined) fault('history', `the product ${delayed?.name} covers it with a delay, and it ${unheld}`)
  return faults
}

function scopeFault(name: string | undefined, allowed: readonly string[]): string | undefined {
  if (name === undefined || allowed.includes(name)) return undefined
  return describeUnknownScope(name, allowed)
}

function timeFault(text: string | undefined, longest: number): string | undefined {
  const milliseconds = text === undefined ? undefined : readDuration(text)
  if (milliseconds === undefined || (milliseconds >= SECOND && milliseconds <= longest)) return undefined
  return `must be from 1 second to ${writeDuration(longest)}`
}

function toFeed(feed: DeclaredFeed): FeedDefinition {
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
function presentFeed(feed: FeedDefinition): JsonObject {
  const { history, stateTime } = feed
  const stepUp = declaredStepUp(feed.stepUp)
  // The type asks for every member: one that is missing here would be stored, and never shown.
  const members: Record<keyof DeclaredFeed, unknown> = {
    name: feed.name,
    description: feed.description === '' ? undefined : feed.description,
    class: feed.class,
    read: feed.read,
    write: feed.write,
    require_acr: stepUp.require_acr,
    require_age: stepUp.require_age,
    write_require_acr: stepUp.write_require_acr,
    write_require_age: stepUp.write_require_age,
    keep: feed.keep,
    history: history && { messages: history.messages, time: writeDuration(history.time) },
    state_time: stateTime === undefined ? undefined : writeDuration(stateTime),
    message_bytes: feed.messageBytes,
    topics: feed.topics,
    bytes: feed.bytes,
    rate: feed.rate,
    nats_subject: feed.natsSubject,
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function declareFeed(feed: FeedDefinition): JsonObject {
  const defaults = new Map<string, unknown>(Object.entries(DEFAULTS))
  return Object.fromEntries(
    Object.entries(presentFeed(feed)).filter(([member, value]) => defaults.get(member) !== value),
  )
}
