/** The topics of a feed with their newest messages, live, and next to them the one that is chosen. */
import { useSearchText } from '../../../admin/search.ts'
import { server } from '../../../server.ts'
import { go, href } from '../../../shell/router.ts'
import { Badge, Button, Code, count, Empty, ErrorNotice, Loading, SearchField, Table } from '../../../ui/index.ts'
import { type FeedInfo, isStored } from './feed.ts'
import type { LiveMessages } from './live-messages.ts'
import { PublishPanel } from './publish-panel.tsx'
import { PublishedTime } from './published-time.tsx'
import { snippetsOf } from './snippets.ts'
import { TopicPanel } from './topic-panel.tsx'
import { type TopicRow, useTopics } from './use-topics.ts'

export function Topics({ info, query }: { readonly info: FeedInfo; readonly query: URLSearchParams }) {
  const { name } = info
  const [topic, publish] = [query.get('topic'), query.get('publish')]
  const hrefOf = (chosen: string | undefined, search: string | undefined) =>
    href('streams', 'feeds', name, { topic: chosen, search })
  const { text, setText, search } = useSearchText(query, (wanted) => hrefOf(topic ?? undefined, wanted))
  const { rows, pages, live, isPaused, setPaused } = useTopics(info, search ?? '')
  const close = () => go(hrefOf(publish === null ? undefined : (topic ?? undefined), search))
  const chosen = rows.find((row) => row.topic === topic)
  return (
    <div class="feed">
      <div class="feed-list">
        {info.mayRead ? (
          <>
            <div class="feed-bar">
              <SearchField label="Search by prefix" value={text} onValue={setText} />
              <LiveButton isPaused={isPaused} onPaused={setPaused} live={live} />
              <span class="quiet feed-count" role="status">
                {count(rows.length)}
                {pages.more === undefined ? '' : '+'} {rows.length === 1 ? 'topic' : 'topics'}
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
                  hrefOf={(each) => hrefOf(each, search)}
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
        <PublishPanel key={publish} info={info} topic={publish} onPublished={pages.reload} onClose={close} />
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
  live,
}: {
  readonly isPaused: boolean
  readonly onPaused: (isPaused: boolean) => void
  readonly live: LiveMessages
}) {
  return (
    <>
      <Button
        size="small"
        icon={isPaused ? 'play' : 'pause'}
        aria-pressed={isPaused}
        onClick={() => onPaused(!isPaused)}
      >
        {isPaused ? 'Go on' : 'Pause'}
      </Button>
      {isPaused ? (
        <Badge>Paused</Badge>
      ) : live.isOnline.value ? (
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
  hrefOf,
}: {
  readonly info: FeedInfo
  readonly rows: readonly TopicRow[]
  readonly chosen: string | undefined
  readonly hrefOf: (topic: string) => string
}) {
  return (
    <div class="feed-topics">
      <Table
        label="Topics"
        rows={rows}
        keyOf={({ topic }) => topic}
        hrefOf={({ topic }) => hrefOf(topic)}
        isCurrent={({ topic }) => topic === chosen}
        columns={[
          { title: 'Topic', cell: ({ topic }) => <span class="feed-topic">{topic}</span> },
          {
            title: 'Newest message',
            cell: ({ newest }) =>
              newest === undefined ? (
                <span class="quiet">–</span>
              ) : (
                <code key={newest.number} class={newest.number > 1 ? 'feed-data new' : 'feed-data'}>
                  {newest.data.slice(0, LONGEST)}
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
function NoTopics({ info, search }: { readonly info: FeedInfo; readonly search: string | undefined }) {
  if (search !== undefined)
    return (
      <Empty icon="search" title={`No topic begins with “${search}”`}>
        {isStored(info)
          ? 'Topics are found by their beginning, with the same upper and lower case.'
          : 'This feed stores nothing: topics appear when something is published to them.'}
      </Empty>
    )
  const [curl] = snippetsOf(server.issuer, info.name, 'ACME')
  return (
    <Empty
      icon="stream"
      title={isStored(info) ? 'No topics yet' : 'Nothing was published yet'}
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
          ? 'A topic, such as the symbol of a share, exists from its first message.'
          : 'This feed stores nothing: messages appear here while they are published.'}
      </p>
      {info.mayPublish && curl !== undefined && (
        <div class="feed-first">
          <Code label="From a program" text={curl.publish} />
        </div>
      )}
    </Empty>
  )
}
