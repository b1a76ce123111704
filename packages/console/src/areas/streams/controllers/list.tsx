/** The list of remote controllers: programs elsewhere that answer requests of streams over HTTP. */
import { read } from '../../../admin/requests.ts'
import { server } from '../../../server.ts'
import { href } from '../../../shell/router.ts'
import { Await, Badge, ButtonLink, Empty, Page, Table, useLoad } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { periodText } from '../period.ts'
import { StreamsTabs } from '../tabs.tsx'
import type { RemoteController } from './controller.ts'

export function Controllers() {
  const controllers = useLoad(
    async (signal) => (await read<{ items: readonly RemoteController[] }>('/admin/controllers', signal)).items,
    [],
  )
  const declare = (
    <ButtonLink kind="primary" icon="plus" href={href('streams', 'new-controller')}>
      Declare a controller
    </ButtonLink>
  )
  return (
    <Page title="Controllers" bar={<StreamsTabs current="controllers" />} actions={declare}>
      <Await of={controllers} title="The controllers could not be listed">
        {(items) =>
          items.length === 0 ? (
            <Empty
              icon="code"
              title="No remote controller is declared yet"
              actions={
                <>
                  {declare}
                  <ButtonLink href={`${server.base}/docs/streaming`} target="_blank" icon="external">
                    Documentation
                  </ButtonLink>
                </>
              }
            >
              A remote controller is a program of your own that answers requests from streams, such as to place an
              order. The server posts each request to its URL, with a token that identifies the caller, and passes on
              the reply.
            </Empty>
          ) : (
            <Table
              label="Remote controllers"
              rows={items}
              rowKey={({ name }) => name}
              rowHref={({ name }) => href('streams', 'controllers', name)}
              columns={[
                {
                  title: 'Controller',
                  cell: ({ name, url }) => (
                    <>
                      {name}
                      <code class="feed-about controller-url" title={url}>
                        {url}
                      </code>
                    </>
                  ),
                },
                { title: 'Class', wide: true, cell: (controller) => <Badge>{controller.class}</Badge> },
                { title: 'Topics', cell: ({ topics }) => topicsText(topics.map((topic) => topic.name)) },
                { title: 'Timeout', wide: true, kind: 'number', cell: ({ timeout }) => periodText(timeout) },
                { title: 'Concurrency', wide: true, kind: 'number', cell: ({ concurrency }) => concurrency },
              ]}
            />
          )
        }
      </Await>
    </Page>
  )
}

const MOST_NAMED = 4

function topicsText(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  // One more name is as short as the words for it.
  return more < 2 ? names.join(', ') : word(`${names.slice(0, MOST_NAMED).join(', ')} and ${more} more`)
}
