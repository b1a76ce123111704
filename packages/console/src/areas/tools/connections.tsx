/** The connections of tools on all nodes, for operators, and their end. */
import { read } from '../../admin/requests.ts'
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Await, Button, count, dangerColumn, Empty, Notice, Table, Time, useLoad } from '../../ui/index.ts'

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

export function Connections() {
  const loaded = useLoad((signal) => read<WirePage>(`/admin/wire?limit=${MOST}`, signal), [])
  const close = async (item: WireItem) => {
    const text = `The connection of ${item.username ?? item.client} is ended with the reason. Most tools connect again by themselves.`
    if (!(await confirm({ title: 'Close this connection?', text, action: 'Close connection', danger: true }))) return
    try {
      await gate.request(`/admin/wire/${encodeURIComponent(item.id)}`, { method: 'DELETE' })
      toast('One connection was closed')
    } catch (error) {
      toastError(error, 'The connection could not be closed')
    }
    loaded.reload()
  }
  return (
    <Await of={loaded} title="The connections could not be listed">
      {({ items, total, silent }) => (
        <div class="tools-connections">
          {silent.length > 0 && (
            <Notice kind="warning">These nodes did not answer and are not included below: {silent.join(', ')}.</Notice>
          )}
          <div class="tools-bar">
            <p class="quiet" role="status">
              {count(items.length)} of {count(total)}, newest first
            </p>
            <Button kind="plain" icon="refresh" onClick={loaded.reload}>
              Refresh
            </Button>
          </div>
          {items.length === 0 ? (
            <Empty icon="link" title="No connections">
              No tool is connected.
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
      keyOf={({ id }) => id}
      columns={[
        { title: 'User', cell: ({ username, client }) => username ?? client },
        { title: 'Tool', cell: ({ application }) => application },
        { title: 'State', cell: ({ state }) => state },
        { title: 'Address', cell: ({ address }) => address, wide: true },
        { title: 'Since', cell: ({ opened_at }) => <Time at={opened_at} as="relative" /> },
        { title: 'Until', cell: ({ expires_at }) => <Time at={expires_at} as="relative" />, wide: true },
        { title: 'Node', cell: ({ node }) => node, wide: true },
        dangerColumn(() => 'Close', onClose),
      ]}
    />
  )
}
