/** The connections of all nodes, of everyone or of one user, and their end. */
import { useState } from 'preact/hooks'
import { closeConnections, SilentNodes } from '../../admin/connections.tsx'
import { read, withQuery } from '../../admin/requests.ts'
import { go, href } from '../../shell/router.ts'
import { toastError } from '../../shell/toasts.tsx'
import { Await, Button, count, dangerColumn, Empty, Form, SearchField, Table, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

interface StreamItem {
  readonly id: string
  readonly user: string | null
  readonly username: string | null
  readonly client: string | null
  readonly address: string
  readonly opened_at: string
  readonly expires_at: string | null
  readonly subscriptions: number
  readonly node: string
}

interface StreamPage {
  readonly items: readonly StreamItem[]
  readonly total: number
  readonly next: string | null
  readonly silent: readonly string[]
}

export function Connections({ user }: { readonly user: string | undefined }) {
  const { loaded, items, next, more } = useConnections(user)
  const close = async (...asked: Parameters<typeof closeConnections>) => {
    if (await closeConnections(...asked)) loaded.reload()
  }
  const closeOne = ({ id, username, client }: StreamItem) =>
    close(
      {
        title: 'Close this connection?',
        text: `The connection of ${username ?? client ?? 'a client without a token'} is closed with code 4000, which tells the client not to reconnect automatically.`,
        action: 'Close connection',
      },
      `/admin/streams/${encodeURIComponent(id)}`,
    )
  const closeAll = (name: string) =>
    close(
      {
        title: `Close all connections of ${name}?`,
        text: 'All of them are closed on every node. To end sessions and tokens too, sign the user out in People.',
        action: 'Close all',
      },
      withQuery('/admin/streams', { user: name }),
    )
  return (
    <div class="connections">
      <Filter user={user} onCloseAll={closeAll} onRefresh={loaded.reload} />
      <Await of={loaded} title="The connections could not be listed">
        {({ silent, total }) => (
          <>
            <SilentNodes nodes={silent} />
            {items.length === 0 ? (
              <Empty icon="stream" title={user === undefined ? 'No client is connected' : 'No connections'}>
                {user === undefined
                  ? 'Clients appear here when they open a stream. The inspector opens one.'
                  : `${user} is not connected.`}
              </Empty>
            ) : (
              <>
                <p class="quiet" role="status">
                  {count(items.length)} of {count(total)}, newest first
                </p>
                <ConnectionTable items={items} onClose={closeOne} />
                {next !== null && <Button onClick={() => more(next)}>Show more</Button>}
              </>
            )}
          </>
        )}
      </Await>
    </div>
  )
}

/** The first page, and those that were added to it. */
function useConnections(user: string | undefined) {
  const [added, setAdded] = useState<Pick<StreamPage, 'items' | 'next'>>()
  const loaded = useLoad(
    (signal) => {
      setAdded(undefined)
      return read<StreamPage>(withQuery('/admin/streams', { user }), signal)
    },
    [user],
  )
  const items = [...(loaded.data?.items ?? []), ...(added?.items ?? [])]
  const more = async (path: string) => {
    try {
      const page = await read<StreamPage>(path)
      setAdded({ items: [...(added?.items ?? []), ...page.items], next: page.next })
    } catch (error) {
      toastError(error)
    }
  }
  return { loaded, items, next: (added ?? loaded.data)?.next ?? null, more }
}

function Filter({
  user,
  onCloseAll,
  onRefresh,
}: {
  readonly user: string | undefined
  readonly onCloseAll: (user: string) => void
  readonly onRefresh: () => void
}) {
  const [typed, setTyped] = useState(user ?? '')
  const show = (wanted: string) => go(href('streams', 'connections', { user: wanted || undefined }))
  return (
    <Form class="connections-bar" onSubmit={() => show(typed.trim())}>
      <SearchField label="Full name of a user or client" value={typed} onValue={setTyped} />
      <Button type="submit">Show</Button>
      {user !== undefined && (
        <>
          <Button
            kind="plain"
            onClick={() => {
              setTyped('')
              show('')
            }}
          >
            Show all
          </Button>
          <Button kind="danger" onClick={() => onCloseAll(user)}>
            {`Close all connections of ${user}`}
          </Button>
        </>
      )}
      <Button kind="plain" icon="refresh" onClick={onRefresh}>
        Refresh
      </Button>
    </Form>
  )
}

function ConnectionTable({
  items,
  onClose,
}: {
  readonly items: readonly StreamItem[]
  readonly onClose: (item: StreamItem) => void
}) {
  return (
    <Table
      label="Connections"
      rows={items}
      rowKey={({ id }) => id}
      columns={[
        { title: 'User', cell: ({ username, user: id }) => username ?? id ?? <em>not signed in</em> },
        { title: 'Application', cell: ({ client }) => client ?? '' },
        { title: 'Address', cell: ({ address }) => address, wide: true },
        { title: 'Since', cell: ({ opened_at }) => <Time at={opened_at} as="relative" /> },
        { title: 'Token until', cell: ({ expires_at }) => <Time at={expires_at} as="relative" />, wide: true },
        { title: 'Subscriptions', cell: ({ subscriptions }) => count(subscriptions), kind: 'number', wide: true },
        { title: 'Node', cell: ({ node }) => node, wide: true },
        dangerColumn(() => word('Close'), onClose),
      ]}
    />
  )
}
