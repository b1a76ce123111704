/** A list of the administration: its rows, the button for the next page, and the states without rows. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { announce } from '../shell/announce.tsx'
import { Button, count, type DataColumn, ErrorNotice, Loading, Table } from '../ui/index.ts'
import type { Pages } from './pages.ts'

export function PagedTable<Item>({
  of,
  label,
  columns,
  rowKey,
  rowHref,
  empty,
}: {
  readonly of: Pages<Item>
  readonly label: string
  readonly columns: readonly DataColumn<Item>[]
  readonly rowKey: (item: Item) => string
  readonly rowHref?: (item: Item) => string | undefined
  readonly empty: ComponentChildren
}) {
  const { items, loading, loadingMore, error, more, reload } = of
  useEffect(() => {
    if (!loading && error === undefined)
      announce(`${label}: ${count(items.length)}${more === undefined ? '' : ' or more'}`)
  }, [loading, items])
  if (error !== undefined) return <ErrorNotice error={error} title="This could not be loaded" onRetry={reload} />
  if (items.length === 0) return loading ? <Loading /> : empty
  return (
    <div aria-busy={loading || undefined}>
      <Table label={label} columns={columns} rows={items} rowKey={rowKey} rowHref={rowHref} />
      {more !== undefined && (
        <p class="list-more">
          <Button busy={loadingMore} onClick={more}>
            Show more
          </Button>
        </p>
      )}
    </div>
  )
}
