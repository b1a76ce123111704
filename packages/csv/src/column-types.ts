/** The types of CSV columns: guessed from values, or read from their names. */
import {
  BOOLEAN,
  COLUMN_TYPES,
  DATE,
  DECIMAL_DIGITS,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  readValue,
  SHORT_DIGITS,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from 'gatehouse-iql'
import { chooseDateType, dateFormatsOfMost, detectDateFormats } from './date-formats.ts'
import { detectNumberFormats, isWrittenAs, numberFormatsOfMost } from './number-formats.ts'
import type { ValueFormat } from './value-format.ts'

export interface Guess {
  readonly type: IqlType
  /** Of dates that are not in ISO 8601, and of numbers with a decimal comma or with groups of digits. */
  readonly format?: ValueFormat
  /** The type of the column without a few values, given by their indexes, that make it Text. */
  readonly nearly?: { readonly type: IqlType; readonly misfits: readonly number[] }
  /** Formats that fit all values equally, such as days and months that cannot be distinguished, so it is Text. */
  readonly ambiguous?: readonly ValueFormat[]
}

/** The narrowest type that holds every value seen. `usual` is how other columns of the file write numbers. */
export function guessType(values: readonly string[], usual?: ValueFormat): Guess {
  if (values.length === 0) return { type: TEXT }
  if (usual !== undefined && isWrittenAs(usual, values)) return guessNumber(usual, values)
  const plain = plainType(values)
  if (plain !== undefined) return { type: plain }
  const dates = detectDateFormats(values)
  const formats = dates.length > 0 ? dates : detectNumberFormats(values)
  const [format] = formats
  if (format === undefined) return { type: TEXT, ...findNearType(values) }
  if (formats.length > 1) return { type: TEXT, ambiguous: formats }
  return dates.length > 0 ? { type: chooseDateType(format, values), format } : guessNumber(format, values)
}

function plainType(values: readonly string[]): IqlType | undefined {
  const found = GUESSES.find((guess) => findMisfits(guess, values).length === 0)
  return found === undefined ? undefined : (found.type(values) ?? TEXT)
}

function guessNumber(format: ValueFormat, values: readonly string[]): Guess {
  const type = plainType(values.map((value) => format.convert(value) ?? value))
  return type === undefined ? { type: TEXT } : { type, format }
}

/** So few cells are worth a question: up to five that are less than half, or up to a tenth. */
function areFew(misfits: number, all: number): boolean {
  return (misfits <= 5 && misfits * 2 < all) || misfits * 10 <= all
}

function findNearType(values: readonly string[]): Pick<Guess, 'nearly'> {
  // A number with leading zeros is a code, and Text is right for the column.
  if (values.some((value) => /^0\d+$/.test(value))) return {}
  const guesses: { readonly type: IqlType; readonly misfits: readonly number[] }[] = []
  for (const guess of GUESSES) {
    const fitting = values.filter((value) => guess.form.test(value))
    const type = guess.type(fitting)
    if (fitting.length > 0 && type !== undefined) guesses.push({ type, misfits: findMisfits(guess, values) })
  }
  const dates = dateFormatsOfMost(values)
  for (const format of [...dates, ...numberFormatsOfMost(values)]) {
    const misfits = [...values.keys()].filter((index) => format.convert(values[index] ?? '') === undefined)
    const fitting = values.filter((value) => format.convert(value) !== undefined)
    const { type } = dates.includes(format) ? { type: chooseDateType(format, fitting) } : guessNumber(format, fitting)
    guesses.push({ type, misfits })
  }
  const [nearly] = guesses.sort((a, b) => a.misfits.length - b.misfits.length)
  return nearly !== undefined && areFew(nearly.misfits.length, values.length) ? { nearly } : {}
}

/** The indexes of the values that do not have the type. */
function findMisfits({ form, type }: (typeof GUESSES)[number], values: readonly string[]): number[] {
  const wanted = type(values.filter((value) => form.test(value)))
  const fits = (value: string): boolean =>
    wanted !== undefined && form.test(value) && 'value' in readValue(wanted, value)
  return [...values.keys()].filter((index) => !fits(values[index] ?? ''))
}

/** The first match wins. A number with leading zeros is a code, so it is text. */
const GUESSES: readonly { readonly form: RegExp; readonly type: (values: readonly string[]) => IqlType | undefined }[] =
  [
    { form: /^(?:true|false)$/i, type: () => BOOLEAN },
    { form: /^-?(?:0|[1-9]\d*)$/, type: () => INTEGER },
    { form: /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/, type: decimalFor },
    { form: /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?|NaN|Infinity)$/i, type: () => DOUBLE },
    { form: /^\d{4}-\d\d-\d\d$/, type: () => DATE },
    { form: /^\d{4}-\d\d-\d\d[ T]/i, type: () => TIMESTAMP },
    { form: /^\d\d:\d\d/, type: () => TIME },
    { form: /^[0-9a-f-]{36}$/i, type: () => UUID },
    { form: /^[[{]/, type: () => JSON_TYPE },
  ]

function decimalFor(values: readonly string[]): IqlType | undefined {
  const longest = (pattern: RegExp) => Math.max(...values.map((value) => pattern.exec(value)?.[1]?.length ?? 0))
  const scale = longest(/\.(\d+)$/)
  const digits = longest(/^-?(\d+)/) + scale
  if (digits > DECIMAL_DIGITS) return undefined
  return decimal(digits > SHORT_DIGITS ? DECIMAL_DIGITS : SHORT_DIGITS, scale)
}

/** Reads `Decimal(12, 4)` or `Text`, as DESCRIBE prints and users type them. */
export function parseType(text: string): IqlType | undefined {
  const digits = /^decimal\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$/i.exec(text)
  if (digits !== null) return decimal(Number(digits[1]), Number(digits[2] ?? 0))
  const kind = COLUMN_TYPES.find((known) => known.toLowerCase() === text.toLowerCase())
  return kind === undefined || kind === 'Decimal' ? undefined : { kind }
}
