/** Intervals of other dialects: 5m, 1 DAY, 2h. */

const UNITS: ReadonlyMap<string, string> = new Map([
  ['s', 'second'],
  ['m', 'minute'],
  ['min', 'minute'],
  ['h', 'hour'],
  ['hr', 'hour'],
  ['d', 'day'],
  ['w', 'week'],
  ['mo', 'month'],
  ['y', 'year'],
])

const INTERVAL_WORDS = /^(\d+)\s*(second|minute|hour|day|week|month|year|min|hr|mo|[smhdwy])s?$/i

/** 5 minutes; undefined if it is no interval. */
export function readInterval(text: string): string | undefined {
  const [, count, unit = ''] = INTERVAL_WORDS.exec(text) ?? []
  if (count === undefined) return undefined
  const name = UNITS.get(unit.toLowerCase()) ?? unit.toLowerCase()
  return `${count} ${name}${count === '1' ? '' : 's'}`
}
