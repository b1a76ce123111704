/** The topics of a feed as they are listed, with the newest message of each as it arrives. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { usePages } from '../../../admin/pages.ts'
import { withQuery } from '../../../admin/requests.ts'
import { TYPING_MS } from '../../../admin/search.ts'
import { useCommands } from '../../../shell/commands.ts'
import { type FeedInfo, isStored } from './feed.ts'
import { LiveMessages, type NewestMessage } from './live-messages.ts'

interface ListedTopic {
  readonly Topic: string
  readonly Time: string
  readonly Messages: number
}

export interface TopicRow {
  readonly topic: string
  /** When its newest message was published. */
  readonly at: string | number | undefined
  readonly messages: number | undefined
  readonly newest: NewestMessage | undefined
}

const PAGE = 50
/** Topics of further pages are listed only: a connection has a limited number of subscriptions. */
const MOST_WATCHED = 500
/** Messages per second of a topic, so that the page stays calm. */
const RATE = 2
/** The list is read again so often, where the subscription does not tell all of it. */
const LIST_MS = 5_000

/** What is listed, with what has arrived since. */
export function useTopics(info: FeedInfo, prefix: string) {
  const { name } = info
  const live = useMemo(() => new LiveMessages(name), [])
  const [isPaused, setPaused] = useState(false)
  const isHidden = useHidden()
  const path = withQuery(`/feeds/${encodeURIComponent(name)}`, { prefix, limit: PAGE })
  const isListed = info.mayRead && isStored(info)
  const pages = usePages<ListedTopic>(
    isListed ? path : undefined,
    TYPING_MS,
    (after) => `${path}&${new URLSearchParams({ after })}`,
  )
  // While another list is loaded, the former one is followed.
  const followed = useRef<readonly string[]>([])
  if (!pages.loading) followed.current = watchedTopics(info, prefix, pages.items, pages.more !== undefined)
  const watched = followed.current
  const isLive = info.mayRead && !isPaused && !isHidden && !(isListed && pages.loading && pages.items.length === 0)
  const isPattern = watched.length === 1 && watched[0]?.endsWith('*') === true
  useEffect(() => {
    if (isLive) live.watch(watched, subscribeOptions(info))
    else live.pause()
  }, [isLive, watched.join('\n')])
  useEffect(() => () => live.pause(), [])
  useEffect(() => {
    if (live.removals.value > 0) pages.reload()
  }, [live.removals.value])
  // A pattern tells of new topics, but not how many messages are kept. Further pages stay as they were listed.
  const isStale = !isPattern || info.history !== undefined
  const isRepeated = isLive && isListed && isStale && pages.items.length <= PAGE
  useEffect(() => {
    if (!isRepeated) return
    const timer = setInterval(pages.reload, LIST_MS)
    return () => clearInterval(timer)
  }, [isRepeated])
  useCommands(
    () => [
      {
        id: 'feeds.pause',
        title: isPaused ? 'Follow the feed again' : 'Pause the feed',
        group: 'Streams',
        act: () => setPaused(!isPaused),
      },
    ],
    [isPaused],
  )
  // Without a topic there is nothing to subscribe to; the list is read again, and tells of new ones.
  const isOnline = live.isOnline.value || (isLive && watched.length === 0)
  // Read, so that it is drawn again.
  void live.version.value
  return {
    rows: buildRows(pages.items, live, isPattern ? prefix : undefined),
    pages,
    live,
    isOnline,
    isPaused,
    setPaused,
  }
}

/**
 * One pattern, which also tells of new topics, where it covers no more than what is listed and begins with the state of each; otherwise
 * the listed topics, so that the traffic follows what is shown.
 */
function watchedTopics(
  info: FeedInfo,
  prefix: string,
  listed: readonly ListedTopic[],
  hasMore: boolean,
): readonly string[] {
  if (!isStored(info)) return [`${prefix.slice(0, prefix.lastIndexOf('/') + 1)}*`]
  const isPattern = prefix === '' || prefix.endsWith('/')
  if (info.keep === 'latest' && isPattern && !hasMore) return [`${prefix}*`]
  return listed.slice(0, MOST_WATCHED).map(({ Topic }) => Topic)
}

function subscribeOptions({ keep, history }: FeedInfo): object {
  return keep === 'latest' ? { MaxRate: RATE } : history === undefined ? {} : { Last: 1 }
}

/** `prefix` is that of topics that are not listed yet; undefined if those are not followed. */
function buildRows(
  listed: readonly ListedTopic[],
  { newest }: LiveMessages,
  prefix: string | undefined,
): readonly TopicRow[] {
  const known = new Set(listed.map(({ Topic }) => Topic))
  const rows: TopicRow[] = listed.map(({ Topic: topic, Time: time, Messages: messages }) => {
    const message = newest.get(topic)
    // The first one is what was listed.
    return { topic, messages, newest: message, at: message === undefined || message.number === 1 ? time : message.at }
  })
  for (const [topic, message] of prefix === undefined ? [] : newest)
    if (!known.has(topic) && topic.startsWith(prefix ?? ''))
      rows.push({ topic, messages: undefined, newest: message, at: message.at })
  return rows.sort((a, b) => (a.topic < b.topic ? -1 : 1))
}

/** A hidden page follows nothing. */
function useHidden(): boolean {
  const [isHidden, setHidden] = useState(document.hidden)
  useEffect(() => {
    const look = () => setHidden(document.hidden)
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isHidden
}
