/** The rows of a table, page by page by key, never counted; edited in place where the rights allow it. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Where } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { Grid } from '../../grid/grid.tsx'
import { GridModel, type GridRow, type Sort } from '../../grid/model.ts'
import { announce } from '../../shell/announce.tsx'
import { confirm } from '../../shell/dialogs.tsx'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Button, count, Empty, ErrorNotice, Spinner, useSlow } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { TableDetail } from './catalogue.ts'
import { RowForm, typedValue } from './row-form.tsx'

const PAGE = 500
/** Rows are deleted one by one; to delete more than this, write a statement. */
const MOST_DELETED = 100

export function Rows({ table }: { readonly table: TableDetail }) {
  const [sort, setSort] = useState(() => newestFirst(table))
  const [round, setRound] = useState(0)
  const [isAdding, setAdding] = useState(false)
  const [chosen, setChosen] = useState<{ readonly top: number; readonly bottom: number }>()
  const pages = usePages(table, sort, round)
  const isSlow = useSlow(pages.isLoading)
  const { model } = pages
  const has = (right: 'insert' | 'update' | 'delete') => table.rights.includes(right)
  const hasKey = table.primarykey.length > 0

  const remove = async (from: number, to: number) => {
    const rows = Array.from({ length: to - from + 1 }, (_, at) => model.row(from + at))
    const isSure = await confirm({
      title:
        rows.length === 1 ? `Delete 1 row of ${table.name}?` : `Delete ${count(rows.length)} rows of ${table.name}?`,
      text: `${rows
        .slice(0, 3)
        .map((row) => keyText(table, row))
        .join('; ')}${rows.length > 3 ? ' …' : ''}. This cannot be undone.`,
      action: 'Delete',
      danger: true,
    })
    if (!isSure) return
    try {
      for (const row of rows) await gate.table(table.name).delete(primaryKeyValues(table, row))
      toast(deletedText(rows.length, table.name), { kind: 'good' })
    } catch (error) {
      toastError(error, 'Not all rows were deleted')
    }
    setRound(round + 1)
  }
  const editable =
    has('update') && hasKey
      ? {
          may: (column: number) => table.columns[column]?.isprimarykey === false,
          async commit(row: GridRow, column: number, text: string | null) {
            const changing = table.columns[column]
            if (changing === undefined) return
            const { name } = changing
            const value = text === null ? null : typedValue(changing, text)
            const { rowsAffected } = await gate
              .table(table.name)
              .update(primaryKeyValues(table, row), { [name]: value })
            if (rowsAffected === 0) throw new Error('The row no longer exists, or you can no longer see it')
            const changed = await gate.table(table.name).select({ where: primaryKeyValues(table, row), limit: 1 })
            const found = changed.rows[0]
            if (found !== undefined) model.replace(row, rowIn(table, found))
            toast(word(`Changed ${name} of ${keyText(table, row)}`), { kind: 'good' })
          },
        }
      : undefined
  const selected = chosen === undefined ? 0 : chosen.bottom - chosen.top + 1
  return (
    <div class="rows">
      <div class="rows-bar">
        {has('insert') && (
          <Button size="small" icon="plus" onClick={() => setAdding(true)}>
            Add a row
          </Button>
        )}
        {has('delete') && hasKey && (
          <Button
            size="small"
            kind="danger"
            icon="trash"
            disabled={chosen === undefined || selected > MOST_DELETED}
            onClick={() => chosen !== undefined && remove(chosen.top, chosen.bottom)}
          >
            {selected > 1 ? `Delete ${count(selected)} rows` : 'Delete'}
          </Button>
        )}
        <Button size="small" icon="refresh" onClick={() => setRound(round + 1)}>
          Refresh
        </Button>
        <span class="rows-said quiet">
          {isSlow && <Spinner />}
          {pages.isAll
            ? model.total === 1
              ? '1 row in all'
              : `${count(model.total)} rows in all`
            : model.total > 0 && `The first ${count(model.total)} rows; scroll for more`}
          {model.filters.value.size > 0 && ` · ${count(model.size)} of the loaded rows match the filter`}
        </span>
      </div>
      {pages.error !== undefined && (
        <ErrorNotice error={pages.error} title="The rows could not be read" onRetry={() => setRound(round + 1)} />
      )}
      {pages.isAll && model.total === 0 ? (
        <Empty icon="table" title="There are no rows">
          {table.rowfilter !== null
            ? 'The row filter of the table may hide rows from you.'
            : has('insert')
              ? 'Add one, or import a CSV file.'
              : `To write to this table, you need the right ${table.writescope ?? 'Platform/Admin'}.`}
        </Empty>
      ) : (
        <div class="rows-grid">
          <Grid
            model={model}
            label={`Rows of ${table.name}`}
            editable={editable}
            sorting={{ sort, onSort: setSort }}
            onSelect={setChosen}
            onEnd={pages.loadMore}
          />
        </div>
      )}
      {isAdding && (
        <RowForm
          table={table}
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false)
            setRound(round + 1)
          }}
        />
      )}
    </div>
  )
}

/** Of a table whose key or an index begins with a time, or whose key is a number that rises with a time: that order is cheap. */
function newestFirst({ columns, primarykey, indexes }: TableDetail): Sort | undefined {
  const firsts = [
    primarykey[0],
    ...indexes.map(({ columns: [first] }) => (typeof first === 'object' ? first.name : first)),
  ]
  const column = columns.findIndex(({ name, type }) => firsts.includes(name) && /^(Timestamp|Date)/.test(type))
  if (column !== -1) return { column, descending: true }
  const key = columns.findIndex(({ name }) => primarykey.length === 1 && name === primarykey[0])
  const isRising = columns[key]?.type === 'Integer' && columns.some(({ type }) => type.startsWith('Timestamp'))
  return isRising ? { column: key, descending: true } : undefined
}

interface Pages {
  readonly model: GridModel
  readonly isLoading: boolean
  readonly isAll: boolean
  readonly error: unknown
  readonly loadMore: () => void
}

/** Reads page after page as the end of the rows comes into view. The server sorts, so the order covers all rows. */
function usePages(table: TableDetail, sort: Sort | undefined, round: number): Pages {
  const model = useMemo(() => new GridModel(table.columns), [])
  const [state, setState] = useState<{ isLoading: boolean; isAll: boolean; error: unknown }>({
    isLoading: true,
    isAll: false,
    error: undefined,
  })
  const reader = useRef<() => void>(() => {})
  model.version.value
  useEffect(() => {
    const abort = new AbortController()
    let [after, isBusy, isFirst]: [string | undefined, boolean, boolean] = [undefined, false, true]
    const read = async () => {
      if (isBusy || (!isFirst && after === undefined)) return
      isBusy = true
      setState((before) => ({ ...before, isLoading: true, error: undefined }))
      try {
        const orderBy = sort && `${sort.descending ? '-' : ''}${table.columns[sort.column]?.name}`
        const page = await gate.table(table.name).select({ orderBy, limit: PAGE, after, signal: abort.signal })
        if (isFirst) model.clear()
        model.append(page.rows.map((row) => rowIn(table, row)))
        isFirst = false
        after = page.next
        setState({ isLoading: false, isAll: after === undefined, error: undefined })
        announce(word(model.total === 1 ? `1 row of ${table.name}` : `${count(model.total)} rows of ${table.name}`))
      } catch (error) {
        if (!abort.signal.aborted) setState({ isLoading: false, isAll: false, error })
      }
      isBusy = false
    }
    reader.current = () => void read()
    reader.current()
    return () => abort.abort()
  }, [table, sort, round])
  return { ...state, model, loadMore: () => reader.current() }
}

function rowIn({ columns }: TableDetail, row: Readonly<Record<string, unknown>>): GridRow {
  return columns.map(({ name }) => row[name] ?? null)
}

function primaryKeyValues({ columns, primarykey }: TableDetail, row: GridRow): Where {
  return Object.fromEntries(
    primarykey.map((name) => [name, row[columns.findIndex((column) => column.name === name)]] as const),
  )
}

function keyText(table: TableDetail, row: GridRow): string {
  return Object.entries(primaryKeyValues(table, row))
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}

function deletedText(rows: number, table: string): string {
  return word(rows === 1 ? `Deleted 1 row of ${table}` : `Deleted ${count(rows)} rows of ${table}`)
}
