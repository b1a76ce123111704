/** Hints for texts that are not a value of the type they stand for. */

import { didYouMean } from '../errors/did-you-mean.ts'
import { intervalUnits } from '../types/time-values.ts'
import { type IqlType, isNumber } from '../types/types.ts'
import { readDigits } from '../types/values.ts'

export function literalHint(type: IqlType, text: string): string | undefined {
  switch (type.kind) {
    case 'Interval':
      return unitHint(text)
    case 'Timestamp':
      return zoneHint(text) ?? dateHint(text)
    case 'LocalTimestamp':
    case 'Date':
      return dateHint(text)
    default:
      return undefined
  }
}

/** A text where a number is wanted. */
export function numberHint(type: IqlType, text: string): string | undefined {
  if (!isNumber(type)) return undefined
  const shown = text.length <= 20 ? text : `${text.slice(0, 20)}…`
  return readDigits(text.trim()) === undefined
    ? `'${shown}' is not a number`
    : `a number is written without quotes: ${shown.trim()}`
}

/** The first unit that is none. */
function unitHint(text: string): string | undefined {
  const units = intervalUnits()
  const unknown = (text.match(/[a-z]+/gi) ?? []).find((word) => !units.includes(word.toLowerCase()))
  if (unknown === undefined) return undefined
  return didYouMean(
    unknown,
    units.filter((unit) => unit.length > 2),
  )
}

const ZONED = /^(\d{4}-\d{2}-\d{2}[T ][\d:.]+)\s*([A-Za-z][\w/+-]*)$/

/** A time of a place, such as 2026-11-02 09:30 America/New_York. What an abbreviation means is not certain. */
function zoneHint(text: string): string | undefined {
  const [, time = '', zone = ''] = ZONED.exec(text.trim()) ?? []
  if (zone === '' || /^z$/i.test(zone)) return undefined
  if (/^(?:utc|gmt)$/i.test(zone)) return `write '${time}Z'`
  const name = zone.includes('/') ? zone : 'America/New_York'
  const local = `LOCALTIMESTAMP '${time}' AT TIME ZONE '${name}'`
  return zone.includes('/') ? `write ${local}` : `name the time zone by its place: ${local}`
}

function dateHint(text: string): string | undefined {
  return /^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}/.test(text)
    ? 'write year, month and day with all digits: 2026-01-31'
    : undefined
}
