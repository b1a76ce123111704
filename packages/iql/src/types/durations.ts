/** Durations as a person would write them. */
import { MICROS_PER_DAY } from './time-values.ts'
import type { Interval } from './types.ts'

const UNITS: readonly (readonly [micros: bigint, name: string])[] = [
  [MICROS_PER_DAY, 'day'],
  [3_600_000_000n, 'hour'],
  [60_000_000n, 'minute'],
  [1_000_000n, 'second'],
  [1n, 'microsecond'],
]

/** '2 years', '1 month 12 hours': as a person would write it. */
export function writeDuration({ months, micros }: Interval): string {
  const parts = [amount(months / 12n, 'year'), amount(months % 12n, 'month')]
  let rest = micros
  for (const [length, name] of UNITS) {
    parts.push(amount(rest / length, name))
    rest %= length
  }
  return parts.filter((part) => part !== '').join(' ')
}

function amount(count: bigint, unit: string): string {
  return count === 0n ? '' : `${count} ${unit}${count === 1n ? '' : 's'}`
}
