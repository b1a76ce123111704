/** Dates and time spans in streaming messages: ISO 8601 in UTC, and `[d.]hh:mm:ss[.f]`. */

let last = { milliseconds: 0, text: '1970-01-01T00:00:00Z' }

/** `2026-11-15T00:26:00Z`, with a fraction only if it is not zero. Consecutive calls are often for the same time. */
export function formatDateTime(milliseconds: number): string {
  if (milliseconds !== last.milliseconds) {
    const text = new Date(milliseconds).toISOString()
    last = { milliseconds, text: text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text.replace(/0+Z$/, 'Z') }
  }
  return last.text
}

/** `00:00:35`, `1.02:03:04.5`; `fraction` is the minimum number of decimals. */
export function formatTimeSpan(milliseconds: number, fraction = 0): string {
  const whole = Math.max(0, Math.round(milliseconds))
  const days = Math.floor(whole / DAY)
  const clock = [
    Math.floor((whole % DAY) / HOUR),
    Math.floor((whole % HOUR) / MINUTE),
    Math.floor((whole % MINUTE) / 1000),
  ]
  const digits = String(whole % 1000)
    .padStart(3, '0')
    .replace(/0+$/, '')
    .padEnd(fraction, '0')
  const time = clock.map((part) => String(part).padStart(2, '0')).join(':')
  return `${days === 0 ? '' : `${days}.`}${time}${digits === '' ? '' : `.${digits}`}`
}

/** Undefined if the text is not a time span. */
export function parseTimeSpan(text: string): number | undefined {
  const parts = TIME_SPAN.exec(text)?.groups
  if (parts === undefined) return undefined
  const { days = '0', hours, minutes, seconds, fraction = '' } = parts
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  return Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * 1000 + milliseconds
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TIME_SPAN =
  /^(?:(?<days>\d{1,6})\.)?(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d):(?<seconds>[0-5]\d)(?:\.(?<fraction>\d{1,7}))?$/
