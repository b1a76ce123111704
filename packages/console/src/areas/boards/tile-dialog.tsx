/** Adding and editing a tile: its statement, and how the result is shown, with a preview. */
import { useMemo, useState } from 'preact/hooks'
import type { Tile, View } from '../../../../client/src/index.ts'
import type { ChartView } from '../../chart/chart.tsx'
import { createCatalogue } from '../../editor/catalogue.ts'
import { Editor } from '../../editor/editor.tsx'
import { parameterNames } from '../../editor/scan.ts'
import { gate } from '../../gate.ts'
import type { GridColumn } from '../../grid/column.ts'
import { Button, Checkboxes, FormDialog, Segments, Select, Switch, TextField } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { SavedQueries } from './saved-queries.tsx'
import { TileContent, useResult } from './tile.tsx'

export type TileDraft = Omit<Tile, 'position'>

const VIEWS: readonly { readonly value: View; readonly title: string }[] = [
  { value: 'table', title: 'Table' },
  { value: 'line', title: 'Lines' },
  { value: 'bar', title: 'Bars' },
  { value: 'scatter', title: 'Scatter' },
  { value: 'candles', title: 'Candles' },
]
const NEW: TileDraft = { title: '', statement: '', view: 'table', live: true }
const catalogue = createCatalogue(gate)

export interface TileDialogProps {
  /** None to add one. */
  readonly tile?: TileDraft | undefined
  readonly onSave: (tile: TileDraft) => void
  readonly onClose: () => void
}

export function TileDialog({ tile = NEW, onSave, onClose }: TileDialogProps) {
  const [draft, setDraft] = useState(tile)
  const [shown, setShown] = useState(tile.statement === '' ? undefined : tile)
  const [columns, setColumns] = useState<readonly GridColumn[]>([])
  const [faults, setFaults] = useState<{ readonly title?: string; readonly statement?: string }>({})
  const change = (changed: Partial<TileDraft>) => setDraft((before) => ({ ...before, ...changed }))
  const names = useMemo(() => parameterNames(draft.statement), [draft.statement])
  const cleaned = () => cleanTile(draft, names)
  const setView = ({ scale, averages }: ChartView) => {
    const { scale: _, averages: __, ...others } = draft
    setDraft({ ...others, ...(scale && { scale }), ...(averages && { averages }) })
  }
  const save = () => {
    const found = {
      ...(draft.title.trim() === '' && { title: 'Give the tile a title' }),
      ...(draft.statement.trim() === '' && { statement: 'Write a statement' }),
    }
    setFaults(found)
    if (Object.keys(found).length === 0) onSave(cleaned())
  }
  return (
    <FormDialog
      title={tile === NEW ? 'Add a tile' : `Edit “${tile.title}”`}
      size="wide"
      action={tile === NEW ? 'Add tile' : 'Apply'}
      onClose={onClose}
      onSubmit={save}
    >
      {tile === NEW && (
        <SavedQueries
          onChosen={(saved) => {
            setDraft({ live: false, ...saved })
            setShown({ live: false, ...saved })
          }}
        />
      )}
      <TextField
        label="Title"
        value={draft.title}
        onValue={(title) => change({ title })}
        error={faults.title}
        maxLength={120}
        autofocus
      />
      <div class="field">
        <span class="tile-label">Statement</span>
        <div class="tile-editor">
          <Editor
            label="Statement"
            value={draft.statement}
            onChange={(statement) => change({ statement })}
            onRun={() => setShown(cleaned())}
            complete={catalogue}
            placeholder="select symbol, last(price, executed_at) as price from trades group by symbol order by symbol"
          />
        </div>
        {faults.statement !== undefined && <div class="fault">{faults.statement}</div>}
      </div>
      {names.length > 0 && (
        <div class="tile-fields">
          {names.map((name) => (
            <TextField
              key={name}
              label={`:${name}`}
              value={String(draft.parameters?.[name] ?? '')}
              onValue={(value) => change({ parameters: { ...draft.parameters, [name]: value } })}
            />
          ))}
        </div>
      )}
      <div class="tile-options">
        <Segments label="View" value={draft.view} onValue={(view) => change({ view })} choices={VIEWS} />
        <Switch label="Live" checked={draft.live === true} onChecked={(live) => change({ live })} />
        <Button icon="play" onClick={() => setShown(cleaned())} disabled={draft.statement.trim() === ''}>
          Preview
        </Button>
      </div>
      {draft.view !== 'table' && <ColumnFields draft={draft} columns={columns} change={change} />}
      {shown !== undefined && (
        <Preview tile={{ ...cleanTile(draft, names), ...runSettings(shown) }} onColumns={setColumns} onView={setView} />
      )}
    </FormDialog>
  )
}

/** The statement changes when the user runs it; the view changes immediately. */
function runSettings({ statement, parameters, live }: TileDraft): Partial<TileDraft> {
  return { statement, ...(parameters && { parameters }), ...(live !== undefined && { live }) }
}

function Preview({
  tile,
  onColumns,
  onView,
}: {
  readonly tile: TileDraft
  /** The scale and the averages are chosen in the chart itself. */
  readonly onView: (view: ChartView) => void
  readonly onColumns: (columns: readonly GridColumn[]) => void
}) {
  const result = useResult(tile, undefined)
  const columns = result.state.value.model?.columns
  useMemo(() => columns !== undefined && onColumns(columns), [columns])
  return (
    <section class="tile-preview" aria-label="Preview">
      <TileContent tile={tile} result={result} onView={onView} />
    </section>
  )
}

function ColumnFields({
  draft,
  columns,
  change,
}: {
  readonly draft: TileDraft
  readonly columns: readonly GridColumn[]
  readonly change: (changed: Partial<TileDraft>) => void
}) {
  const { x = '', y = [], series = '', view } = draft
  const names = columns.map(({ name }) => name)
  const numbers = columns.filter(({ type }) => /^(Integer|Decimal|Double)/.test(type)).map(({ name }) => name)
  const choices = (chosen: string, automatic: string) => [
    { value: '', title: automatic },
    ...[...new Set([...names, ...(chosen === '' ? [] : [chosen])])].map((name) => ({ value: name, title: name })),
  ]
  if (names.length === 0) return <p class="quiet">Preview the result to choose its columns.</p>
  return (
    <div class="tile-fields">
      <Select
        label="x axis"
        value={x}
        onValue={(name) => change({ x: name })}
        choices={choices(x, word('Automatic'))}
      />
      {view !== 'candles' && (
        <Select
          label="One series per value of"
          value={series}
          onValue={(name) => change({ series: name })}
          choices={choices(series, 'No column')}
        />
      )}
      <fieldset class="tile-columns">
        <legend>{view === 'candles' ? 'Open, high, low, close, volume' : 'Columns drawn'}</legend>
        <Checkboxes
          items={[...new Set([...numbers, ...y])].map((name) => ({ name }))}
          chosen={y}
          onChosen={(names) => change({ y: [...names] })}
        />
        {y.length === 0 && <p class="hint">None selected: all numeric columns are drawn.</p>}
      </fieldset>
    </div>
  )
}

/** Without members that are not set. */
function cleanTile(
  { title, statement, view, x, y, series, scale, averages, live, parameters }: TileDraft,
  names: readonly string[],
) {
  const isChart = view !== 'table'
  return {
    title: title.trim(),
    statement: statement.trim(),
    view,
    ...(names.length > 0 && {
      parameters: Object.fromEntries(names.map((name) => [name, parameters?.[name] ?? ''])),
    }),
    ...(isChart && x !== undefined && x !== '' && { x }),
    ...(isChart && y !== undefined && y.length > 0 && { y }),
    ...(isChart && series !== undefined && series !== '' && { series }),
    ...(isChart && scale !== undefined && { scale }),
    ...(isChart && averages !== undefined && averages.length > 0 && { averages }),
    ...(live === true && { live }),
  }
}
