/** The list of feeds: all of them for administrators, otherwise those that the token allows. */
import { PagedTable } from '../../../admin/list.tsx'
import { usePages } from '../../../admin/pages.ts'
import { read } from '../../../admin/requests.ts'
import { may } from '../../../gate.ts'
import { server } from '../../../server.ts'
import { href } from '../../../shell/router.ts'
import {
  Await,
  Badge,
  ButtonLink,
  bytes,
  count,
  type DataColumn,
  Empty,
  Page,
  Table,
  useLoad,
} from '../../../ui/index.ts'
import { rightText } from '../../../ui/rights.tsx'
import { StreamsTabs } from '../tabs.tsx'
import { type FeedDefinition, type FeedInfo, infoOfUsable, keepText, readerText, type UsableFeed } from './feed.ts'

export function Feeds() {
  const isAdministrator = may('Platform/Admin')
  return (
    <Page title="Feeds" bar={<StreamsTabs current="feeds" />} actions={isAdministrator ? <DeclareButton /> : undefined}>
      {isAdministrator ? <AllFeeds /> : <UsableFeeds />}
    </Page>
  )
}

function DeclareButton() {
  return (
    <ButtonLink kind="primary" icon="plus" href={href('streams', 'new-feed')}>
      Declare a feed
    </ButtonLink>
  )
}

const DOCUMENTATION = `${server.base}/docs/feeds`

function AllFeeds() {
  const feeds = usePages<FeedDefinition>('/admin/feeds?limit=50')
  return (
    <PagedTable
      of={feeds}
      label="Feeds"
      rowKey={({ name }) => name}
      rowHref={({ name }) => href('streams', 'feeds', name)}
      columns={DEFINED}
      empty={
        <Empty
          icon="stream"
          title="No feed is declared yet"
          actions={
            <>
              <DeclareButton />
              <ButtonLink href={DOCUMENTATION} target="_blank" icon="external">
                Documentation
              </ButtonLink>
            </>
          }
        >
          A feed carries messages, such as prices, news or order states, from programs in any language to everyone who
          has subscribed. Declare one, publish to one of its topics with a single HTTP request, and watch the message
          arrive here.
        </Empty>
      }
    />
  )
}

const DEFINED: readonly DataColumn<FeedDefinition>[] = [
  { title: 'Feed', cell: ({ name, description }) => <FeedName name={name} description={description} /> },
  { title: 'Class', wide: true, cell: (feed) => <Badge>{feed.class}</Badge> },
  { title: 'Keeps', wide: true, cell: (feed) => <span class="whole">{keepText(feed)}</span> },
  { title: 'Read', wide: true, cell: ({ read: scope }) => <Reader of={scope} /> },
  { title: 'Publish', wide: true, cell: ({ write }) => <Reader of={write} /> },
  { title: 'Topics', kind: 'number', cell: ({ usage }) => (usage ? count(usage.topics) : '–') },
  { title: 'Size', kind: 'number', cell: ({ usage }) => (usage ? bytes(usage.bytes) : '–') },
]

function Reader({ of }: { readonly of: string }) {
  return <span title={of}>{of === 'identity' ? readerText(of) : (rightText(of) ?? of)}</span>
}

function FeedName({ name, description }: Pick<FeedInfo, 'name'> & { readonly description: string | undefined }) {
  return (
    <>
      {name}
      {description !== undefined && (
        <span class="feed-about" title={description}>
          {description}
        </span>
      )}
    </>
  )
}

function UsableFeeds() {
  const feeds = useLoad(async (signal) => {
    const { items } = await read<{ items: readonly UsableFeed[] }>('/feeds', signal)
    return items.map(infoOfUsable).sort((a, b) => (a.name < b.name ? -1 : 1))
  }, [])
  return (
    <Await of={feeds} title="The feeds could not be listed">
      {(items) =>
        items.length === 0 ? (
          <Empty icon="stream" title="There is no feed that you can use">
            Each feed names the right that subscribing or publishing needs. An administrator declares feeds, and can
            give you a role with that right.
          </Empty>
        ) : (
          <Table
            label="Feeds"
            rows={items}
            rowKey={({ name }) => name}
            rowHref={({ name }) => href('streams', 'feeds', name)}
            columns={USABLE}
          />
        )
      }
    </Await>
  )
}

const USABLE: readonly DataColumn<FeedInfo>[] = [
  { title: 'Feed', cell: ({ name, description }) => <FeedName name={name} description={description} /> },
  { title: 'Class', wide: true, cell: (feed) => <Badge>{feed.class}</Badge> },
  { title: 'Keeps', wide: true, cell: (feed) => <span class="whole">{keepText(feed)}</span> },
  {
    title: 'You can',
    cell: ({ mayRead, mayPublish }) => (
      <span class="badges">
        {mayRead && <Badge>Read</Badge>}
        {mayPublish && <Badge>Publish</Badge>}
      </span>
    ),
  },
]
