/** The last value of each line, or the last close: a dashed line across the plot, and a tag on the axis. */
import type uPlot from 'uplot'
import type { Colours } from './colours.ts'
import type { Points } from './points.ts'
import { placeAt, tagText } from './words.ts'

/** More tags would cover the axis. */
const MOST_TAGS = 4

interface Tag {
  readonly y: number
  readonly text: string
  readonly colour: string
}

/** The type of labels: its size in pixels, and its family as in CSS. */
export interface LabelFont {
  readonly size: number
  readonly family: string
}

export function drawLastValues(plot: uPlot, points: Points, colours: Colours, { size, family }: LabelFont): void {
  const tags = placeTags(plot, points, colours)
  if (tags.length === 0 || tags.length > MOST_TAGS) return
  const { ctx, bbox } = plot
  const ratio = devicePixelRatio
  const [right, height] = [bbox.left + bbox.width, (size + 6) * ratio]
  ctx.save()
  ctx.font = `600 ${size * ratio}px ${family}`
  ctx.textBaseline = 'middle'
  ctx.textAlign = 'left'
  for (const { y, colour } of tags) {
    ctx.strokeStyle = colour
    ctx.globalAlpha = 0.7
    ctx.lineWidth = Math.max(1, Math.round(ratio))
    ctx.setLineDash([3 * ratio, 3 * ratio])
    ctx.beginPath()
    ctx.moveTo(bbox.left, Math.round(y) + 0.5)
    ctx.lineTo(right, Math.round(y) + 0.5)
    ctx.stroke()
  }
  ctx.globalAlpha = 1
  let free = Number.NEGATIVE_INFINITY
  for (const { y, text, colour } of [...tags].sort((a, b) => a.y - b.y)) {
    const top = Math.max(y - height / 2, free)
    free = top + height + ratio
    ctx.fillStyle = colour
    ctx.beginPath()
    ctx.roundRect(right + ratio, top, ctx.measureText(text).width + 10 * ratio, height, 3 * ratio)
    ctx.fill()
    ctx.fillStyle = colours.surface
    ctx.fillText(text, right + 6 * ratio, top + height / 2 + ratio / 2)
  }
  ctx.restore()
}

function placeTags(plot: uPlot, { kind, series }: Points, colours: Colours): Tag[] {
  const values = series.flatMap((one, index) => (one.role === 'value' ? [{ ...one, index }] : []))
  const { top, height } = plot.bbox
  return (kind === 'candles' ? values.slice(3) : values).flatMap((one) => {
    const at = placeAt(one)
    const value = one.drawn[at]
    if (typeof value !== 'number' || plot.series[one.index + 1]?.show === false) return []
    const y = plot.valToPos(value, 'y', true)
    if (y < top || y > top + height) return []
    const isUp = value >= (series[0]?.drawn[at] ?? value)
    const colour =
      kind === 'candles' ? (isUp ? colours.up : colours.down) : colours.series[one.index % colours.series.length]
    return [{ y, text: tagText(one, at), colour: colour ?? colours.text }]
  })
}
