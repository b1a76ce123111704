/** The types of CSV columns: guessed from values, or read from their names. */
import {
  BOOLEAN,
  COLUMN_DIGITS,
  COLUMN_TYPES,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from '../../query/iql/types.ts'
import { readValue } from '../../query/iql/values.ts'

/** The narrowest type that holds every value seen. */
export function guessType(values: readonly string[]): IqlType {
  if (values.length === 0) return TEXT
  const found = GUESSES.find(({ form, type }) => {
    const wanted = type(values)
    return wanted !== undefined && values.every((value) => form.test(value) && 'value' in readValue(wanted, value))
  })
  return found?.type(values) ?? TEXT
}

/** The first match wins. A number with leading zeros is a code, hence text. */
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
  return longest(/^-?(\d+)/) + scale > COLUMN_DIGITS ? undefined : decimal(COLUMN_DIGITS, scale)
}

/** Reads `Decimal(12, 4)` or `Text`, as DESCRIBE prints and users type them. */
export function parseType(text: string): IqlType | undefined {
  const digits = /^decimal\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$/i.exec(text)
  if (digits !== null) return decimal(Number(digits[1]), Number(digits[2] ?? 0))
  const kind = COLUMN_TYPES.find((known) => known.toLowerCase() === text.toLowerCase())
  return kind === undefined || kind === 'Decimal' ? undefined : { kind }
}
