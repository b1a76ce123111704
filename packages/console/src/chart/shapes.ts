/** Shapes that uPlot does not provide: groups of bars, and candles. */
import type uPlot from 'uplot'
import type { Colours } from './colours.ts'

const WIDEST_BAR = 56
const WIDEST_CANDLE = 18

/** The bars of one series, next to those of the other series that are shown. */
export function barPaths(): uPlot.Series.PathBuilder {
  return (plot, index, first, last) => {
    const fill = new Path2D()
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
      fill.roundRect(left + gap, Math.min(top, base), Math.max(1, width - 2 * gap), Math.abs(base - top), corners)
    }
    return { fill }
  }
}

function widthOfPlace(plot: uPlot): number {
  return Math.abs(plot.valToPos(1, 'x', true) - plot.valToPos(0, 'x', true))
}

/** Candles from the series open, high, low, close; filled in the colour of their direction. */
export function drawCandles(plot: uPlot, colours: Colours): void {
  const [xs, open, high, low, close] = plot.data
  if (open === undefined || high === undefined || low === undefined || close === undefined) return
  const { ctx, bbox } = plot
  const ratio = devicePixelRatio
  const step = plot.valToPos(smallestStep(xs), 'x', true) - plot.valToPos(0, 'x', true)
  const width = Math.max(ratio, Math.min(step * 0.7, WIDEST_CANDLE * ratio))
  const wick = Math.max(1, Math.round(ratio))
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (let at = 0; at < xs.length; at++) {
    const [o, h, l, c] = [open[at], high[at], low[at], close[at]]
    if (typeof o !== 'number' || typeof h !== 'number' || typeof l !== 'number' || typeof c !== 'number') continue
    const x = Math.round(plot.valToPos(xs[at] ?? 0, 'x', true))
    if (x < bbox.left - width || x > bbox.left + bbox.width + width) continue
    const y = (value: number) => Math.round(plot.valToPos(value, 'y', true))
    ctx.fillStyle = c >= o ? colours.up : colours.down
    ctx.fillRect(x - Math.floor(wick / 2), y(h), wick, Math.max(1, y(l) - y(h)))
    const top = y(Math.max(o, c))
    ctx.fillRect(Math.round(x - width / 2), top, Math.round(width), Math.max(ratio, y(Math.min(o, c)) - top))
  }
  ctx.restore()
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
