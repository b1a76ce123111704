/** How uPlot draws each series: lines, bars, dots, candles, volume and averages. */
import type uPlot from 'uplot'
import type { Colours } from './colours.ts'
import type { Points } from './points.ts'
import { barPaths, drawCandles } from './shapes.ts'

export interface SeriesParts {
  /** Where lines end. */
  readonly gaps: uPlot.Series.GapsRefiner
  /** The part of the height that values have. */
  readonly share: number
}

const noPaths: uPlot.Series.PathBuilder = () => null

export function seriesOptions(
  points: Points,
  index: number,
  colours: Colours,
  { gaps, share }: SeriesParts,
): uPlot.Series {
  const { name: label = '', role, drawn } = points.series[index] ?? {}
  const colour = seriesColour(points, index, colours) ?? colours.text
  if (role === 'volume') return { label, scale: 'volume', paths: noPaths, points: { show: false } }
  if (role === 'average') return { label, stroke: colour, width: 1.25, gaps, points: { show: false } }
  switch (points.kind) {
    case 'candles': {
      // Drawn with the first of the four, so that averages are above.
      const paths: uPlot.Series.PathBuilder = (plot) => {
        drawCandles(plot, colours)
        return null
      }
      return { label, paths: index === 0 ? paths : noPaths, points: { show: false } }
    }
    case 'bar': {
      const isSigned = points.series.length === 1 && drawn?.some((value) => typeof value === 'number' && value < 0)
      const paths = barPaths(isSigned ? [colours.up, colours.down] : undefined)
      return { label, fill: colour, paths, points: { show: false } }
    }
    case 'scatter':
      return { label, stroke: colour, paths: noPaths, points: { show: true, size: 5, fill: colour, width: 0 } }
    case 'line':
      return {
        label,
        stroke: colour,
        width: 1.75,
        gaps,
        // An area below a single line; several would cover each other.
        ...(points.series.filter((one) => one.role === 'value').length === 1 && { fill: fade(colour, share) }),
        points: { show: ({ data }) => data[0].length === 1, size: 6, fill: colour },
      }
  }
}

/** Averages of candles begin with the first colour, since candles have none of their own. */
export function seriesColour({ kind, series }: Points, index: number, colours: Colours): string | undefined {
  const isOfCandles = kind === 'candles' && series[index]?.role === 'average'
  const offset = isOfCandles ? series.findIndex((one) => one.role === 'average') : 0
  return colours.series[(index - offset) % colours.series.length]
}

function fade(colour: string, share: number): uPlot.Series.Fill {
  return ({ ctx, bbox }) => {
    const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height * share)
    gradient.addColorStop(0, colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.22)'))
    gradient.addColorStop(1, colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0)'))
    return gradient
  }
}
