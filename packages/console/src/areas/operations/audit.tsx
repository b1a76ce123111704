/** The audit log: filtered, read back page by page, followed as it is written, and a row in full. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../../shell/announce.tsx'
import type { AreaProps } from '../../shell/area.ts'
import { go, href } from '../../shell/router.ts'
import { toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  ButtonLink,
  count,
  Empty,
  ErrorNotice,
  type Loaded,
  Switch,
  Table,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { AuditDetails } from './audit-details.tsx'
import { AuditFilters } from './audit-filters.tsx'
import { type AuditFilter, type AuditRows, FILTERS, followLog, readNewest, readOlder, withNewer } from './audit-log.ts'
import { eventTitle, outcomeText } from './event-title.ts'
import type { AuditItem, Names } from './replies.ts'
import { Verify } from './verify.tsx'

export function Audit({ path, query }: AreaProps) {
  if (path[0] === 'verify') return <Verify />
  return <Explorer seq={path[0]} query={query} />
}

function Explorer({ seq, query }: { readonly seq: string | undefined; readonly query: URLSearchParams }) {
  const filter: AuditFilter = Object.fromEntries(
    FILTERS.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value !== ''),
  )
  const { changes, ...all } = filter
  const key = JSON.stringify(filter)
  const follows = query.get('follow') === 'true'
  const loaded = useLoad((signal) => readNewest(filter, signal), [key])
  const [busy, setBusy] = useState(false)
  const { fresh, error } = useFollowing(follows && filter.until === undefined, filter, loaded)
  const show = (next: AuditFilter, following = follows, row?: string) =>
    go(
      href('operations', 'audit', ...(row === undefined ? [] : [row]), {
        ...next,
        follow: following ? 'true' : undefined,
      }),
    )
  const older = async (rows: AuditRows) => {
    setBusy(true)
    try {
      loaded.set(await readOlder(rows))
    } catch (failure) {
      toastError(failure, 'Older events could not be read')
    }
    setBusy(false)
  }
  return (
    <div class="operations-list">
      <AuditFilters key={key} filter={filter} onFilter={(next) => show(next)} />
      <div class="operations-bar">
        <Switch
          label="Follow"
          checked={follows}
          disabled={filter.until !== undefined}
          onChecked={(following) => show(filter, following)}
        />
        <Switch
          label="Changes only"
          checked={changes === 'true'}
          onChecked={(only) => show(only ? { changes: 'true', ...all } : all)}
        />
        <span class="quiet" role="status">
          {follows && followingText(fresh.size)}
        </span>
        <span class="spread" />
        <Button size="small" icon="refresh" onClick={loaded.reload}>
          Refresh
        </Button>
        <ButtonLink size="small" icon="shield" href={href('operations', 'audit', 'verify')}>
          Verify the log…
        </ButtonLink>
      </div>
      {error !== undefined && <ErrorNotice error={error} title="Live updates are interrupted; reconnecting" />}
      <Await of={loaded} title="The audit log could not be read">
        {(rows) => (
          <>
            {rows.items.length === 0 ? (
              <Empty icon="history" title="No event matches">
                {rows.next === null ? 'The whole log was searched.' : 'Older events may match.'}
              </Empty>
            ) : (
              <Rows rows={rows} fresh={fresh} itemHref={(item) => rowHref(item, filter, follows)} />
            )}
            {rows.next !== null && (
              <Button busy={busy} onClick={() => older(rows)}>
                Show older
              </Button>
            )}
            {seq !== undefined && (
              <AuditDetails
                seq={seq}
                known={rows}
                onClose={() => show(filter)}
                onFilter={(more) => show({ ...filter, ...more })}
              />
            )}
          </>
        )}
      </Await>
    </div>
  )
}

function followingText(fresh: number): string {
  return fresh === 0 ? 'Events appear as they happen' : `Events appear as they happen, ${count(fresh)} so far`
}

function rowHref({ seq }: AuditItem, filter: AuditFilter, follows: boolean): string {
  return href('operations', 'audit', String(seq), { ...filter, follow: follows ? 'true' : undefined })
}

/** Adds new events to the rows that were loaded; `fresh` has their numbers. */
function useFollowing(
  follows: boolean,
  filter: AuditFilter,
  { data, loading, set }: Loaded<AuditRows>,
): { readonly fresh: ReadonlySet<number>; readonly error: unknown } {
  const [fresh, setFresh] = useState<ReadonlySet<number>>(new Set())
  const [error, setError] = useState<unknown>()
  const rows = useRef(data)
  rows.current = data
  // The filter may change while the rows are reloaded.
  const isLoaded = data !== undefined && !loading
  useEffect(() => {
    setError(undefined)
    setFresh(new Set())
    if (!follows || !isLoaded || rows.current === undefined) return
    const abort = new AbortController()
    void followLog(filter, rows.current.newest, abort.signal, {
      page(page) {
        setError(undefined)
        const known = new Set(rows.current?.items.map(({ seq }) => seq))
        const items = page.items.filter(({ seq }) => !known.has(seq))
        if (items.length === 0 || rows.current === undefined) return
        rows.current = withNewer(rows.current, { ...page, items }, filter)
        set(rows.current)
        setFresh((before) => new Set([...before, ...items.map(({ seq }) => seq)]))
        announce(
          items.length === 1 ? `New event: ${eventTitle(items[0]?.event ?? '')}` : word(`${items.length} new events`),
        )
      },
      error: setError,
    })
    return () => abort.abort()
  }, [follows, isLoaded, JSON.stringify(filter)])
  return { fresh, error }
}

function Rows({
  rows: { items, names },
  fresh,
  itemHref,
}: {
  readonly rows: AuditRows
  readonly fresh: ReadonlySet<number>
  readonly itemHref: (item: AuditItem) => string
}) {
  return (
    <Table
      label="Audit log"
      rows={items}
      rowKey={({ seq }) => seq}
      rowHref={itemHref}
      columns={[
        {
          title: 'Event',
          cell: ({ event, outcome, seq, at, details }) => (
            <span class={fresh.has(seq) ? 'audit-event fresh' : 'audit-event'}>
              <span class="audit-title" title={event}>
                {eventTitle(event)}
              </span>
              {typeof details.count === 'number' && details.since !== undefined && (
                <Badge>× {count(details.count)}</Badge>
              )}
              {outcome !== 'success' && <Badge kind="danger">{outcomeText(outcome)}</Badge>}
              <span class="audit-when">
                <Time at={at} />
              </span>
            </span>
          ),
        },
        { title: 'Time', cell: ({ at }) => <Time at={at} />, wide: true },
        { title: 'Actor', cell: ({ actor }) => showName(actor, names) },
        { title: 'Target', cell: ({ target }) => showName(target, names), wide: true },
        { title: 'Application', cell: ({ client }) => client ?? '', wide: true },
        { title: 'Address', cell: ({ address }) => address ?? '', wide: true },
      ]}
    />
  )
}

function showName(id: string | undefined, names: Names) {
  if (id === undefined) return <span class="quiet">–</span>
  const name = Object.hasOwn(names, id) ? names[id] : undefined
  return <span title={id}>{name ?? (id.length > 24 ? `${id.slice(0, 20)}…` : id)}</span>
}
