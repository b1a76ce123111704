/** A chart of a result: lines, bars, scatter or candles, redrawn as its rows change. */
import 'uplot/dist/uPlot.min.css'
import './chart.css'
import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Empty, IconButton } from '../ui/index.ts'
import type { ChartView } from './choose.ts'
import { coloursOf, themeVersion } from './colours.ts'
import { Legend } from './legend.tsx'
import { Plot, shapeOf } from './plot.ts'
import { type ChartSource, type PointedAt, type Points, pointsOf } from './points.ts'
import { ChartTable, Tooltip } from './values.tsx'
import { boundText, pointText, summaryOf } from './words.ts'

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
}

export function Chart({ model, view, label }: ChartProps) {
  const [isTable, setTable] = useState(false)
  const points = usePoints(model, view)
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
        <Empty icon="chart" title="No rows yet" />
      </div>
    )
  const bound = boundText(points)
  return (
    <figure class="chart">
      {isTable ? <ChartTable points={points} label={label} /> : <Drawing points={points} label={label} />}
      <figcaption class="chart-foot">
        {bound !== undefined && <span class="quiet">{bound}</span>}
        <IconButton
          icon={isTable ? 'chart' : 'table'}
          label={isTable ? 'Show the chart' : 'Show the values as a table'}
          size="small"
          onClick={() => setTable(!isTable)}
        />
      </figcaption>
    </figure>
  )
}

/** A chart that takes long to prepare is prepared less often, so that the page stays responsive. */
const REST = 4

function usePoints(model: ChartModel, view: ChartView): Points | string {
  const { view: kind, x, y, series } = view
  const key = JSON.stringify([kind, x, y, series])
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
  const points = pointsOf(model, view)
  const took = performance.now() - now
  kept.current = { model, key, version, points, next: took > 4 ? now + took * (REST + 1) : 0 }
  return points
}

function Drawing({ points, label }: { readonly points: Points; readonly label: string }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(undefined)
  const [at, setAt] = useState<PointedAt>()
  const [said, setSaid] = useState('')
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set())
  const shape = shapeOf(points)
  const theme = themeVersion.value
  // Recreated for another shape or theme, before the points are passed to it.
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const made = new Plot(element, points, coloursOf(element), { onPoint: setAt })
    plot.current = made
    for (const index of hidden) made.show(index, false)
    const observer = new ResizeObserver(() => made.resize(element))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [shape, theme])
  useEffect(() => setHidden(new Set()), [shape])
  useEffect(() => plot.current?.update(points), [points])
  const summary = useMemo(() => summaryOf(points, label), [points, label])
  const toggle = (index: number) => {
    const next = new Set(hidden)
    if (!next.delete(index)) next.add(index)
    plot.current?.show(index, !next.has(index))
    setHidden(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const to = event.key === 'Escape' ? undefined : movedPoint(at?.index, event.key, points.x.length)
    if (to === undefined && (event.key !== 'Escape' || at === undefined)) return
    event.preventDefault()
    plot.current?.point(to)
    setSaid(to === undefined ? '' : pointText(points, to, hidden))
  }
  return (
    <>
      <Legend points={points} at={at?.index} hidden={hidden} onToggle={toggle} />
      <div class="chart-plot">
        <div
          ref={place}
          class="chart-place"
          role="img"
          aria-label={summary}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move from point to point
          tabIndex={0}
          onKeyDown={onKeyDown}
          onBlur={() => plot.current?.point(undefined)}
        />
        <p class="visually-hidden" role="status">
          {said}
        </p>
        {at !== undefined && at.index < points.x.length && <Tooltip points={points} at={at} hidden={hidden} />}
      </div>
    </>
  )
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ['ArrowLeft', -1],
  ['ArrowRight', 1],
  ['PageUp', -10],
  ['PageDown', 10],
  ['Home', Number.NEGATIVE_INFINITY],
  ['End', Number.POSITIVE_INFINITY],
])

/** Undefined for a key that does not move. From nowhere, to the left leads to the last point. */
function movedPoint(from: number | undefined, key: string, size: number): number | undefined {
  const step = STEPS.get(key)
  if (step === undefined) return undefined
  const start = from ?? (step < 0 ? size : -1)
  return Math.max(0, Math.min(size - 1, start + step))
}
