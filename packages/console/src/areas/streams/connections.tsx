/** The connections of all nodes, of everyone or of one user, and their end. */
import { useState } from 'preact/hooks'
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Await, Button, count, Empty, Notice, SearchField, Table, Time, useLoad } from '../../ui/index.ts'

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
  const [typed, setTyped] = useState(user ?? '')
  const [more, setMore] = useState<readonly StreamItem[]>([])
  const [next, setNext] = useState<string | null>()
  const loaded = useLoad(
    async (signal) => {
      setMore([])
      setNext(undefined)
      return read(`/admin/streams${user === undefined ? '' : `?user=${encodeURIComponent(user)}`}`, signal)
    },
    [user],
  )
  const kick = async ({ id, username, client }: StreamItem) => {
    const who = username ?? client ?? 'nobody'
    const isSure = await confirm({
      title: 'Close this connection?',
      text: `The connection of ${who} is closed with 4000, and its program is not to come back by itself.`,
      action: 'Close connection',
      danger: true,
    })
    if (isSure) await close(`/admin/streams/${encodeURIComponent(id)}`)
  }
  const kickAll = async (name: string) => {
    const isSure = await confirm({
      title: `Close all connections of ${name}?`,
      text: 'All of them are closed on every node. To end sessions and tokens too, sign the user out in People.',
      action: 'Close all',
      danger: true,
    })
    if (isSure) await close(`/admin/streams?user=${encodeURIComponent(name)}`)
  }
  const close = async (path: string) => {
    try {
      const response = await gate.request(path, { method: 'DELETE' })
      const { closed } = (await response.json()) as { closed: number }
      toast(closed === 1 ? 'One connection was closed' : `${closed} connections were closed`)
      loaded.reload()
    } catch (error) {
      toastError(error, 'The connection could not be closed')
    }
  }
  return (
    <div class="connections">
      <form
        class="connections-bar"
        onSubmit={(event) => {
          event.preventDefault()
          go(href('streams', 'connections', { user: typed.trim() || undefined }))
        }}
      >
        <SearchField label="User or client, by its whole name" value={typed} onValue={setTyped} />
        <Button type="submit">Show</Button>
        {user !== undefined && (
          <>
            <Button
              kind="plain"
              onClick={() => {
                setTyped('')
                go(href('streams', 'connections'))
              }}
            >
              Show all
            </Button>
            <Button kind="danger" onClick={() => kickAll(user)}>
              Close all of {user}
            </Button>
          </>
        )}
        <Button kind="plain" icon="refresh" onClick={() => loaded.reload()}>
          Refresh
        </Button>
      </form>
      <Await of={loaded} title="The connections could not be listed">
        {(page) => {
          const items = [...page.items, ...more]
          const following = next === undefined ? page.next : next
          return (
            <>
              {page.silent.length > 0 && (
                <Notice kind="warning">Without an answer, and missing below: {page.silent.join(', ')}.</Notice>
              )}
              {items.length === 0 ? (
                <Empty icon="stream" title="No connections">
                  {user === undefined ? 'Nobody is connected to the stream.' : `${user} is not connected.`}
                </Empty>
              ) : (
                <>
                  <p class="quiet" role="status">
                    {count(items.length)} of {count(page.total)}, newest first
                  </p>
                  <Table
                    label="Connections"
                    rows={items}
                    keyOf={({ id }) => id}
                    columns={[
                      { title: 'User', cell: ({ username, user: id }) => username ?? id ?? <em>not signed in</em> },
                      { title: 'Application', cell: ({ client }) => client ?? '' },
                      { title: 'Address', cell: ({ address }) => address, wide: true },
                      { title: 'Since', cell: ({ opened_at }) => <Time at={opened_at} as="relative" /> },
                      {
                        title: 'Token until',
                        cell: ({ expires_at }) => <Time at={expires_at} as="relative" />,
                        wide: true,
                      },
                      {
                        title: 'Subscriptions',
                        cell: ({ subscriptions }) => count(subscriptions),
                        kind: 'number',
                        wide: true,
                      },
                      { title: 'Node', cell: ({ node }) => node, wide: true },
                      {
                        title: 'Actions',
                        kind: 'actions',
                        cell: (item) => (
                          <Button size="small" kind="danger" onClick={() => kick(item)}>
                            Close
                          </Button>
                        ),
                      },
                    ]}
                  />
                  {following !== null && (
                    <Button
                      onClick={async () => {
                        try {
                          const another = await read(following)
                          setMore([...more, ...another.items])
                          setNext(another.next)
                        } catch (error) {
                          toastError(error)
                        }
                      }}
                    >
                      Show more
                    </Button>
                  )}
                </>
              )}
            </>
          )
        }}
      </Await>
    </div>
  )
}

async function read(path: string, signal?: AbortSignal): Promise<StreamPage> {
  const response = await gate.request(path, { signal })
  return (await response.json()) as StreamPage
}
