/** A uPlot for points: its options, and its update when the points change. */
import './language.ts'
import uPlot from 'uplot'
import type { Colours } from './colours.ts'
import type { PointedAt, Points } from './points.ts'
import { barPaths, drawCandles, smallestStep } from './shapes.ts'
import { numberLabels, placeText, timeLabels } from './words.ts'

export interface PlotEvents {
  /** The pointer is at this point; undefined when it has left. */
  readonly onPoint: (at: PointedAt | undefined) => void
}

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'

const FEWEST_CANDLES = 16

/** As long as this text stays the same, a plot can show other points. */
export function shapeOf({ kind, scale, series }: Points): string {
  return JSON.stringify([kind, scale, series.map(({ name }) => name)])
}

export class Plot {
  readonly #plot: uPlot
  #points: Points
  #isZoomed = false

  constructor(place: HTMLElement, points: Points, colours: Colours, events: PlotEvents) {
    this.#points = points
    const { width, height } = sizeOf(place)
    this.#plot = new uPlot(
      {
        width,
        height,
        ms: 1,
        // Half of the last label of a time axis stands beyond its point.
        padding: [8, points.scale === 'time' ? 28 : 12, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: points.scale !== 'places', y: false }, points: { size: 7, width: 2 } },
        scales: { x: this.#xScale(), y: { range: yRange(points) } },
        axes: [this.#xAxis(colours), yAxis(colours)],
        series: [{}, ...points.series.map((_, index) => seriesOptions(points, index, colours))],
        hooks: {
          draw: points.kind === 'candles' ? [(plot) => drawCandles(plot, colours)] : [],
          setCursor: [
            ({ cursor: { idx, left = -1 } }) =>
              events.onPoint(typeof idx === 'number' && left >= 0 ? { index: idx, left } : undefined),
          ],
          setSelect: [
            ({ select }) => {
              this.#isZoomed = select.width > 0
            },
          ],
        },
      },
      tableOf(points),
      place,
    )
    // uPlot itself shows everything again.
    this.#plot.over.addEventListener('dblclick', () => {
      this.#isZoomed = false
    })
  }

  /** What was zoomed into stays in view. */
  update(points: Points): void {
    this.#points = points
    const { min, max } = this.#plot.scales.x ?? {}
    const keeps = this.#isZoomed && typeof min === 'number' && typeof max === 'number'
    this.#plot.setData(tableOf(points), !keeps)
    if (keeps) this.#plot.setScale('x', { min, max })
  }

  resize(place: HTMLElement): void {
    this.#plot.setSize(sizeOf(place))
  }

  show(index: number, isShown: boolean): void {
    this.#plot.setSeries(index + 1, { show: isShown })
  }

  /** As if the pointer were there; undefined as if it had left. */
  point(index: number | undefined): void {
    const x = index === undefined ? undefined : this.#points.x[index]
    const isPoint = x !== undefined && x !== null
    this.#plot.setCursor(isPoint ? { left: this.#plot.valToPos(x, 'x'), top: 0 } : { left: -10, top: -10 })
  }

  destroy(): void {
    this.#plot.destroy()
  }

  #xScale(): uPlot.Scale {
    const { kind, scale } = this.#points
    if (scale === 'places') return { time: false, range: (plot) => [-0.5, Math.max(0.5, plot.data[0].length - 0.5)] }
    if (kind !== 'candles') return { time: scale === 'time' }
    // Room at each end; a few candles stand at the right, where the next ones come.
    return {
      time: true,
      range: (plot, min, max) => {
        const step = smallestStep(plot.data[0])
        return this.#isZoomed
          ? [min, max]
          : [Math.min(min - step * 0.75, max - step * FEWEST_CANDLES), max + step * 0.75]
      },
    }
  }

  #xAxis(colours: Colours): uPlot.Axis {
    const { scale } = this.#points
    const common = { stroke: colours.text, font: FONT, grid: { show: false }, ticks: { show: false }, gap: 6 }
    if (scale === 'time')
      return { ...common, size: 40, space: 84, values: (_, ticks, __, ___, step) => timeLabels(ticks, step) }
    if (scale === 'number') return { ...common, size: 28, values: (_, ticks) => numberLabels(ticks) }
    return {
      ...common,
      size: 28,
      splits: (plot) => this.#places(plot),
      values: (_, ticks) => ticks.map((at) => cut(placeText(this.#points.exactX[at], this.#points.xType))),
    }
  }

  /** As many names as fit. */
  #places(plot: uPlot): number[] {
    const { exactX, xType } = this.#points
    const longest = Math.max(1, ...exactX.slice(0, 60).map((value) => cut(placeText(value, xType)).length))
    const fitting = Math.max(1, Math.floor(plot.bbox.width / devicePixelRatio / (longest * 6.5 + 10)))
    const step = Math.max(1, Math.ceil(exactX.length / fitting))
    return Array.from({ length: Math.ceil(exactX.length / step) }, (_, index) => index * step)
  }
}

function seriesOptions({ kind, series }: Points, index: number, colours: Colours): uPlot.Series {
  const colour = colours.series[index % colours.series.length] ?? colours.text
  const label = series[index]?.name ?? ''
  switch (kind) {
    case 'candles':
      return { label, paths: () => null, points: { show: false } }
    case 'bar':
      return { label, fill: colour, paths: barPaths(), points: { show: false } }
    case 'scatter':
      return { label, stroke: colour, paths: () => null, points: { show: true, size: 5, fill: colour, width: 0 } }
    case 'line':
      return {
        label,
        stroke: colour,
        width: 1.75,
        // An area below a single line; several would cover each other.
        ...(series.length === 1 && { fill: fade(colour) }),
        points: { show: ({ data }) => data[0].length === 1, size: 6, fill: colour },
      }
  }
}

function fade(colour: string): uPlot.Series.Fill {
  return ({ ctx, bbox }) => {
    const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height)
    gradient.addColorStop(0, colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.22)'))
    gradient.addColorStop(1, colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0)'))
    return gradient
  }
}

function yRange({ kind }: Points): uPlot.Scale.Range {
  return (_, min, max) => {
    if (min === null || max === null) return [0, 1]
    if (kind === 'bar') return [Math.min(0, min * 1.08), Math.max(0, max * 1.08) || 1]
    const room = (max - min || Math.abs(max) * 0.02 || 1) * 0.08
    return [min - room, max + room]
  }
}

function yAxis(colours: Colours): uPlot.Axis {
  return {
    stroke: colours.text,
    font: FONT,
    grid: { stroke: colours.line, width: 1 },
    ticks: { show: false },
    gap: 6,
    space: 36,
    size: (_, values) => 16 + 6.6 * Math.max(2, ...(values ?? []).map(({ length }) => length)),
    values: (_, ticks) => numberLabels(ticks),
  }
}

function tableOf({ x, series }: Points): uPlot.AlignedData {
  return [x, ...series.map(({ drawn }) => drawn)]
}

function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: Math.max(60, clientWidth), height: Math.max(60, clientHeight) }
}

function cut(text: string): string {
  return text.length > 16 ? `${text.slice(0, 15)}…` : text
}
