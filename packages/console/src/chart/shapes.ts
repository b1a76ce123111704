/** Shapes that uPlot does not provide: groups of bars, candles, volume, and lines where sessions begin. */
import type uPlot from 'uplot'
import type { Colours } from './colours.ts'

const WIDEST_BAR = 56
const WIDEST_CANDLE = 18
const LEAST_CANDLE = 3

/** The bars of one series, next to those of the other series that are shown; by sign if `signs` has two colours. */
export function barPaths(signs?: readonly [up: string, down: string]): uPlot.Series.PathBuilder {
  return (plot, index, first, last) => {
    const [up, down] = [new Path2D(), new Path2D()]
    const shown = plot.series.flatMap(({ show }, at) => (at > 0 && show === true ? [at] : []))
    const place = widthOfPlace(plot)
    const group = Math.min(place * 0.72, WIDEST_BAR * devicePixelRatio * shown.length)
    const width = group / shown.length
    const gap = width > 6 * devicePixelRatio ? devicePixelRatio : 0
    const base = plot.valToPos(0, 'y', true)
    for (let at = first; at <= last; at++) {
      const value = plot.data[index]?.[at]
      if (value === null || value === undefined) continue
      const left = plot.valToPos(plot.data[0][at] ?? 0, 'x', true) - group / 2 + shown.indexOf(index) * width
      const top = plot.valToPos(value, 'y', true)
      const radius = Math.min(3 * devicePixelRatio, width / 4, Math.abs(base - top))
      const corners = top < base ? [radius, radius, 0, 0] : [0, 0, radius, radius]
      const path = value < 0 && signs !== undefined ? down : up
      path.roundRect(left + gap, Math.min(top, base), Math.max(1, width - 2 * gap), Math.abs(base - top), corners)
    }
    if (signs === undefined) return { fill: up }
    return {
      fill: new Map([
        [signs[0], up],
        [signs[1], down],
      ]),
    }
  }
}

function widthOfPlace(plot: uPlot): number {
  return Math.abs(plot.valToPos(1, 'x', true) - plot.valToPos(0, 'x', true))
}

/** Candles from the series open, high, low, close; filled in the colour of their direction. */
export function drawCandles(plot: uPlot, colours: Colours): void {
  const [xs, open, high, low, close] = plot.data
  if (open === undefined || high === undefined || low === undefined || close === undefined) return
  const width = widthOfBars(plot)
  const wick = Math.max(1, Math.round(devicePixelRatio))
  const y = (value: number) => Math.round(plot.valToPos(value, 'y', true))
  eachInView(plot, width, (at) => {
    const [o, h, l, c] = [open[at], high[at], low[at], close[at]]
    if (typeof o !== 'number' || typeof h !== 'number' || typeof l !== 'number' || typeof c !== 'number') return
    const { ctx } = plot
    const x = Math.round(plot.valToPos(xs[at] ?? 0, 'x', true))
    ctx.fillStyle = c >= o ? colours.up : colours.down
    ctx.fillRect(x - Math.floor(wick / 2), y(h), wick, Math.max(1, y(l) - y(h)))
    const top = y(Math.max(o, c))
    ctx.fillRect(Math.round(x - width / 2), top, Math.round(width), Math.max(devicePixelRatio, y(Math.min(o, c)) - top))
  })
}

/** The volume of series `index`; in the colour of its candle, or of the text. */
export function drawVolume(plot: uPlot, index: number, isCandles: boolean, colours: Colours): void {
  const volume = plot.data[index]
  const [xs, open, , , close] = plot.data
  if (volume === undefined) return
  const width = widthOfBars(plot)
  const bottom = plot.bbox.top + plot.bbox.height
  plot.ctx.globalAlpha = 0.5
  eachInView(plot, width, (at) => {
    const value = volume[at]
    if (typeof value !== 'number') return
    const isUp = Number(close?.[at]) >= Number(open?.[at])
    plot.ctx.fillStyle = !isCandles ? colours.text : isUp ? colours.up : colours.down
    const top = Math.round(plot.valToPos(value, 'volume', true))
    const left = Math.round(plot.valToPos(xs[at] ?? 0, 'x', true) - width / 2)
    plot.ctx.fillRect(left, top, Math.max(1, Math.round(width)), bottom - top)
  })
  plot.ctx.globalAlpha = 1
}

/** A thin line before each of these points, where time is left out. */
export function drawBreaks(plot: uPlot, breaks: readonly number[], colours: Colours): void {
  const { ctx, bbox } = plot
  const xs = plot.data[0]
  ctx.save()
  ctx.strokeStyle = colours.line
  ctx.lineWidth = Math.max(1, Math.round(devicePixelRatio))
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const index of breaks) {
    const middle = ((xs[index - 1] ?? 0) + (xs[index] ?? 0)) / 2
    const x = Math.round(plot.valToPos(middle, 'x', true)) + 0.5
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

function eachInView(plot: uPlot, width: number, draw: (index: number) => void): void {
  const { ctx, bbox } = plot
  const xs = plot.data[0]
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (let at = 0; at < xs.length; at++) {
    const x = plot.valToPos(xs[at] ?? 0, 'x', true)
    if (x >= bbox.left - width && x <= bbox.left + bbox.width + width) draw(at)
  }
  ctx.restore()
}

/** Of candles and volume, in pixels of the canvas. Few candles far apart are not thinner than can be seen. */
function widthOfBars(plot: uPlot): number {
  const xs = plot.data[0]
  const step = plot.valToPos(smallestStep(xs), 'x', true) - plot.valToPos(0, 'x', true)
  const visible = Math.min(LEAST_CANDLE * devicePixelRatio, (plot.bbox.width / Math.max(1, xs.length)) * 0.7)
  return Math.max(devicePixelRatio, visible, Math.min(step * 0.7, WIDEST_CANDLE * devicePixelRatio))
}

/** Of regular periods, of which some may be missing, it is the length. */
export function smallestStep(xs: ArrayLike<number>): number {
  let smallest = Number.POSITIVE_INFINITY
  for (let at = 1; at < xs.length; at++) {
    const step = (xs[at] ?? 0) - (xs[at - 1] ?? 0)
    if (step > 0 && step < smallest) smallest = step
  }
  return Number.isFinite(smallest) ? smallest : 60_000
}
