/** Times in the words of a definition, such as `1 hour`, as people read them. */
import { LOCALE } from '../../ui/locale.ts'

const PERIODS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

const PERIOD = /^(\d{1,9}) (day|hour|minute|second|millisecond)s?$/

/** In the largest unit of which it is a whole number; other texts stay as they are. */
export function periodText(text: string): string {
  const [, number = '', written] = PERIOD.exec(text) ?? []
  const [, length] = PERIODS.find(([unit]) => unit === written) ?? []
  if (length === undefined) return text
  const milliseconds = Number(number) * length
  const [unit, each] = PERIODS.find(([, size]) => milliseconds >= size && milliseconds % size === 0) ?? [
    'second',
    1_000,
  ]
  return new Intl.NumberFormat(LOCALE, { style: 'unit', unit, unitDisplay: 'long' }).format(milliseconds / each)
}
