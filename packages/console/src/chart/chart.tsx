/** A chart of a result: lines, bars, scatter or candles, redrawn as its rows change. */
import 'uplot/dist/uPlot.min.css'
import './chart.css'
import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Empty, IconButton } from '../ui/index.ts'
import type { ChartView } from './choose.ts'
import { Drawing } from './drawing.tsx'
import { type ChartMarks, NO_MARKS } from './marks.ts'
import { buildPoints, type ChartSource, type Points } from './points.ts'
import { type ChartSettings, savedSettings } from './tools.tsx'
import { ChartTable } from './values.tsx'
import { boundText } from './words.ts'

export type { ChartView } from './choose.ts'

/** The model of a grid is one; `version` rises when its rows have changed. */
export interface ChartModel extends ChartSource {
  readonly version: ReadonlySignal<number>
}

export interface ChartProps {
  readonly model: ChartModel
  readonly view: ChartView
  /** What it shows, for screen readers. */
  readonly label: string
  /** The zone that its statement names, by whose clocks the axis is then labelled. */
  readonly zone?: string | undefined
  /** The viewer has changed the scale or the averages; without it, that is forgotten with the chart. */
  readonly onView?: ((view: ChartView) => void) | undefined
  /** Levels and moments that are drawn over it. */
  readonly marks?: ChartMarks | undefined
  /** Whether it can be saved as a picture: not where the page may not save files. */
  readonly hasPictures?: boolean
}

export function Chart({ model, view, label, zone, onView, marks = NO_MARKS, hasPictures = true }: ChartProps) {
  const [isTable, setTable] = useState(false)
  const [settings, setSettings] = useSettings(view, onView)
  const drawn = useMemo(
    (): ChartView => ({ ...view, scale: settings.isLog ? 'log' : 'linear', averages: settings.averages }),
    [view, settings],
  )
  const found = usePoints(model, drawn)
  const points = useMemo(() => (typeof found === 'string' ? found : { ...found, zone }), [found, zone])
  if (typeof points === 'string')
    return (
      <div class="chart">
        <Empty icon="chart" title="Nothing to draw">
          {points}
        </Empty>
      </div>
    )
  if (points.x.length === 0)
    return (
      <div class="chart">
        <Empty icon="chart" title="No rows yet">
          The chart is drawn as soon as the statement returns rows.
        </Empty>
      </div>
    )
  const bound = boundText(points)
  return (
    <figure class="chart">
      {isTable ? (
        <>
          <div class="chart-head">
            <span class="chart-legend" />
            <div class="chart-tools">
              <IconButton icon="chart" label="Show the chart" size="small" onClick={() => setTable(false)} />
            </div>
          </div>
          <ChartTable points={points} label={label} />
        </>
      ) : (
        <Drawing
          points={points}
          label={label}
          settings={settings}
          onSettings={setSettings}
          onTable={() => setTable(true)}
          marks={marks}
          hasPictures={hasPictures}
        />
      )}
      {bound !== undefined && <figcaption class="chart-foot quiet">{bound}</figcaption>}
    </figure>
  )
}

function useSettings(view: ChartView, onView: ChartProps['onView']) {
  const saved = JSON.stringify([view.scale, view.averages])
  const [settings, setSettings] = useState(() => savedSettings(view))
  useEffect(() => setSettings(({ isCompressed }) => ({ ...savedSettings(view), isCompressed })), [saved])
  const change = (changed: ChartSettings) => {
    setSettings(changed)
    const { scale: _, averages: __, ...others } = view
    const { isLog, averages } = changed
    onView?.({ ...others, ...(isLog && { scale: 'log' }), ...(averages.length > 0 && { averages }) })
  }
  return [settings, change] as const
}

/** A chart that takes long to prepare is prepared less often, so that the page stays responsive. */
const REST = 4

function usePoints(model: ChartModel, view: ChartView): Points | string {
  const { view: kind, x, y, series, scale, averages } = view
  const key = JSON.stringify([kind, x, y, series, scale, averages])
  const [, setRound] = useState(0)
  const kept = useRef<{ model: ChartModel; key: string; version: number; next: number; points: Points | string }>(
    undefined,
  )
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const version = model.version.value
  const last = kept.current
  const isSame = last?.model === model && last.key === key
  if (isSame && last.version === version) return last.points
  const now = performance.now()
  if (isSame && now < last.next) {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setRound((round) => round + 1), last.next - now)
    return last.points
  }
  const points = buildPoints(model, view)
  const took = performance.now() - now
  kept.current = { model, key, version, points, next: took > 4 ? now + took * (REST + 1) : 0 }
  return points
}
