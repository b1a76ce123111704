/** A chart as a PNG: its title and legend, above what is drawn. */
import { saveFile } from '../ui/index.ts'
import { readColours } from './colours.ts'
import type { Points } from './points.ts'
import { valueText } from './words.ts'

const MARGIN = 12
const HEAD = 44

export async function savePicture(
  canvas: HTMLCanvasElement,
  points: Points,
  label: string,
  place: HTMLElement,
): Promise<void> {
  const ratio = devicePixelRatio
  const colours = readColours(place)
  const { fontFamily } = getComputedStyle(place)
  const picture = document.createElement('canvas')
  picture.width = canvas.width
  picture.height = canvas.height + HEAD * ratio
  const context = picture.getContext('2d')
  if (context === null) throw new Error('The browser cannot draw')
  context.fillStyle = colours.surface
  context.fillRect(0, 0, picture.width, picture.height)
  context.drawImage(canvas, 0, HEAD * ratio)
  context.scale(ratio, ratio)
  context.fillStyle = colours.strong
  context.font = `600 13px ${fontFamily}`
  context.fillText(label, MARGIN, 18)
  context.font = `12px ${fontFamily}`
  let left = MARGIN
  for (const [index, series] of points.series.entries()) {
    context.fillStyle = points.kind === 'candles' ? colours.text : (colours.series[index % colours.series.length] ?? '')
    const text = `${series.name} ${points.kind === 'bar' ? '' : valueText(series, undefined)}`
    context.fillText(text, left, 37)
    left += context.measureText(text).width + 16
  }
  const file = await new Promise<Blob | null>((resolve) => picture.toBlob(resolve, 'image/png'))
  if (file === null) throw new Error('The browser could not write the picture')
  saveFile(file, `${label.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'chart'}.png`)
}
