/** A chart that is drawn: legend, plot, crosshair with the values on the axes; moved by pointer, wheel or keyboard. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { numberText } from '../ui/number.ts'
import { readColours, themeVersion } from './colours.ts'
import { Legend } from './legend.tsx'
import { type ChartMarks, markText } from './marks.ts'
import { savePicture } from './picture.ts'
import { Plot, plotShape, type View } from './plot.ts'
import type { PointedAt, Points } from './points.ts'
import { sharedCrosshair } from './shared-crosshair.ts'
import { compactText } from './ticks.ts'
import { type ChartSettings, Tools } from './tools.tsx'
import { pointText, summarize } from './words.ts'
import { zoneFor, zoneFormats } from './zone.ts'

export interface DrawingProps {
  readonly points: Points
  readonly label: string
  readonly settings: ChartSettings
  readonly onSettings: (settings: ChartSettings) => void
  readonly onTable: () => void
  readonly hasPictures: boolean
  readonly marks: ChartMarks
}

export function Drawing({ points, label, settings, onSettings, onTable, hasPictures, marks }: DrawingProps) {
  const place = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<PointedAt>()
  const [said, setSaid] = useState('')
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set())
  const [view, setView] = useState<View>()
  const shape = plotShape(points)
  const plot = usePlot({ place, points, settings, hidden, view, marks, setAt, setView })
  useEffect(() => {
    setHidden(new Set())
    if (points.scale === 'places') setView(undefined)
  }, [shape])
  const summary = useMemo(
    () => [summarize(points, label), markText(marks)].filter((text) => text !== '').join(' '),
    [points, label, marks],
  )
  const toggle = (index: number) => {
    const next = new Set(hidden)
    if (!next.delete(index)) next.add(index)
    plot.current?.show(index, !next.has(index))
    setHidden(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const act = VIEW_KEYS.get(event.key)
    if (act !== undefined && plot.current !== undefined) {
      event.preventDefault()
      return act(plot.current)
    }
    const to = event.key === 'Escape' ? undefined : movedPoint(at?.index, event.key, points.x.length)
    if (to === undefined && (event.key !== 'Escape' || at === undefined)) return
    event.preventDefault()
    plot.current?.point(to)
    setSaid(to === undefined ? '' : pointText(points, to, hidden))
  }
  const savePng = async () => {
    const element = place.current
    if (element === null || plot.current === undefined) return
    try {
      await savePicture(plot.current.canvas, points, label, element)
    } catch (error) {
      setSaid(`The picture was not saved: ${String(error)}`)
    }
  }
  const pointed = at !== undefined && at.index < points.x.length ? at : undefined
  return (
    <>
      <div class="chart-head">
        <Legend points={points} at={pointed?.index} hidden={hidden} onToggle={toggle} />
        <span class="chart-zone">{zoneName(points)}</span>
        <Tools
          points={points}
          settings={settings}
          onSettings={onSettings}
          isZoomed={view !== undefined}
          onZoom={(factor) => plot.current?.zoom(factor)}
          onReset={() => plot.current?.reset()}
          onPicture={hasPictures ? savePng : undefined}
          onTable={onTable}
        />
      </div>
      <div class="chart-plot">
        <div
          ref={place}
          class={view === undefined ? 'chart-place' : 'chart-place zoomed'}
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
        {pointed !== undefined && plot.current !== undefined && (
          <AxisTags plot={plot.current} points={points} at={pointed} place={place.current} />
        )}
      </div>
    </>
  )
}

/** Of the axis; days and local times have none. */
function zoneName({ scale, xType, zone }: Points): string {
  return scale === 'time' && xType.startsWith('Timestamp') ? zoneFor(xType, zone).replaceAll('_', ' ') : ''
}

interface PlotUse extends Pick<DrawingProps, 'points' | 'settings' | 'marks'> {
  readonly place: { readonly current: HTMLDivElement | null }
  readonly hidden: ReadonlySet<number>
  readonly view: View | undefined
  readonly setAt: (at: PointedAt | undefined) => void
  readonly setView: (view: View | undefined) => void
}

/** Created again for another shape, theme or time zone, before the points are passed to it. */
function usePlot({ place, points, settings, hidden, view, marks, setAt, setView }: PlotUse) {
  const plot = useRef<Plot>(undefined)
  const latest = useRef(points)
  latest.current = points
  const zone = zoneFor(points.xType, points.zone)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const self = {}
    const onPoint = (at: PointedAt | undefined, isOwn: boolean) => {
      setAt(at)
      if (!isOwn || latest.current.scale !== 'time') return
      const time = at === undefined ? undefined : latest.current.x[at.index]
      if (time !== undefined) sharedCrosshair.value = { time, of: self }
      else if (sharedCrosshair.peek()?.of === self) sharedCrosshair.value = undefined
    }
    const { fontSize, fontFamily } = getComputedStyle(element)
    const font = { size: Number.parseFloat(fontSize), family: fontFamily }
    const { isCompressed } = settings
    const made = new Plot(element, points, {
      ...{ colours: readColours(element), zone, isCompressed, font, onPoint, onView: setView },
      view: points.scale === 'places' ? undefined : view,
    })
    made.mark(marks)
    plot.current = made
    for (const index of hidden) made.show(index, false)
    const observer = new ResizeObserver(() => made.resize(element))
    observer.observe(element)
    const unfollow = sharedCrosshair.subscribe((shared) => {
      if (shared?.of !== self) made.follow(shared?.time)
    })
    return () => {
      unfollow()
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [plotShape(points), themeVersion.value, zone, settings.isCompressed])
  // With the legend, in the same frame.
  useLayoutEffect(() => plot.current?.update(points), [points])
  useLayoutEffect(() => plot.current?.mark(marks), [marks])
  return plot
}

/** The time below the crosshair, and the value beside it. */
function AxisTags({
  plot,
  points,
  at,
  place,
}: {
  readonly plot: Plot
  readonly points: Points
  readonly at: PointedAt
  readonly place: HTMLElement | null
}) {
  const over = place?.querySelector<HTMLElement>('.u-over')
  if (!over || points.scale === 'places') return null
  const value = at.top < 0 ? undefined : plot.valueAt(at.top)
  const decimals = points.series[0]?.decimals ?? 0
  const isRight = points.scale === 'time'
  const x = points.x[at.index] ?? 0
  const { weekday, seconds } = zoneFormats(zoneFor(points.xType, points.zone))
  return (
    <div class="chart-tags" aria-hidden="true">
      <span class="chart-tag below" style={{ left: `${over.offsetLeft + at.left}px` }}>
        {points.scale !== 'time'
          ? numberText(x)
          : points.xType === 'Date'
            ? weekday.format(x)
            : `${weekday.format(x)} ${seconds.format(x)}`}
      </span>
      {value !== undefined && (
        <span
          class={isRight ? 'chart-tag right' : 'chart-tag left'}
          style={{
            top: `${over.offsetTop + at.top}px`,
            ...(isRight ? { left: `${over.offsetLeft + over.clientWidth}px` } : { left: `${over.offsetLeft}px` }),
          }}
        >
          {Math.abs(value) >= 1e7 ? compactText(value) : numberText(value.toFixed(decimals), { decimals })}
        </span>
      )}
    </div>
  )
}

const VIEW_KEYS: ReadonlyMap<string, (plot: Plot) => void> = new Map([
  ['+', (plot) => plot.zoom(0.5)],
  ['-', (plot) => plot.zoom(2)],
  ['0', (plot) => plot.reset()],
  ['[', (plot) => plot.shift(-0.25)],
  [']', (plot) => plot.shift(0.25)],
])

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
