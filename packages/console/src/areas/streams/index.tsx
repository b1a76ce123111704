/** The area Streams: feeds, an inspector of one connection, remote controllers, and the connections of all nodes. */
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { Forbidden, Page } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { Connections } from './connections.tsx'
import { ControllerPage, NewController } from './controllers/controller-page.tsx'
import { Controllers } from './controllers/list.tsx'
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
            words: word('new create topic publish'),
            act: () => go(href('streams', 'new-feed')),
          },
          {
            id: 'streams.new-controller',
            title: 'Declare a remote controller',
            group: 'Streams',
            icon: 'plus',
            words: word('new create request program http'),
            act: () => go(href('streams', 'new-controller')),
          },
        ]
      : [],
  )
  if (page === 'new-feed') return <NewFeed />
  if (page === 'inspector')
    return (
      <Page title="Inspector" full bar={<StreamsTabs current="inspector" />}>
        <InspectorPage />
      </Page>
    )
  if (page === 'connections' || page === 'controllers' || page === 'new-controller') {
    const tab = page === 'connections' ? page : 'controllers'
    if (!may('Platform/Admin'))
      return (
        <Page title={page === 'connections' ? 'Connections' : 'Controllers'} bar={<StreamsTabs current={tab} />}>
          <Forbidden rights={['Platform/Admin']} />
        </Page>
      )
    if (page === 'new-controller') return <NewController />
    if (page === 'controllers') return name === undefined ? <Controllers /> : <ControllerPage key={name} name={name} />
    return (
      <Page title="Connections" bar={<StreamsTabs current={tab} />}>
        <Connections user={query.get('user') ?? undefined} />
      </Page>
    )
  }
  return name === undefined ? <Feeds /> : <FeedPage key={name} name={name} part={part} query={query} />
}
