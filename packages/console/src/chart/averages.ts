/** Simple moving averages. */

export interface Average {
  readonly drawn: (number | undefined)[]
  /** With the decimals of the values. */
  readonly exact: (string | undefined)[]
}

/** The mean of the last `length` values at each point; none before there are as many. */
export function movingAverage(values: readonly unknown[], length: number, decimals: number): Average {
  const drawn: (number | undefined)[] = []
  const exact: (string | undefined)[] = []
  const last: number[] = []
  let sum = 0
  for (const [index, value] of values.entries()) {
    if (typeof value === 'number') {
      last.push(value)
      sum += value
      if (last.length > length) sum -= last.shift() ?? 0
    }
    const mean = last.length === length && typeof value === 'number' ? sum / length : undefined
    drawn[index] = mean
    exact[index] = mean?.toFixed(decimals)
  }
  return { drawn, exact }
}
