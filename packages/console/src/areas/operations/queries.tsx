/** The queries and live statements that run on all nodes, and their end. */
import { useState } from 'preact/hooks'
import { GatehouseError } from '../../../../client/src/index.ts'
import { SilentNodes } from '../../admin/connections.tsx'
import { read, withQuery } from '../../admin/requests.ts'
import { gate } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  Code,
  count,
  Dialog,
  dangerColumn,
  duration,
  Empty,
  Facts,
  Form,
  SearchField,
  Segments,
  Switch,
  Table,
  Time,
} from '../../ui/index.ts'
import { usePolling } from '../../ui/polling.ts'
import { word } from '../../ui/word.ts'
import type { FromNodes, QueryItem } from './replies.ts'

const REST_MS = 2000
const FIRST = 100
const MOST = 1000

export function Queries({ query }: AreaProps) {
  const [kind, user] = [query.get('kind') ?? '', query.get('user') ?? '']
  const [typed, setTyped] = useState(user)
  const [refreshes, setRefreshes] = useState(true)
  const [limit, setLimit] = useState(FIRST)
  const [shown, setShown] = useState<QueryItem>()
  const path = withQuery('/admin/queries', { kind, user, limit: String(limit) })
  const polled = usePolling((signal) => read<FromNodes<QueryItem>>(path, signal), refreshes ? REST_MS : undefined, [
    path,
  ])
  const show = (filter: { kind?: string; user?: string }) => {
    const wanted = { kind, user, ...filter }
    go(href('operations', 'queries', { kind: wanted.kind || undefined, user: wanted.user || undefined }))
  }
  const cancel = async (item: QueryItem) => {
    if (!(await cancelQuery(item))) return
    setShown(undefined)
    polled.reload()
  }
  return (
    <div class="operations-list">
      <Form class="operations-bar" onSubmit={() => show({ user: typed.trim() })}>
        <Segments
          label="Kind"
          value={kind}
          onValue={(value) => show({ kind: value })}
          choices={[
            { value: '', title: 'All' },
            { value: 'query', title: 'Running' },
            { value: 'live', title: 'Live' },
          ]}
        />
        <SearchField
          label="Full name of a user or client"
          value={typed}
          onValue={(value) => {
            setTyped(value)
            if (value === '' && user !== '') show({ user: '' })
          }}
        />
        <Switch label="Refresh" checked={refreshes} onChecked={setRefreshes} />
        {!refreshes && (
          <Button size="small" icon="refresh" onClick={polled.reload}>
            Refresh now
          </Button>
        )}
      </Form>
      <Await of={polled} title="The queries could not be listed">
        {({ items, total, silent }) => (
          <>
            <SilentNodes nodes={silent} />
            {items.length === 0 ? (
              <Empty icon="query" title="No queries are running">
                Queries appear here while they run, and live statements while a client is subscribed
                {kind !== '' || user !== '' ? ', if they match the filter' : ''}.
              </Empty>
            ) : (
              <>
                <p class="quiet">
                  {count(items.length)} of {count(total)}, newest first
                </p>
                <QueryTable items={items} onShow={setShown} onCancel={cancel} />
              </>
            )}
            {total > items.length && limit < MOST && (
              <Button onClick={() => setLimit(MOST)}>{`Show up to ${count(MOST)}`}</Button>
            )}
          </>
        )}
      </Await>
      {shown !== undefined && <Details of={shown} onClose={() => setShown(undefined)} onCancel={() => cancel(shown)} />}
    </div>
  )
}

function QueryTable({
  items,
  onShow,
  onCancel,
}: {
  readonly items: readonly QueryItem[]
  readonly onShow: (item: QueryItem) => void
  readonly onCancel: (item: QueryItem) => void
}) {
  return (
    <Table
      label="Queries"
      rows={items}
      rowKey={({ node, id }) => `${node} ${id}`}
      columns={[
        {
          title: 'Statement',
          cell: (item) => (
            <button type="button" class="statement" title="Show the whole statement" onClick={() => onShow(item)}>
              {item.statement.replace(/\s+/g, ' ').slice(0, 300)}
            </button>
          ),
        },
        { title: 'Kind', cell: (item) => <Kind of={item} />, wide: true },
        { title: 'User', cell: (item) => item.username ?? item.user },
        { title: 'Application', cell: ({ client }) => client, wide: true },
        {
          title: 'Duration',
          kind: 'number',
          cell: ({ started_at }) => duration(Math.max(0, Date.now() - Date.parse(started_at))),
        },
        { title: 'Node', cell: ({ node }) => node, wide: true },
        dangerColumn((item) => word(item.kind === 'live' ? 'End' : 'Cancel'), onCancel),
      ]}
    />
  )
}

function Kind({ of: { kind } }: { readonly of: QueryItem }) {
  return kind === 'live' ? <Badge kind="accent">live</Badge> : <Badge>running</Badge>
}

function Details({
  of: item,
  onClose,
  onCancel,
}: {
  readonly of: QueryItem
  readonly onClose: () => void
  readonly onCancel: () => void
}) {
  return (
    <Dialog
      title={item.kind === 'live' ? 'Live statement' : 'Running query'}
      size="wide"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button kind="danger" onClick={onCancel}>
            {item.kind === 'live' ? 'End this statement' : 'Cancel this query'}
          </Button>
        </>
      }
    >
      <Code label="Statement" text={item.statement} />
      <Facts
        of={[
          [word('User'), item.username ?? item.user],
          [word('Application'), item.client],
          [word('Started'), <Time key="at" at={item.started_at} />],
          [word('Node'), item.node],
          [word('Request'), <code key="id">{item.id}</code>],
        ]}
      />
    </Dialog>
  )
}

/** Asks, cancels, and says what happened; false if the user did not agree. */
async function cancelQuery(item: QueryItem): Promise<boolean> {
  if (!(await confirmCancel(item))) return false
  try {
    await gate.request(`/admin/queries/${encodeURIComponent(item.id)}`, { method: 'DELETE' })
    toast(item.kind === 'live' ? 'The live statement was ended' : 'The query was cancelled')
  } catch (failure) {
    if (failure instanceof GatehouseError && failure.status === 404) toast('It had already ended')
    else toastError(failure, 'It could not be cancelled')
  }
  return true
}

function confirmCancel({ kind, username, user, client }: QueryItem): Promise<boolean> {
  const who = `${username ?? user} in ${client}`
  return confirm(
    kind === 'live'
      ? {
          title: 'End this live statement?',
          text: `${who} is notified that it ended, and gets no further changes to this result.`,
          action: 'End statement',
          danger: true,
        }
      : {
          title: 'Cancel this query?',
          text: `${who} gets an error instead of the rest of the result. Nothing is written.`,
          action: 'Cancel query',
          danger: true,
        },
  )
}
