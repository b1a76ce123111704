/** The connections of tools on all nodes, for operators, and their end. */
import { closeConnections, SilentNodes } from '../../admin/connections.tsx'
import { read } from '../../admin/requests.ts'
import { Await, Button, count, dangerColumn, Empty, Table, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

interface WireItem {
  readonly id: string
  readonly user: string
  readonly username: string | null
  readonly client: string
  readonly address: string
  readonly application: string
  readonly state: 'idle' | 'active'
  readonly opened_at: string
  readonly expires_at: string
  readonly node: string
}

interface WirePage {
  readonly items: readonly WireItem[]
  readonly total: number
  readonly silent: readonly string[]
}

const MOST = 200

const STATES: Readonly<Record<WireItem['state'], string>> = { idle: word('idle'), active: word('active') }

export function Connections() {
  const loaded = useLoad((signal) => read<WirePage>(`/admin/wire?limit=${MOST}`, signal), [])
  const close = async (item: WireItem) => {
    const text = `The connection of ${item.username ?? item.client} is closed with a reason. Most tools reconnect on their own.`
    const question = { title: 'Close this connection?', text, action: 'Close connection' }
    if (await closeConnections(question, `/admin/wire/${encodeURIComponent(item.id)}`)) loaded.reload()
  }
  return (
    <Await of={loaded} title="The connections could not be listed">
      {({ items, total, silent }) => (
        <div class="tools-connections">
          <SilentNodes nodes={silent} />
          <div class="tools-bar">
            <p class="quiet" role="status">
              {count(items.length)} of {count(total)}, newest first
            </p>
            <Button kind="plain" icon="refresh" onClick={loaded.reload}>
              Refresh
            </Button>
          </div>
          {items.length === 0 ? (
            <Empty icon="link" title="No tool is connected">
              Tools such as psql and Grafana are listed here while they are connected.
            </Empty>
          ) : (
            <ConnectionTable items={items} onClose={close} />
          )}
        </div>
      )}
    </Await>
  )
}

function ConnectionTable({
  items,
  onClose,
}: {
  readonly items: readonly WireItem[]
  readonly onClose: (item: WireItem) => void
}) {
  return (
    <Table
      label="Connections"
      rows={items}
      rowKey={({ id }) => id}
      columns={[
        { title: 'User', cell: ({ username, client }) => username ?? client },
        { title: 'Tool', cell: ({ application }) => application },
        { title: 'State', cell: ({ state }) => STATES[state] },
        { title: 'Address', cell: ({ address }) => address, wide: true },
        { title: 'Since', cell: ({ opened_at }) => <Time at={opened_at} as="relative" /> },
        { title: 'Until', cell: ({ expires_at }) => <Time at={expires_at} as="relative" />, wide: true },
        { title: 'Node', cell: ({ node }) => node, wide: true },
        dangerColumn(() => word('Close'), onClose),
      ]}
    />
  )
}
