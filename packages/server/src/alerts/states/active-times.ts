/** When deliveries may leave: hours of days, by the clock of a zone. */
import { type ActiveTime, type AlertDefinition, DAYS, type Day } from '../../store/alerts/alert.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60
/** The clock of the zone may be changed meanwhile: it is asked again. */
const LONGEST_WAIT_MINUTES = 5

/** How many milliseconds it is until deliveries may leave, or until that is to be asked again; 0: they may. */
export function untilActive({ active, zone }: Pick<AlertDefinition, 'active' | 'zone'>, now: number): number {
  if (active.length === 0) return 0
  const local = readClock(zone, now)
  if (isActive(active, local)) return 0
  const waits = active.map(({ from }) => (from - local.minutes + DAY_MINUTES) % DAY_MINUTES)
  return Math.max(1, Math.min(...waits, LONGEST_WAIT_MINUTES)) * MINUTE_MS - (now % MINUTE_MS)
}

interface LocalTime {
  readonly day: number
  readonly minutes: number
}

function isActive(times: readonly ActiveTime[], { day, minutes }: LocalTime): boolean {
  return times.some(({ days, from, to }) => {
    const isOn = (weekday: number) => days.length === 0 || days.includes(dayAt(weekday))
    if (from < to) return isOn(day) && minutes >= from && minutes < to
    // It began yesterday.
    return (isOn(day) && minutes >= from) || (isOn(day - 1) && minutes < to)
  })
}

function dayAt(weekday: number): Day {
  return DAYS[(weekday + DAYS.length) % DAYS.length] ?? 'mon'
}

const CLOCKS = new Map<string, Intl.DateTimeFormat>()
const MOST_CLOCKS = 1000

function readClock(zone: string, now: number): LocalTime {
  let clock = CLOCKS.get(zone)
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    if (CLOCKS.size < MOST_CLOCKS) CLOCKS.set(zone, clock)
  }
  const parts = new Map(clock.formatToParts(now).map(({ type, value }) => [type, value]))
  const day = DAYS.findIndex((name) => isDay(name, parts.get('weekday')))
  return { day, minutes: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) }
}

function isDay(name: Day, shown = ''): boolean {
  return shown.toLowerCase() === name
}
