/** Numbers as people read them: separators for thousands, the decimals that their column needs, and a sign where it matters. */
import { LOCALE } from './locale.ts'

const GROUPED = new Intl.NumberFormat(LOCALE, { useGrouping: true })
const [GROUP_SEPARATOR, DECIMAL_POINT] = findSeparators(GROUPED)
const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/

export interface NumberStyle {
  /** Digits after the decimal point; those of the value by default. More that are not zero are shown too. */
  readonly decimals?: number | undefined
  /** A plus before what is positive. */
  readonly signed?: boolean | undefined
  /** False for numbers that are names, such as ids. */
  readonly grouped?: boolean | undefined
}

/** All digits of the value, whatever its size; what is not a plain decimal number stays as it is. */
export function numberText(value: unknown, { decimals, signed = false, grouped = true }: NumberStyle = {}): string {
  const text = String(value)
  const [, minus, whole, fraction = ''] = PLAIN.exec(text) ?? []
  if (whole === undefined) return text
  const needed = fraction.replace(/0+$/, '')
  const shown = decimals === undefined ? fraction : needed.padEnd(decimals, '0')
  const sign = minus === '-' ? (signed ? '\u2212' : '-') : signed && isPositive(whole, fraction) ? '+' : ''
  return `${sign}${grouped ? GROUPED.format(BigInt(whole)) : whole}${shown === '' ? '' : DECIMAL_POINT + shown}`
}

/** Bytes as people say them. */
export function bytes(number: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, number)) / 3))
  const scaled = number / 1000 ** power
  return `${power === 0 || scaled >= 100 ? Math.round(scaled) : numberText(scaled.toFixed(1))} ${units[power]}`
}

/** How many digits after the decimal point a value needs. */
export function countDecimals(value: unknown): number {
  if (typeof value === 'bigint' || value === null || value === undefined) return 0
  return PLAIN.exec(String(value))?.[3]?.replace(/0+$/, '').length ?? 0
}

/** Prices and amounts have two digits, or none. */
export function columnDecimals(needed: number): number {
  return needed === 1 ? 2 : needed
}

function isPositive(whole: string, fraction: string): boolean {
  return /[1-9]/.test(whole) || /[1-9]/.test(fraction)
}

/** A number as it is typed, without the separators of the locale. A point alone is a decimal point everywhere. */
export function typedNumber(text: string): string {
  if (!text.includes(DECIMAL_POINT) && GROUP_SEPARATOR === '.') return text
  return text.replaceAll(GROUP_SEPARATOR, '').replace(DECIMAL_POINT, '.')
}

/** A whole number as it is typed, without separators; a text that is none stays wrong. */
export function typedWhole(text: string): string {
  const typed = text.replaceAll(/[\s,_]/g, '')
  return GROUP_SEPARATOR === '.' && /^\d{1,3}(?:\.\d{3})+$/.test(typed) ? typed.replaceAll('.', '') : typed
}

function findSeparators(format: Intl.NumberFormat): readonly [group: string, decimal: string] {
  const parts = new Map(format.formatToParts(12_345.6).map(({ type, value }) => [type, value]))
  return [parts.get('group') ?? ',', parts.get('decimal') ?? '.']
}
