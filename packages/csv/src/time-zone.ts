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
  const offsetOf = localOffsets(zone)
  return {
    name: format === undefined ? zone : `${format.name} ${zone}`,
    convert(text) {
      const iso = format === undefined ? text : format.convert(text)
      const [, year, month, day, hour = '00', minute = '00', rest = ':00'] = (iso && LOCAL.exec(iso)) || []
      if (iso === undefined || year === undefined) return iso
      const minutes = offsetOf(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)))
      const size = Math.abs(minutes)
      const two = (part: number) => String(part).padStart(2, '0')
      const sign = minutes < 0 ? '-' : '+'
      return `${year}-${month}-${day}T${hour}:${minute}${rest}${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`
    },
  }
}

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
    const read = Date.UTC(year, part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
    return Math.round((read - instant) / MINUTE)
  }
  const known = new Map<number, number>()
  return (local) => {
    const found = known.get(local)
    if (found !== undefined) return found
    const [before, after] = [offsetAt(local - DAY), offsetAt(local + DAY)]
    const isAfter = offsetAt(local - after * MINUTE) === after
    const offset = isAfter ? after : before
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(local, offset)
    return offset
  }
}
