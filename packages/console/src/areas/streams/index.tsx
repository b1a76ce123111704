/** The area Streams: an inspector of one connection, and the connections of all nodes. */
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { href } from '../../shell/router.ts'
import { Forbidden, Page, Tabs } from '../../ui/index.ts'
import { Connections } from './connections.tsx'
import { InspectorPage } from './inspector-page.tsx'
import './streams.css'

export default function Streams({ path, query }: AreaProps) {
  const isList = path[0] === 'connections'
  return (
    <Page
      title="Streams"
      full={!isList}
      bar={
        <Tabs
          label="Streams"
          tabs={[
            { title: 'Inspector', href: href('streams'), current: !isList },
            { title: 'Connections', href: href('streams', 'connections'), current: isList },
          ]}
        />
      }
    >
      {isList ? (
        may('Platform/Admin') ? (
          <Connections user={query.get('user') ?? undefined} />
        ) : (
          <Forbidden rights={['Platform/Admin']} />
        )
      ) : (
        <InspectorPage />
      )}
    </Page>
  )
}
