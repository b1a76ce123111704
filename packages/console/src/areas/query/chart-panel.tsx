/** The chart of a result: its kind and columns are chosen here, and kept with the query. */
// Imported here, because only the style sheet of the area is loaded, not those of scripts that it loads later.
import 'uplot/dist/uPlot.min.css'
import '../../chart/chart.css'
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { View } from '../../../../client/src/index.ts'
import { readMarks } from '../../alerts/result-marks.ts'
import type { ChartProps, ChartView } from '../../chart/chart.tsx'
import type { GridModel } from '../../grid/model.ts'
import { ErrorNotice, Icon, Loading, Menu, Select, useLoad } from '../../ui/index.ts'

type Loaded = { readonly Chart: ComponentType<ChartProps> } | { readonly error: unknown } | undefined

export function ChartPanel({
  model,
  view,
  onView,
  label,
  zone,
  statement,
}: {
  readonly model: GridModel
  readonly view: ChartView
  readonly onView: (view: ChartView) => void
  readonly label: string
  readonly zone: string | undefined
  readonly statement: string
}) {
  const [loaded, setLoaded] = useState<Loaded>()
  // The library for charts is loaded with the first of them.
  useEffect(() => {
    import('../../chart/chart.tsx').then(
      ({ Chart }) => setLoaded({ Chart }),
      (error) => setLoaded({ error }),
    )
  }, [])
  const { data: marks } = useLoad((signal) => readMarks(statement, signal), [statement])
  return (
    <div class="query-chart">
      <ChartChoices columns={model.columns.map(({ name }) => name)} view={view} onView={onView} />
      <div class="query-chart-body">
        {loaded === undefined ? (
          <Loading />
        ) : 'error' in loaded ? (
          <ErrorNotice error={loaded.error} title="The chart could not be loaded" />
        ) : (
          <loaded.Chart model={model} view={view} label={label} zone={zone} onView={onView} marks={marks} />
        )}
      </div>
    </div>
  )
}

const KINDS: readonly { readonly value: View; readonly title: string }[] = [
  { value: 'line', title: 'Lines' },
  { value: 'bar', title: 'Bars' },
  { value: 'scatter', title: 'Scatter' },
  { value: 'candles', title: 'Candles' },
]
const BY_ITSELF = { value: '', title: 'automatic' }

function ChartChoices({
  columns,
  view,
  onView,
}: {
  readonly columns: readonly string[]
  readonly view: ChartView
  readonly onView: (view: ChartView) => void
}) {
  const { view: kind = 'line', x = '', y = [], series = '' } = view
  const choices = columns.map((name) => ({ value: name, title: name }))
  const change = (members: Changes) => onView(chosenView({ ...view, ...members }))
  return (
    <div class="query-chart-choices">
      <Select label="Chart" value={kind} onValue={(value) => change({ view: value as View })} choices={KINDS} />
      <Select
        label="x"
        value={x}
        onValue={(value) => change({ x: value || undefined })}
        choices={[BY_ITSELF, ...choices]}
      />
      <div class="field">
        <span class="query-chart-label">{kind === 'candles' ? 'prices' : 'y'}</span>
        <Menu
          label="Columns that are drawn"
          class="button"
          items={[
            { title: 'automatic', checked: y.length === 0, act: () => change({ y: undefined }) },
            'line',
            ...columns.map((name) => ({
              title: name,
              checked: y.includes(name),
              act: () => change({ y: toggled(y, name) }),
            })),
          ]}
        >
          {y.length === 0 ? 'automatic' : y.join(', ')}
          <Icon name="down" class="menu-arrow" />
        </Menu>
      </div>
      {kind !== 'candles' && (
        <Select
          label="Series"
          value={series}
          onValue={(value) => change({ series: value || undefined })}
          choices={[{ value: '', title: 'none' }, ...choices]}
        />
      )}
    </div>
  )
}

type Changes = { readonly [Name in keyof ChartView]: ChartView[Name] | undefined }

/** Automatic choices are absent. */
function chosenView({ view = 'line', x, y, series, scale, averages }: Changes): ChartView {
  return {
    view,
    ...(x !== undefined && { x }),
    ...(y !== undefined && { y }),
    ...(series !== undefined && { series }),
    ...(scale !== undefined && { scale }),
    ...(averages !== undefined && { averages }),
  }
}

/** In the order in which they were chosen: that of open, high, low, close. */
function toggled(names: readonly string[], name: string): readonly string[] | undefined {
  const next = names.includes(name) ? names.filter((other) => other !== name) : [...names, name]
  return next.length === 0 ? undefined : next
}
