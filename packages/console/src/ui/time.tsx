/** Times in the viewer's zone, with UTC when pointed at. */

import { signal } from '@preact/signals'
import { LOCALE } from './locale.ts'
import { numberText } from './number.ts'

export interface TimeProps {
  /** ISO 8601, or milliseconds since the epoch. */
  readonly at: string | number | Date | null | undefined
  /** `relative`: "5 minutes ago"; `age`: "5 min 12 s"; `time`: only the time of day, `precise`: with milliseconds; otherwise date and time. */
  readonly as?: 'relative' | 'age' | 'time' | 'precise' | 'date' | undefined
}

const FORMATS = {
  full: new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' }),
  date: new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' }),
  time: new Intl.DateTimeFormat(LOCALE, { timeStyle: 'medium' }),
  precise: new Intl.DateTimeFormat(LOCALE, {
    hour: 'numeric',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  }),
}
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })

/** One clock for all relative times; it runs while one is shown. */
const now = signal(Date.now())
const TICK_MS = 15_000
setInterval(() => {
  now.value = Date.now()
}, TICK_MS)

const second = signal(Date.now())
setInterval(() => {
  second.value = Date.now()
}, 1000)

export function Time({ at, as }: TimeProps) {
  const date = at === null || at === undefined ? undefined : new Date(at)
  if (date === undefined || Number.isNaN(date.getTime())) return <span class="quiet">–</span>
  const utc = date.toISOString()
  const isPast = as === 'relative' || as === 'age'
  const title = `${utc.slice(0, 19).replace('T', ' ')} UTC${isPast ? `\n${FORMATS.full.format(date)}` : ''}`
  const text =
    as === 'relative'
      ? relative(date.getTime(), Math.max(now.value, Date.now()))
      : as === 'age'
        ? age(Math.max(second.value, Date.now()) - date.getTime())
        : FORMATS[as ?? 'full'].format(date)
  return (
    <time dateTime={utc} title={title}>
      {text}
    </time>
  )
}

function age(milliseconds: number): string {
  return milliseconds < 60_000 ? `${Math.round(milliseconds / 1000)} s` : duration(milliseconds)
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

export function relative(at: number, from: number): string {
  const difference = at - from
  for (const [unit, length] of UNITS)
    if (Math.abs(difference) >= length) return RELATIVE.format(Math.round(difference / length), unit)
  // A time just ahead of the clock of the page counts as now.
  return difference > TICK_MS ? 'in less than a minute' : 'just now'
}

/** Milliseconds as people say them: `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 12 min`, `5 d 2 h`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds < 10 ? numberText(seconds.toFixed(1)) : Math.round(seconds)} s`
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)]
  if (hours === 0) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return days === 0 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`
}
