/** Simple moving averages. */
import type { Series } from './points.ts'

/** The mean of the last `length` values at each point; none before there are as many. */
export function averageOf({ drawn, decimals }: Series, length: number): Series {
  const means: (number | undefined)[] = []
  const exact: (string | undefined)[] = []
  const last: number[] = []
  let sum = 0
  for (const [index, value] of drawn.entries()) {
    if (typeof value === 'number') {
      last.push(value)
      sum += value
      if (last.length > length) sum -= last.shift() ?? 0
    }
    const mean = last.length === length && typeof value === 'number' ? sum / length : undefined
    means[index] = mean
    exact[index] = mean?.toFixed(decimals)
  }
  return { name: `MA ${length}`, role: 'average', decimals, drawn: means, exact }
}
