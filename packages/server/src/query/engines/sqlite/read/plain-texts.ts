/**
 * The texts of decimals and times whose stored integers are safe numbers: for PostgreSQL's protocol, whose rows are read without bigints
 * where their values allow it.
 */
import { dateDigits, type IqlType, isWide, MAX_DATE, MIN_DATE } from 'gatehouse-iql'

/** Undefined for a value that has to be written in another way. */
type PlainText = (raw: number) => string | undefined

export function plainText(type: IqlType): PlainText | undefined {
  switch (type.kind) {
    case 'Decimal':
      return isWide(type) ? undefined : decimalText(type.scale)
    case 'Timestamp':
      return momentText('Z')
    case 'LocalTimestamp':
      return momentText('')
    case 'Date':
      return dateText()
    case 'Time':
      return timeText
    default:
      return undefined
  }
}

function decimalText(scale: number): PlainText {
  if (scale === 0) return String
  return (raw) => {
    const digits = String(Math.abs(raw)).padStart(scale + 1, '0')
    const point = digits.length - scale
    return `${raw < 0 ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
  }
}

const [FIRST_DAY, LAST_DAY] = [Number(MIN_DATE), Number(MAX_DATE)]
const MICROS_PER_DAY = 86_400_000_000

/** Rows that are read together are often of one day. */
function dateText(): PlainText {
  let known = Number.NaN
  let text = ''
  return (days) => {
    if (days === known) return text
    if (days < FIRST_DAY || days > LAST_DAY) return undefined
    const digits = String(dateDigits(days)).padStart(8, '0')
    known = days
    text = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`
    return text
  }
}

function momentText(end: string): PlainText {
  const writeDate = dateText()
  return (micros) => {
    const days = Math.floor(micros / MICROS_PER_DAY)
    const date = writeDate(days)
    return date === undefined ? undefined : `${date}T${timeText(micros - days * MICROS_PER_DAY)}${end}`
  }
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

function timeText(micros: number): string {
  const seconds = Math.floor(micros / 1e6)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const text = `${TWO_DIGITS[hours]}:${TWO_DIGITS[minutes - hours * 60]}:${TWO_DIGITS[seconds - minutes * 60]}`
  const fraction = micros - seconds * 1e6
  if (fraction === 0) return text
  let digits = String(1e6 + fraction)
  while (digits.endsWith('0')) digits = digits.slice(0, -1)
  return `${text}.${digits.slice(1)}`
}
