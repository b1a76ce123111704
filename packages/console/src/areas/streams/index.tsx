/** The area Streams: an inspector of one connection, feeds, and the connections of all nodes. */
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { Forbidden, Page } from '../../ui/index.ts'
import { Connections } from './connections.tsx'
import { FeedPage } from './feeds/feed-page.tsx'
import { Feeds } from './feeds/list.tsx'
import { NewFeed } from './feeds/new-feed.tsx'
import { InspectorPage } from './inspector-page.tsx'
import { StreamsTabs } from './tabs.tsx'
import './streams.css'
import './feeds/feeds.css'

export default function Streams({ path: [page, name, part], query }: AreaProps) {
  useCommands(() =>
    may('Platform/Admin')
      ? [
          {
            id: 'streams.new-feed',
            title: 'Declare a feed',
            group: 'Streams',
            icon: 'plus',
            words: 'new create topic publish',
            act: () => go(href('streams', 'new-feed')),
          },
        ]
      : [],
  )
  if (page === 'new-feed') return <NewFeed />
  if (page === 'feeds') {
    return name === undefined ? <Feeds /> : <FeedPage key={name} name={name} part={part} query={query} />
  }
  if (page === 'connections')
    return (
      <Page title="Streams" bar={<StreamsTabs current="Connections" />}>
        {may('Platform/Admin') ? (
          <Connections user={query.get('user') ?? undefined} />
        ) : (
          <Forbidden rights={['Platform/Admin']} />
        )}
      </Page>
    )
  return (
    <Page title="Streams" full bar={<StreamsTabs current="Inspector" />}>
      <InspectorPage />
    </Page>
  )
}
