/** Error codes of feeds over HTTP. The documentation is generated from this table. */
import { AGAIN, type HttpError } from './http-error.ts'

export const FEED_ERRORS = {
  'feed.unknown': {
    status: 404,
    title: 'There is no such feed',
    advice: 'List those that you may use with `GET /feeds`; an operator declares feeds.',
  },
  'feed.no_topic': {
    status: 404,
    title: 'The topic holds no message',
    advice: 'List the topics with `GET /feeds/{feed}`.',
  },
  'feed.bad_topic': {
    status: 400,
    title: 'This cannot be a topic',
    advice: 'A topic has 1 to 256 characters, without control characters and `*`.',
  },
  'feed.bad_message': { status: 400, title: 'A message is malformed', advice: 'Correct what `detail` names.' },
  'feed.bad_parameter': { status: 400, title: 'A parameter is invalid', advice: 'Correct what `detail` names.' },
  'feed.no_history': {
    status: 400,
    title: 'The feed has no history',
    advice: 'Subscribe without a position and without `last`, or let an operator declare a history.',
  },
  'feed.no_last': {
    status: 400,
    title: 'The feed has no history',
    advice: 'Leave out `last`, or let an operator declare a history.',
  },
  'feed.no_rate': {
    status: 400,
    title: 'The feed keeps all messages',
    advice: 'Leave out the rate: it needs a feed that keeps the latest message of each topic.',
  },
  'feed.bad_position': {
    status: 400,
    title: 'The position belongs to another topic or feed',
    advice: 'Resume where the position came from, or subscribe without one.',
  },
  'feed.message_too_large': {
    status: 413,
    title: 'A message is too large',
    advice: 'Send less `Data`, or let an operator raise `message_bytes` of the feed.',
  },
  'feed.key_used': {
    status: 422,
    title: 'The Idempotency-Key was used with another body',
    advice: 'Use a new key for a new request.',
  },
  'feed.topics': { status: 429, title: 'The feed has its most topics', advice: 'Remove topics, or raise its bound.' },
  'feed.full': {
    status: 429,
    title: 'No more messages can be kept',
    advice: 'Shorten the history of the feed, remove topics, or let an operator raise the bound that `detail` names.',
  },
  'feed.too_fast': {
    status: 429,
    title: 'Too many messages are published to the feed',
    advice: 'Retry after the seconds in `Retry-After`; an operator can raise `rate` of the feed.',
  },
  'feed.too_many_keys': {
    status: 429,
    title: 'The publisher uses too many idempotency keys',
    advice:
      'Send several messages in one request, or retry after the seconds in `Retry-After`; an operator can raise `feed_publisher_keys`.',
  },
  'feed.publisher_too_fast': {
    status: 429,
    title: 'The publisher sends too many messages',
    advice: 'Retry after the seconds in `Retry-After`; an operator can raise `feed_publisher_rate`.',
  },
  'feed.slow_reader': {
    status: 503,
    title: 'The client reads too slowly',
    advice: 'Connect again with `Last-Event-ID`: what was missed is sent first.',
  },
  'feed.too_many_followers': {
    status: 429,
    title: 'The caller has too many event streams of feeds',
    advice:
      'Close one, or follow several topics with one pattern; an operator can raise `stream_max_connections_per_user`.',
  },
  'feed.stopping': { status: 503, title: 'The server is stopping', advice: AGAIN },
} as const satisfies Readonly<Record<string, HttpError>>
