/** What is drawn over a chart: levels of values, and moments of time, such as the thresholds and firings of alerts. */
import type uPlot from 'uplot'
import type { Colours } from './colours.ts'
import type { LabelFont } from './last-values.ts'
import type { Points } from './points.ts'

export interface ChartMarks {
  readonly levels: readonly ChartLevel[]
  readonly moments: readonly ChartMoment[]
}

export interface ChartLevel {
  /** The column whose values it is compared with. */
  readonly column: string
  readonly value: number
  readonly label: string
}

export interface ChartMoment {
  /** In milliseconds since the epoch. */
  readonly at: number
  readonly isBeginning: boolean
}

export const NO_MARKS: ChartMarks = { levels: [], moments: [] }

/** More labels would cover the plot. */
const MOST_LABELS = 6

/** `toPosition` is where a time is on the x axis. */
export function drawMarks(
  plot: uPlot,
  points: Points,
  { levels, moments }: ChartMarks,
  {
    colours,
    font,
    toPosition,
  }: { readonly colours: Colours; readonly font: LabelFont; readonly toPosition: (time: number) => number },
): void {
  const shown = levels.filter(({ column }) => isDrawn(points, column))
  if (shown.length === 0 && moments.length === 0) return
  const { ctx, bbox } = plot
  const ratio = devicePixelRatio
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  ctx.font = `${font.size * ratio}px ${font.family}`
  ctx.textBaseline = 'bottom'
  ctx.textAlign = 'left'
  ctx.lineWidth = Math.max(1, Math.round(ratio))
  for (const [index, { value, label }] of shown.entries()) {
    const y = Math.round(plot.valToPos(value, 'y', true)) + 0.5
    ctx.strokeStyle = colours.strong
    ctx.setLineDash([6 * ratio, 4 * ratio])
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
    if (index >= MOST_LABELS) continue
    ctx.fillStyle = colours.strong
    ctx.fillText(label, bbox.left + 6 * ratio, y - 2 * ratio)
  }
  ctx.setLineDash([])
  if (points.scale === 'time') for (const moment of moments) drawMoment(plot, moment, colours, toPosition)
  ctx.restore()
}

/** A triangle at the upper end of a line: filled where something began. */
function drawMoment(
  { ctx, bbox, valToPos }: uPlot,
  { at, isBeginning }: ChartMoment,
  colours: Colours,
  toPosition: (time: number) => number,
): void {
  const ratio = devicePixelRatio
  const x = Math.round(valToPos(toPosition(at), 'x', true)) + 0.5
  if (x < bbox.left || x > bbox.left + bbox.width) return
  const size = 5 * ratio
  ctx.strokeStyle = isBeginning ? colours.down : colours.up
  ctx.fillStyle = isBeginning ? colours.down : colours.surface
  ctx.beginPath()
  ctx.moveTo(x, bbox.top + 2 * size)
  ctx.lineTo(x, bbox.top + bbox.height)
  ctx.globalAlpha = 0.35
  ctx.stroke()
  ctx.globalAlpha = 1
  ctx.beginPath()
  ctx.moveTo(x - size, bbox.top + ratio)
  ctx.lineTo(x + size, bbox.top + ratio)
  ctx.lineTo(x, bbox.top + 2 * size)
  ctx.closePath()
  ctx.fill()
  ctx.stroke()
}

/** A series is called by its column, or by the value that splits the rows. */
function isDrawn({ series }: Points, column: string): boolean {
  const wanted = column.toLowerCase()
  return series.some(
    ({ name, role }) =>
      role === 'value' && (name.toLowerCase() === wanted || name.toLowerCase().startsWith(`${wanted} `)),
  )
}

/** In words, for those who do not see the chart. */
export function markText({ levels, moments }: ChartMarks): string {
  const thresholds = levels.map(({ label, column, value }) => `${label}: ${column} ${value}`)
  const began = moments.filter(({ isBeginning }) => isBeginning).length
  return [...thresholds, ...(began > 0 ? [`began ${began} times`] : [])].join('; ')
}
