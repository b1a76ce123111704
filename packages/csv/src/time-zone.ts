/** Times of a file that are those of clocks in a time zone: converted to UTC. */
import type { ValueFormat } from './value-format.ts'

/** A time without a zone, in ISO 8601. */
const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(:\d\d(?:\.\d{1,6})?)?)?$/

export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** The format of timestamps, whose times without a zone are those of this one. */
export function inZone(zone: string, format?: ValueFormat): ValueFormat {
  const offsetAt = localOffsets(zone)
  return {
    name: format === undefined ? zone : `${format.name} ${zone}`,
    convert(text) {
      const iso = format === undefined ? text : format.convert(text)
      const [, year, month, day, hour = '00', minute = '00', rest = ':00'] = (iso && LOCAL.exec(iso)) || []
      if (iso === undefined || year === undefined) return iso
      const minutes = offsetAt(utcMillis(Number(year), Number(month), Number(day), Number(hour), Number(minute)))
      const size = Math.abs(minutes)
      const two = (part: number) => String(part).padStart(2, '0')
      const sign = minutes < 0 ? '-' : '+'
      return `${year}-${month}-${day}T${hour}:${minute}${rest}${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`
    },
  }
}

/** Microseconds of a time that clocks of the zone read, as if it were UTC, to those of UTC. */
export function toUtc(zone: string): (local: bigint) => bigint {
  const offsetAt = localOffsets(zone)
  return (local) => {
    const minute = Math.floor(Number(local / 1000n) / MINUTE) * MINUTE
    return local - BigInt(offsetAt(minute)) * MICROS_PER_MINUTE
  }
}

const MICROS_PER_MINUTE = 60_000_000n
const MINUTE = 60_000
const DAY = 86_400_000
const MOST_KNOWN = 10_000

/**
 * Minutes ahead of UTC at what a clock of the zone reads, given as if it were UTC. Times that clocks skip have the offset before, times that
 * they repeat that after, as in `AT TIME ZONE`.
 */
function localOffsets(zone: string): (local: number) => number {
  const clock = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
    era: 'short',
  })
  const offsetAt = (instant: number): number => {
    const parts = new Map(clock.formatToParts(instant).map(({ type, value }) => [type, value]))
    const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name))
    const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year')
    const read = utcMillis(year, part('month'), part('day'), part('hour'), part('minute'), part('second'))
    return Math.round((read - instant) / MINUTE)
  }
  const ofDay = remembered((day) => {
    const [before, after] = [offsetAt((day - 1) * DAY), offsetAt((day + 2) * DAY)]
    return before === after ? before : undefined
  })
  const ofTime = remembered((local) => {
    const [before, after] = [offsetAt(local - DAY), offsetAt(local + DAY)]
    return offsetAt(local - after * MINUTE) === after ? after : before
  })
  // Asking `Intl` takes some microseconds, and on most days clocks do not change.
  return (local) => ofDay(Math.floor(local / DAY)) ?? ofTime(local) ?? 0
}

/** `Date.UTC` takes the years 0 to 99 as those of the 20th century. */
function utcMillis(year: number, month: number, day: number, hour: number, minute: number, second = 0): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000
}

function remembered(compute: (key: number) => number | undefined): (key: number) => number | undefined {
  const known = new Map<number, number | undefined>()
  return (key) => {
    if (known.has(key)) return known.get(key)
    if (known.size >= MOST_KNOWN) known.clear()
    const value = compute(key)
    known.set(key, value)
    return value
  }
}
