/** Lines over the last hour. The names show the newest figures, or those under the pointer. */
import { LOCALE } from '../../ui/locale.ts'
import '../../chart/language.ts'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import '../../chart/chart.css'
import { type Colours, markClass, readColours, themeVersion } from '../../chart/colours.ts'
import { relative } from '../../ui/index.ts'
import { axisLabels, figureText } from './figure-text.ts'
import type { FigureChart, Measure, Point } from './figures.ts'

const HEIGHT = 132
/** The least that is shown, so that the first points are not drawn far apart. */
const SHORTEST_SPAN_S = 60

export function Trend({
  chart: { title, measure, about, lines },
  index,
  points,
}: {
  readonly chart: FigureChart
  /** The index of its figures in the points. */
  readonly index: number
  readonly points: readonly Point[]
}) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [at, setAt] = useState<number>()
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const made = draw(element, lines.length, measure, setAt)
    plot.current = made
    made.setData(plotData(points, index, lines.length))
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(60, element.clientWidth), height: HEIGHT }),
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [themeVersion.value])
  useEffect(() => plot.current?.setData(plotData(points, index, lines.length)), [points])
  const shown = at === undefined ? points.at(-1) : points[at]
  const figures = lines.map(({ name }, line) => ({
    name,
    text: figureText(shown?.figures[index]?.[line], measure, shown?.edges?.[index]?.[line]),
  }))
  const isQuiet = points.every(({ figures: all }) => all[index]?.every((value) => value === undefined) ?? true)
  return (
    <section class="trend" aria-label={title}>
      <header>
        <h3>{title}</h3>
        <span class="quiet">{at === undefined || shown === undefined ? about : relative(shown.at, Date.now())}</span>
      </header>
      <div class="trend-plot">
        <div
          ref={place}
          role="img"
          aria-label={`${title}: ${figures.map(({ name, text }) => `${name} ${text}`).join(', ')}`}
        />
        {points.length > 0 && isQuiet && <p class="trend-none quiet">No data in this period</p>}
      </div>
      <dl class="trend-legend">
        {figures.map(({ name, text }, line) => (
          <div key={name}>
            <dt>
              <span class={markClass(line)} />
              {name}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** A canvas does not inherit the page's font, so it is set here. */
function pageFont(place: HTMLElement): string {
  return getComputedStyle(place).fontFamily
}

function draw(
  place: HTMLElement,
  lines: number,
  measure: Measure,
  onPoint: (index: number | undefined) => void,
): uPlot {
  const colours: Colours = readColours(place)
  const axis = { stroke: colours.text, font: `11px ${pageFont(place)}`, ticks: { show: false }, gap: 6 }
  return new uPlot(
    {
      width: Math.max(60, place.clientWidth),
      height: HEIGHT,
      // The last time on the axis is not cut off.
      padding: [8, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'operations' }, points: { size: 6 } },
      scales: {
        x: { time: true, range: shownSpan },
        y: { range: (_, __, max) => [0, (max ?? 0) > 0 ? max * 1.1 : 1] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 26, space: 80, values: (_, ticks) => ticks.map(clock) },
        {
          ...axis,
          grid: { stroke: colours.line, width: 1 },
          // As wide as its longest label.
          size: (_, labels) => 14 + 6.5 * Math.max(4, ...(labels ?? []).map(({ length }) => length)),
          space: 32,
          values: (_, ticks) => axisLabels(ticks, measure),
        },
      ],
      series: [
        {},
        ...Array.from({ length: lines }, (_, line) => ({
          stroke: colours.series[line % colours.series.length] ?? colours.text,
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: {
        setCursor: [
          ({ cursor: { idx, left } }) => onPoint(typeof idx === 'number' && (left ?? -1) >= 0 ? idx : undefined),
        ],
      },
    },
    [[], ...Array.from({ length: lines }, () => [])] as unknown as uPlot.AlignedData,
    place,
  )
}

/** Up to the newest point: for a single one the library would show the whole day after it. */
function shownSpan({ data: [times] }: uPlot, min: number): [number, number] {
  const last = times.at(-1) ?? Date.now() / 1000
  return [Math.min(times.length > 1 ? min : last, last - SHORTEST_SPAN_S), last]
}

function plotData(points: readonly Point[], index: number, lines: number): uPlot.AlignedData {
  return [
    points.map(({ at }) => at / 1000),
    ...Array.from({ length: lines }, (_, line) => points.map(({ figures }) => figures[index]?.[line] ?? null)),
  ]
}

const CLOCK = new Intl.DateTimeFormat(LOCALE, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

function clock(seconds: number): string {
  return CLOCK.format(seconds * 1000)
}
