/** A uPlot for points: its options, its update when the points change, and its view: zoomed and moved. */
import './language.ts'
import uPlot from 'uplot'
import type { Colours } from './colours.ts'
import { drawLastValues, type LabelFont } from './last-values.ts'
import { type ChartMarks, drawMarks, NO_MARKS } from './marks.ts'
import { Panes } from './panes.ts'
import { type SeriesParts, seriesColour, seriesOptions } from './plot-series.ts'
import type { PointedAt, Points } from './points.ts'
import { drawBreaks, drawVolume, smallestStep } from './shapes.ts'
import { numberLabels, timeTicks } from './ticks.ts'
import { TimeAxis } from './time-axis.ts'
import { followGestures } from './view-gestures.ts'
import { placeText, tagText } from './words.ts'

export interface PlotOptions {
  readonly colours: Colours
  readonly zone: string
  /** Time without points takes no room. */
  readonly isCompressed: boolean
  /** What is in view, in times or numbers of the x axis; everything by default. */
  readonly view?: View | undefined
  readonly font: LabelFont
  /** The crosshair is at this point; undefined when it has left. `isOwn` unless another chart has moved it. */
  readonly onPoint: (at: PointedAt | undefined, isOwn: boolean) => void
  readonly onView: (view: View | undefined) => void
}

export interface View {
  readonly min: number
  readonly max: number
}

const FEWEST_CANDLES = 16
/** Points in the closest view. */
const FEWEST_POINTS = 5

/** As long as this text stays the same, a plot can show other points. */
export function plotShape({ kind, scale, series, isLog }: Points): string {
  return JSON.stringify([kind, scale, isLog, series.map(({ name, role }) => [name, role])])
}

export class Plot {
  readonly #plot: uPlot
  readonly #options: PlotOptions
  readonly #panes: Panes
  #points: Points
  #axis: TimeAxis
  #view: View | undefined
  #isFollowing = false
  #marks = NO_MARKS
  readonly #stopGestures: () => void

  constructor(place: HTMLElement, points: Points, options: PlotOptions) {
    const { colours } = options
    this.#points = points
    this.#options = options
    this.#axis = this.#createAxis(points)
    this.#view = options.view
    const hasVolume = points.series.some(({ role }) => role === 'volume')
    this.#panes = new Panes(hasVolume, points.isLog, points.kind === 'bar')
    this.#plot = new uPlot(
      {
        ...measureSize(place),
        ms: 1,
        padding: [10, points.scale === 'time' ? 0 : 12, 0, points.scale === 'time' ? 10 : 0],
        legend: { show: false },
        cursor: {
          drag: { x: points.scale !== 'places', y: false, setScale: false },
          // On the point, so that lines and dots meet.
          move: (plot, left, top) => [left < 0 ? left : this.#snapped(plot, left), top],
          points: {
            show: points.kind !== 'candles',
            size: 10,
            width: 2,
            stroke: () => colours.surface,
            fill: (plot, index) => seriesColour(this.#points, index - 1, colours) ?? String(plot.series[index]?.stroke),
          },
          hover: { skip: [undefined, null], bias: -1 },
        },
        scales: {
          x: { time: false, range: () => this.#range() },
          y: { range: this.#panes.valueRange, distr: points.isLog ? 3 : 1 },
          ...(hasVolume && { volume: { range: this.#panes.volumeRange } }),
        },
        axes: [this.#xAxis(), this.#yAxis()],
        series: [{}, ...points.series.map((_, index) => seriesOptions(points, index, colours, this.#seriesParts()))],
        hooks: {
          drawClear: [(plot) => drawBreaks(plot, this.#axis.breaks, colours)],
          draw: [(plot) => this.#draw(plot)],
          setCursor: [({ cursor: { idx, left = -1, top = -1 } }) => this.#onCursor(idx, left, top)],
          setSelect: [({ select }) => this.#onSelect(select)],
        },
      },
      this.#table(),
      place,
    )
    this.#stopGestures = followGestures(this.#plot.over, {
      isZoomed: () => this.#view !== undefined,
      zoom: (factor, left) => this.zoom(factor, left),
      move: (pixels) => this.#move(pixels),
      reset: () => this.reset(),
      hasFocus: () => place.contains(document.activeElement),
    })
  }

  /** What was zoomed into stays in view. */
  update(points: Points): void {
    this.#points = points
    this.#axis = this.#createAxis(points)
    this.#plot.setData(this.#table(), true)
  }

  /** Draws these over the points. */
  mark(marks: ChartMarks): void {
    if (this.#marks === marks) return
    this.#marks = marks
    this.#plot.redraw(false)
  }

  resize(place: HTMLElement): void {
    this.#plot.setSize(measureSize(place))
  }

  show(index: number, isShown: boolean): void {
    this.#plot.setSeries(index + 1, { show: isShown })
  }

  /** As if the pointer were there; undefined as if it had left. */
  point(index: number | undefined): void {
    const x = index === undefined ? undefined : this.#plot.data[0][index]
    if (index === undefined || x === undefined) {
      this.#plot.setCursor({ left: -10, top: -10 })
      return
    }
    const [min, max] = this.#range()
    if (x < min || x > max) this.#show(x - (max - min) / 2, x + (max - min) / 2)
    const shown = this.#points.series[this.#points.kind === 'candles' ? 3 : 0]?.drawn[index]
    const top = typeof shown === 'number' ? this.#plot.valToPos(shown, 'y') : 0
    this.#plot.setCursor({ left: this.#plot.valToPos(x, 'x'), top })
  }

  /** Shows the crosshair of another chart, at the last point up to its time: a candle is known by its beginning. */
  follow(time: number | undefined): void {
    const { scale, x } = this.#points
    if (scale !== 'time') return
    const isIn = time !== undefined && time <= (x.at(-1) ?? 0) + smallestStep(x)
    const at = isIn ? this.#plot.data[0][x.findLastIndex((own) => own <= time)] : undefined
    this.#isFollowing = true
    this.#plot.setCursor({ left: at === undefined ? -10 : this.#plot.valToPos(at, 'x'), top: -10 })
    this.#isFollowing = false
  }

  /** The value at a height of the plot, if it is in the pane of values. */
  valueAt(top: number): number | undefined {
    return top > this.#plot.over.clientHeight * this.#panes.share ? undefined : this.#plot.posToVal(top, 'y')
  }

  /** Less than 1 shows less. About the end of the data, or about a place of the plot. */
  zoom(factor: number, left?: number): void {
    const [min, max] = this.#range()
    const centre = left === undefined ? max : this.#plot.posToVal(left, 'x')
    this.#show(centre - (centre - min) * factor, centre + (max - centre) * factor)
  }

  /** By a part of what is in view. */
  shift(part: number): void {
    const [min, max] = this.#range()
    this.#show(min + (max - min) * part, max + (max - min) * part)
  }

  /** Everything. */
  reset(): void {
    this.#setView(undefined)
  }

  get canvas(): HTMLCanvasElement {
    return this.#plot.ctx.canvas
  }

  destroy(): void {
    this.#stopGestures()
    this.#plot.destroy()
  }

  #move(pixels: number): void {
    const [min, max] = this.#range()
    const by = (pixels / this.#plot.over.clientWidth) * (max - min)
    this.#show(min - by, max - by)
  }

  /** A part of everything, in positions; the whole of it is no longer zoomed. */
  #show(min: number, max: number): void {
    if (this.#points.scale === 'places') return
    const [first, last] = this.#wholeRange()
    const least = smallestStep(this.#plot.data[0]) * FEWEST_POINTS
    const width = Math.max(Math.min(least, last - first), max - min)
    const start = Math.min(Math.max(first, min), last - width)
    const isWhole = width >= (last - first) * 0.999
    this.#setView(isWhole ? undefined : { min: this.#toValue(start), max: this.#toValue(start + width) })
  }

  #setView(view: View | undefined): void {
    this.#view = view
    const [min, max] = this.#range()
    this.#plot.setScale('x', { min, max })
    this.#options.onView(view)
  }

  #range(): [number, number] {
    return this.#view === undefined
      ? this.#wholeRange()
      : [this.#toPosition(this.#view.min), this.#toPosition(this.#view.max)]
  }

  /** Room at each end; a few candles stand at the right, where the next ones come. */
  #wholeRange(): [number, number] {
    const { kind, scale, x } = this.#points
    if (scale === 'places') return [-0.5, Math.max(0.5, x.length - 0.5)]
    const positions = this.#positions()
    const [first, last] = [positions[0] ?? 0, positions.at(-1) ?? 1]
    const step = smallestStep(positions)
    if (kind === 'candles') return [Math.min(first - step * 0.75, last - step * FEWEST_CANDLES), last + step * 0.75]
    if (first === last) return [first - step, last + step]
    const hasVolume = this.#points.series.some(({ role }) => role === 'volume')
    return [first - (hasVolume ? step / 2 : 0), last + Math.max(hasVolume ? step / 2 : 0, (last - first) * 0.012)]
  }

  #createAxis({ x, scale }: Points): TimeAxis {
    return new TimeAxis(scale === 'time' ? x : [], this.#options.isCompressed)
  }

  #positions(): number[] {
    const { x, scale } = this.#points
    return scale === 'time' && this.#axis.breaks.length > 0 ? x.map((time) => this.#axis.at(time)) : x
  }

  #toPosition(value: number): number {
    return this.#points.scale === 'time' ? this.#axis.at(value) : value
  }

  #toValue(position: number): number {
    return this.#points.scale === 'time' ? this.#axis.timeAt(position) : position
  }

  #table(): uPlot.AlignedData {
    return [this.#positions(), ...this.#points.series.map(({ drawn }) => drawn)]
  }

  #snapped(plot: uPlot, left: number): number {
    const x = plot.data[0][plot.posToIdx(left)]
    return x === undefined ? left : plot.valToPos(x, 'x')
  }

  #onCursor(index: number | null | undefined, left: number, top: number): void {
    const isAt = typeof index === 'number' && left >= 0
    this.#options.onPoint(isAt ? { index, left, top } : undefined, !this.#isFollowing)
  }

  #onSelect({ left, width }: { left: number; width: number }): void {
    if (width < 4) return
    this.#plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    this.#show(this.#plot.posToVal(left, 'x'), this.#plot.posToVal(left + width, 'x'))
  }

  #draw(plot: uPlot): void {
    const { kind, series, scale } = this.#points
    const { colours, font } = this.#options
    const volume = series.findIndex(({ role }) => role === 'volume')
    if (volume !== -1 && plot.series[volume + 1]?.show !== false)
      drawVolume(plot, volume + 1, kind === 'candles', colours)
    if (scale === 'time' && kind !== 'bar' && kind !== 'scatter') drawLastValues(plot, this.#points, colours, font)
    const toPosition = (time: number) => this.#toPosition(time)
    drawMarks(plot, this.#points, this.#marks, { colours, font, toPosition })
  }

  #seriesParts(): SeriesParts {
    return {
      gaps: (plot, _, first, last, found) => [...found, ...this.#gaps(plot, first, last)],
      share: this.#panes.share,
    }
  }

  /** Lines do not go on where there were no points for long. */
  #gaps(plot: uPlot, first: number, last: number): [number, number][] {
    const xs = plot.data[0]
    return this.#axis.gaps
      .filter((index) => index > first && index <= last)
      .map((index) => [plot.valToPos(xs[index - 1] ?? 0, 'x', true), plot.valToPos(xs[index] ?? 0, 'x', true)])
  }

  #xAxis(): uPlot.Axis {
    const { scale } = this.#points
    const { colours, font, zone } = this.#options
    const common = {
      ...{ stroke: colours.text, font: `${font.size}px ${font.family}`, ticks: { show: false }, gap: 6 },
      ...{ grid: { show: false }, size: font.size + 17 },
    }
    if (scale === 'time') {
      let labels: readonly string[] = []
      return {
        ...common,
        splits: (plot, _, min, max) => {
          const most = plot.bbox.width / devicePixelRatio / (font.size * 8)
          const ticks = timeTicks(this.#axis, min, max, most, zone)
          labels = ticks.map(({ label }) => label)
          return ticks.map(({ at }) => at)
        },
        values: () => [...labels],
      }
    }
    if (scale === 'number') return { ...common, values: (_, ticks) => numberLabels(ticks) }
    return {
      ...common,
      splits: (plot) => this.#places(plot),
      values: (_, ticks) => ticks.map((at) => cut(placeText(this.#points.exactX[at], this.#points))),
    }
  }

  #yAxis(): uPlot.Axis {
    const { colours, font } = this.#options
    let labels: readonly string[] = []
    return {
      side: this.#points.scale === 'time' ? 1 : 3,
      stroke: colours.text,
      font: `${font.size}px ${font.family}`,
      grid: { stroke: colours.line, width: 1 },
      ticks: { show: false },
      gap: 6,
      size: () => 16 + 0.62 * font.size * Math.max(4, this.#widestValue(), ...labels.map(({ length }) => length)),
      splits: (plot, _, min, max) => {
        const ticks = this.#panes.ticks(min, max, plot.bbox.height / devicePixelRatio)
        labels = ticks.map(({ label }) => label)
        return ticks.map(({ at }) => at)
      },
      values: () => [...labels],
      filter: (_, splits) => splits,
    }
  }

  /** Characters of the tag of the last value. */
  #widestValue(): number {
    const { kind, scale, series } = this.#points
    if (scale !== 'time' || kind === 'bar' || kind === 'scatter') return 0
    const shown = series.filter(({ role }) => role === 'value').slice(0, 4)
    return Math.max(0, ...shown.map((one) => tagText(one, undefined).length + 1))
  }

  /** As many names as fit. */
  #places(plot: uPlot): number[] {
    const { exactX } = this.#points
    const longest = Math.max(1, ...exactX.slice(0, 60).map((value) => cut(placeText(value, this.#points)).length))
    const fitting = Math.max(1, Math.floor(plot.bbox.width / devicePixelRatio / (longest * 6.5 + 10)))
    const step = Math.max(1, Math.ceil(exactX.length / fitting))
    return Array.from({ length: Math.ceil(exactX.length / step) }, (_, index) => index * step)
  }
}

function measureSize({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: Math.max(60, clientWidth), height: Math.max(60, clientHeight) }
}

function cut(text: string): string {
  return text.length > 16 ? `${text.slice(0, 15)}…` : text
}
