/** Dates and times as spreadsheets write them: detected from the values of a column, and converted to ISO 8601. */
import { DATE, readValue, TIMESTAMP } from 'gatehouse-iql'
import { formatsOfMost, type ValueFormat } from './value-format.ts'

const TIME = String.raw`(?:[ T]+(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d(?:\.\d{1,6})?))?(?: ?(?<half>[AaPp])[Mm])?)?`

const FORMATS: readonly ValueFormat[] = (
  [
    ['YYYY/MM/DD', String.raw`(?<year>\d{4})/(?<month>\d{1,2})/(?<day>\d{1,2})`],
    ['DD.MM.YYYY', String.raw`(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})`],
    ['DD/MM/YYYY', String.raw`(?<day>\d{1,2})/(?<month>\d{1,2})/(?<year>\d{4})`],
    ['MM/DD/YYYY', String.raw`(?<month>\d{1,2})/(?<day>\d{1,2})/(?<year>\d{4})`],
    ['DD-MM-YYYY', String.raw`(?<day>\d{1,2})-(?<month>\d{1,2})-(?<year>\d{4})`],
    ['MM-DD-YYYY', String.raw`(?<month>\d{1,2})-(?<day>\d{1,2})-(?<year>\d{4})`],
  ] as const
).map(([name, date]) => dateFormat(name, new RegExp(`^${date}${TIME}$`)))

export const DATE_FORMATS: readonly string[] = FORMATS.map(({ name }) => name)

export function findDateFormat(name: string): ValueFormat | undefined {
  return FORMATS.find((format) => format.name === name.toUpperCase())
}

/** The formats that every value has: none, one, or two where days and months cannot be distinguished. */
export function detectDateFormats(values: readonly string[]): readonly ValueFormat[] {
  if (values.length === 0) return []
  return FORMATS.filter((format) => values.every((value) => isDate(format.convert(value))))
}

export function dateFormatsOfMost(values: readonly string[]): readonly ValueFormat[] {
  return formatsOfMost(FORMATS, values, ({ convert }, value) => isDate(convert(value)))
}

/** Timestamp as soon as one value has a time. */
export function chooseDateType(format: ValueFormat, values: readonly string[]) {
  return values.every((value) => format.convert(value)?.length === 10) ? DATE : TIMESTAMP
}

function isDate(iso: string | undefined): boolean {
  return iso !== undefined && 'value' in readValue(TIMESTAMP, iso)
}

function dateFormat(name: string, form: RegExp): ValueFormat {
  return {
    name,
    convert(text) {
      const { year = '', month = '', day = '', hour, minute = '', second = '00', half } = form.exec(text)?.groups ?? {}
      if (year === '') return undefined
      const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
      if (hour === undefined) return date
      return `${date}T${toHour24(hour, half)}:${minute}:${second}`
    },
  }
}

/** 12 AM is midnight, 12 PM is noon. */
function toHour24(hour: string, half: string | undefined): string {
  if (half === undefined) return hour.padStart(2, '0')
  const isAfternoon = half.toUpperCase() === 'P'
  return String((Number(hour) % 12) + (isAfternoon ? 12 : 0)).padStart(2, '0')
}
