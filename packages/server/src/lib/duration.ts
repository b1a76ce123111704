/** Times in words, as people write them in files: `10 seconds`, `1 hour`. */

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

export const DURATION = /^(\d{1,9}) (millisecond|second|minute|hour|day)s?$/

/** In milliseconds; undefined if the text is not such a time. */
export function readDuration(text: string): number | undefined {
  const [, count = '', unit] = DURATION.exec(text) ?? []
  const [, milliseconds] = UNITS.find(([name]) => name === unit) ?? []
  return milliseconds === undefined ? undefined : Number(count) * milliseconds
}

/** In the largest unit of which it is a whole number. */
export function writeDuration(milliseconds: number): string {
  const [name, size] = UNITS.find(([, each]) => milliseconds >= each && milliseconds % each === 0) ?? ['millisecond', 1]
  const count = milliseconds / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
