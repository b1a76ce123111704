/** A month of a time zone, as instants. */

export interface Month {
  /** Such as 2026-11. */
  readonly name: string
  readonly zone: string
  /** Milliseconds; the end is the start of the next month. */
  readonly start: number
  readonly end: number
}

/** Undefined if it is no month, such as 2026-13. */
export function readMonth(name: string, zone: string): Month | undefined {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name) ?? []
  if (year === undefined || Number(year) < 1970) return undefined
  const [y, m] = [Number(year), Number(month)]
  return { name, zone, start: firstInstant(y, m - 1, zone), end: firstInstant(y, m, zone) }
}

/** When the clocks of the zone read midnight of the first day; `month` counts from 0, and may be 12. */
function firstInstant(year: number, month: number, zone: string): number {
  const midnight = Date.UTC(year, month, 1)
  // With the offset of the instant that the one before has led to.
  const guess = midnight - offsetAt(midnight, zone)
  return midnight - offsetAt(guess, zone)
}

function offsetAt(time: number, zone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  })
  const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - time
}
