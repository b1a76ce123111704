/** The tools that read feeds: which there are, their topics, and their newest messages. */
import {
  type FeedLabel,
  type FeedService,
  mayRead,
  refuse,
  type StoredMessage,
  topicChoice,
} from '../../feeds/feeds.ts'
import type { Call } from '../protocol/features.ts'
import { counted, cutBytes, escapeJson, escapeText, shortText } from '../text/escape.ts'
import { AFTER, object } from './schemas.ts'
import type { Outcome, ToolDefinition } from './tool-set.ts'

const LISTED = 100
/** Topics and patterns of a label. */
const LABELLED = 10
const MOST_BYTES = 32 * 1024
const MESSAGE_BYTES = 8 * 1024
/** What says how long a message is that was cut. */
const SUFFIX_BYTES = 32

export function listFeedsTool(feeds: () => FeedService | undefined): ToolDefinition {
  return {
    name: 'list_feeds',
    title: 'List feeds',
    description: 'Lists the feeds that the user may read; with a feed its topics, those that begin with prefix.',
    example: {},
    inputSchema: object([], {
      feed: { type: 'string', maxLength: 128 },
      prefix: { type: 'string', maxLength: 256 },
      after: AFTER,
    }),
    async run(args, call, recorded) {
      const service = feeds()
      const name = args.text('feed')
      recorded.feed = name
      if (name === undefined) return { text: listFeeds(service, call) }
      const prefix = args.text('prefix') ?? ''
      const view = await requireFeeds(service).openView(name, { kind: 'prefix', prefix }, call.principal, call)
      const topics = await view
        .listTopics({ prefix, after: args.text('after'), limit: LISTED + 1 })
        .finally(() => view.close())
      const lines = topics
        .slice(0, LISTED)
        .map(
          ({ topic, time, messages }) =>
            `${shortText(topic, 256)} · ${new Date(time).toISOString()} · ${messages} kept`,
        )
      const last = topics[LISTED - 1]?.topic ?? ''
      const tail =
        topics.length > LISTED ? [`# More follow: call again with after "${escapeText(last)}", or a prefix.`] : []
      const head = `${counted(lines.length, 'topic')} of ${shortText(name)}${labelText(view.labels)}`
      return { text: [head, ...lines, ...tail].join('\n') }
    },
  }
}

function listFeeds(service: FeedService | undefined, { principal }: Call): string {
  const readable = (service?.list() ?? []).filter((feed) => mayRead(feed, principal))
  const lines = readable.map(({ name, description, keep, history }) => {
    const kept = history === undefined ? '' : `, history of ${history.messages} messages or ${history.time / 1000} s`
    return `${shortText(name)}: ${shortText(description)} (keeps ${keep}${kept})`
  })
  return [counted(lines.length, 'feed'), ...lines].join('\n')
}

export function readFeedTool(feeds: () => FeedService | undefined): ToolDefinition {
  return {
    name: 'read_feed',
    title: 'Read a feed',
    description:
      'The newest message of a topic of a feed, or with last the last ones, oldest first, as published. A pattern such as NYSE/* needs last.',
    example: { feed: 'Ticker', topic: 'ACME' },
    inputSchema: object(['feed', 'topic'], {
      feed: { type: 'string', minLength: 1, maxLength: 128 },
      topic: { type: 'string', minLength: 1, maxLength: 256 },
      last: { type: 'integer', minimum: 1, maximum: 100, description: 'How many; the feed needs a history.' },
    }),
    async run(args, call, recorded) {
      const [feed = '', topic = ''] = [args.text('feed'), args.text('topic')]
      recorded.feed = feed
      recorded.topic = topic
      return readFeed(feeds(), feed, topic, args.integer('last'), call)
    },
  }
}

/** A head, and a line for each message. */
export async function readFeed(
  feeds: FeedService | undefined,
  name: string,
  topic: string,
  last: number | undefined,
  call: Pick<Call, 'principal' | 'address' | 'requestId'>,
): Promise<Outcome> {
  const service = requireFeeds(feeds)
  const { history } = service.definitionToRead(name, call.principal, call)
  const choice = topicChoice(topic)
  if (choice === undefined)
    throw refuse('feed.bad_topic', `${JSON.stringify(topic)} is neither a topic nor a pattern such as NYSE/*`)
  if (last !== undefined && history === undefined)
    throw refuse('feed.no_last', `The feed ${name} has no history: read it without last`)
  if (last === undefined && choice.kind === 'prefix')
    throw refuse('feed.bad_parameter', 'A pattern has no newest message: name one topic, or give last')
  const view = await service.openView(name, choice, call.principal, call)
  const messages = await view.readLast(choice, last ?? 1).finally(() => view.close())
  if (messages.length === 0) throw refuse('feed.no_topic', `The topic ${JSON.stringify(topic)} holds no message`)
  const { lines, shown } = writeMessages(messages, MOST_BYTES)
  const cut = shown < messages.length ? `, the newest ${shown} that fit` : ''
  const head = `${counted(messages.length, 'message')}${cut}${labelText(view.labels)}: time, topic, data`
  return { text: [head, ...lines].join('\n'), rows: shown }
}

/** What is delayed, or left out. */
export function labelText(labels: readonly FeedLabel[]): string {
  const parts = labels.map(({ product, delay, topics }) => {
    const which =
      topics === undefined
        ? ''
        : `${topics
            .slice(0, LABELLED)
            .map((topic) => shortText(topic))
            .join(', ')} `
    const name = product === undefined ? '' : ` (${shortText(product)})`
    return delay === undefined ? `${which}left out${name}` : `${which}delayed by ${delay / 1000} s${name}`
  })
  return parts.length === 0 ? '' : `, ${parts.join('; ')}`
}

/** A line for each; the newest ones, if not all fit. */
export function writeMessages(messages: readonly StoredMessage[], bytes: number) {
  const lines: string[] = []
  let left = bytes
  for (const { topic, time, data } of messages.toReversed()) {
    const line = `${new Date(time).toISOString()} ${escapeText(topic)} ${dataText(data)}`
    left -= Buffer.byteLength(line) + 1
    if (left < 0) break
    lines.unshift(line)
  }
  return { lines, shown: lines.length }
}

/** Digit for digit. With its escapes it is as short as without: one message always fits. */
function dataText(data: string | undefined): string {
  if (data === undefined) return '(removed)'
  const escaped = escapeJson(shortData(data).replaceAll(/[\n\r\t]/g, ' '))
  const cut = cutBytes(escaped, MESSAGE_BYTES + SUFFIX_BYTES)
  return cut === undefined ? escaped : `${cut}…[${Buffer.byteLength(data)} bytes]`
}

export function shortData(data: string): string {
  const cut = cutBytes(data, MESSAGE_BYTES)
  return cut === undefined ? data : `${cut}…[${Buffer.byteLength(data)} bytes]`
}

export function requireFeeds(service: FeedService | undefined): FeedService {
  if (service === undefined) throw refuse('feed.unknown', 'This server has no feeds')
  return service
}
