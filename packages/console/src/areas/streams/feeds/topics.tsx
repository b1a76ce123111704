/** The topics of a feed with their newest messages, live, and next to them the one that is chosen. */
import { useRef } from 'preact/hooks'
import { useSearchText } from '../../../admin/search.ts'
import { server } from '../../../server.ts'
import { go, href } from '../../../shell/router.ts'
import {
  Badge,
  Button,
  Code,
  count,
  DelayBadge,
  Empty,
  ErrorNotice,
  Loading,
  SearchField,
  Table,
} from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { JsonLine } from '../json-line.tsx'
import { type FeedInfo, isStored } from './feed.ts'
import { PublishPanel } from './publish-panel.tsx'
import { PublishedTime } from './published-time.tsx'
import { feedSnippets } from './snippets.ts'
import { TopicPanel } from './topic-panel.tsx'
import { type TopicRow, useTopics } from './use-topics.ts'

export function Topics({ info, query }: { readonly info: FeedInfo; readonly query: URLSearchParams }) {
  const { name } = info
  const [topic, publish] = [query.get('topic'), query.get('publish')]
  const topicHref = (chosen: string | undefined, search: string | undefined) =>
    href('streams', 'feeds', name, { topic: chosen, search })
  const { text, setText, search } = useSearchText(query, (wanted) => topicHref(topic ?? undefined, wanted))
  const { rows, pages, live, isOnline, isPaused, setPaused } = useTopics(info, search ?? '')
  const list = useRef<HTMLDivElement>(null)
  const close = () => {
    const row = list.current?.querySelector<HTMLElement>('tr.current a')
    go(topicHref(publish === null ? undefined : (topic ?? undefined), search))
    // The button that closed the panel is gone: the keyboard continues in the list.
    setTimeout(() => row?.focus())
  }
  const delay = Math.max(0, ...rows.map(({ newest }) => newest?.delay ?? 0))
  const chosen = rows.find((row) => row.topic === topic)
  return (
    <div class="feed">
      <div ref={list} class="feed-list">
        {info.mayRead ? (
          <>
            <div class="feed-bar">
              <SearchField label="Search by prefix" value={text} onValue={setText} />
              <LiveButton isPaused={isPaused} onPaused={setPaused} isOnline={isOnline} />
              {delay > 0 && <DelayBadge seconds={delay} />}
              <span class="quiet feed-count" role="status">
                {countText(rows.length, pages.more !== undefined, search === undefined ? info.topics : undefined)}
              </span>
            </div>
            <div class="feed-rows">
              {live.error.value !== undefined && (
                <ErrorNotice error={live.error.value} title="The feed cannot be followed" />
              )}
              {pages.error !== undefined ? (
                <ErrorNotice error={pages.error} title="The topics could not be listed" onRetry={pages.reload} />
              ) : rows.length > 0 ? (
                <TopicTable
                  info={info}
                  rows={rows}
                  chosen={topic ?? undefined}
                  itemHref={(each) => topicHref(each, search)}
                />
              ) : pages.loading ? (
                <Loading />
              ) : (
                <NoTopics info={info} search={search} />
              )}
              {pages.more !== undefined && (
                <p class="list-more">
                  <Button busy={pages.loadingMore} onClick={pages.more}>
                    Show more
                  </Button>
                </p>
              )}
            </div>
          </>
        ) : (
          <Empty icon="lock" title="You cannot read this feed">
            Reading it needs {info.read === undefined ? 'a right that you do not have' : <code>{info.read}</code>}.
            {info.mayPublish && ' You can still publish to it.'} An administrator can give you a role with the right.
          </Empty>
        )}
      </div>
      {publish !== null && info.mayPublish ? (
        <PublishPanel
          key={publish}
          info={info}
          topic={publish}
          newest={rows.find((row) => row.topic === publish)?.newest?.data}
          onPublished={pages.reload}
          onClose={close}
        />
      ) : (
        topic !== null &&
        info.mayRead && (
          <TopicPanel key={topic} info={info} topic={topic} row={chosen} onRemoved={pages.reload} onClose={close} />
        )
      )}
    </div>
  )
}

function LiveButton({
  isPaused,
  onPaused,
  isOnline,
}: {
  readonly isPaused: boolean
  readonly onPaused: (isPaused: boolean) => void
  readonly isOnline: boolean
}) {
  return (
    <>
      <Button
        size="small"
        icon={isPaused ? 'play' : 'pause'}
        aria-pressed={isPaused}
        onClick={() => onPaused(!isPaused)}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </Button>
      {isPaused ? (
        <Badge>Paused</Badge>
      ) : isOnline ? (
        <Badge kind="good">Live</Badge>
      ) : (
        <Badge kind="warning">Connecting …</Badge>
      )}
    </>
  )
}

function TopicTable({
  info,
  rows,
  chosen,
  itemHref,
}: {
  readonly info: FeedInfo
  readonly rows: readonly TopicRow[]
  readonly chosen: string | undefined
  readonly itemHref: (topic: string) => string
}) {
  return (
    <div class="feed-topics">
      <Table
        label="Topics"
        rows={rows}
        rowKey={({ topic }) => topic}
        rowHref={({ topic }) => itemHref(topic)}
        isCurrent={({ topic }) => topic === chosen}
        columns={[
          {
            title: 'Topic',
            cell: ({ topic }) => (
              <span class="feed-topic" title={topic}>
                {topic}
              </span>
            ),
          },
          {
            title: 'Newest message',
            cell: ({ newest }) =>
              newest === undefined ? (
                <span class="quiet">–</span>
              ) : (
                <code key={newest.number} class={newest.number > 1 ? 'feed-data new' : 'feed-data'}>
                  <JsonLine text={newest.data.slice(0, LONGEST)} />
                </code>
              ),
          },
          ...(info.history === undefined
            ? []
            : [
                {
                  title: 'Kept',
                  kind: 'number' as const,
                  wide: true,
                  cell: ({ messages }: TopicRow) => (messages === undefined ? '–' : count(messages)),
                },
              ]),
          { title: 'Published', kind: 'number', cell: ({ at }) => <PublishedTime at={at} /> },
        ]}
      />
    </div>
  )
}

/** Of a message in the table, in characters. */
const LONGEST = 400

/** `all` is undefined where it is not known how many there are. */
function countText(shown: number, hasMore: boolean, all: number | undefined): string {
  if (hasMore && all !== undefined && all > shown) return word(`${count(shown)} of ${count(all)} topics`)
  if (hasMore) return word(`${count(shown)}+ topics`)
  return word(shown === 1 ? '1 topic' : `${count(shown)} topics`)
}

function NoTopics({ info, search }: { readonly info: FeedInfo; readonly search: string | undefined }) {
  if (search !== undefined)
    return (
      <Empty icon="search" title={`No topic begins with “${search}”`}>
        {isStored(info)
          ? 'Search matches the beginning of a topic and is case-sensitive.'
          : 'This feed stores nothing: topics appear when something is published to them.'}
      </Empty>
    )
  const [curl] = feedSnippets(server.issuer, info.name, 'ACME')
  return (
    <Empty
      icon="stream"
      title={isStored(info) ? 'No topics yet' : 'Nothing published yet'}
      actions={
        info.mayPublish && (
          <Button icon="upload" onClick={() => go(href('streams', 'feeds', info.name, { publish: '' }))}>
            Publish the first message
          </Button>
        )
      }
    >
      <p>
        {isStored(info)
          ? 'The first message to a topic, such as the symbol of a share, creates it.'
          : 'This feed stores nothing. Messages appear here as they are published.'}
      </p>
      {info.mayPublish && curl !== undefined && (
        <div class="feed-first">
          <Code label="From a program" text={curl.publish} />
        </div>
      )}
    </Empty>
  )
}
