/** When a delivery that failed is tried again. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Then each hour, for a day. */
const FIRST_DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE]
const HOURLY = 24
/** So that receivers that come back are not called by all at once. */
const SPREAD = 0.1

/** In how many milliseconds, after so many attempts; undefined: not any more. */
export function nextDelay(attempts: number, retryAfterMs = 0, random = Math.random): number | undefined {
  if (attempts > FIRST_DELAYS.length + HOURLY) return undefined
  const delay = FIRST_DELAYS[attempts - 1] ?? HOUR
  return Math.max(delay * (1 - SPREAD + 2 * SPREAD * random()), retryAfterMs)
}
