/** The chart of a result: its kind and columns are chosen here, and kept with the query. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { View } from '../../../../client/src/index.ts'
import type { GridModel } from '../../grid/model.ts'
import { ErrorNotice, Loading, Menu, Select } from '../../ui/index.ts'
import type { ChartView } from './tabs.ts'

interface ChartProps {
  readonly model: GridModel
  readonly view: ChartView
  readonly label: string
}

type Loaded = { readonly Chart: ComponentType<ChartProps> } | { readonly error: unknown } | undefined

export function ChartPanel({
  model,
  view,
  onView,
  label,
}: {
  readonly model: GridModel
  readonly view: ChartView
  readonly onView: (view: ChartView) => void
  readonly label: string
}) {
  const [loaded, setLoaded] = useState<Loaded>()
  // The library for charts is loaded with the first of them.
  useEffect(() => {
    import('../../chart/chart.tsx').then(
      ({ Chart }) => setLoaded({ Chart: Chart as ComponentType<ChartProps> }),
      (error) => setLoaded({ error }),
    )
  }, [])
  return (
    <div class="query-chart">
      <ChartChoices columns={model.columns.map(({ name }) => name)} view={view} onView={onView} />
      <div class="query-chart-body">
        {loaded === undefined ? (
          <Loading />
        ) : 'error' in loaded ? (
          <ErrorNotice error={loaded.error} title="The chart could not be loaded" />
        ) : (
          <loaded.Chart model={model} view={view} label={label} />
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
  const { view: kind, x = '', y = [], series = '' } = view
  const choices = columns.map((name) => ({ value: name, title: name }))
  const change = (members: Partial<ChartView>) => onView({ ...view, ...members })
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
        <span class="query-chart-label">{kind === 'candles' ? 'open, high, low, close' : 'y'}</span>
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

/** In the order in which they were chosen: that of open, high, low, close. */
function toggled(names: readonly string[], name: string): readonly string[] | undefined {
  const next = names.includes(name) ? names.filter((other) => other !== name) : [...names, name]
  return next.length === 0 ? undefined : next
}
