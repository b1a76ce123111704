/** What a cell shows: numbers with separators, the decimals of their column, and a sign where they are a change. */
import { columnDecimals, decimalsOf, numberText } from '../ui/number.ts'
import { cellText, fractionOf } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { kindOf } from './compare.ts'

/** Numbers that are names: nobody reads the thousands of an id. */
const NAMES = /(^|_)(id|key|no|number|year|port|code|version|pid)$/i
/** Changes: up and down are what matters. */
const CHANGES = /(^|_)(change|chg|pct|percent|pnl|profit|return|ret|delta|diff)(_|$)|%/i
/** A Double has as many digits as its 64 bits need; more than these are seldom read. */
const DOUBLE_DECIMALS = 6

/** `digits` are those that the column shows: of a second, or after the decimal point. */
export function shownText(value: unknown, column: GridColumn, digits = 0): string {
  const kind = kindOf(column.type)
  if (value === null || value === undefined || !isNumber(kind)) return cellText(value, column.type, digits)
  const style = { decimals: columnDecimals(digits), signed: isChange(column), grouped: !NAMES.test(column.name) }
  return numberText(kind === 'Double' ? roundedDouble(value) : value, style)
}

/** Whether `shownText` has fewer digits than the value: a Double is rounded. */
export function isRounded(value: unknown, { type }: GridColumn): boolean {
  return kindOf(type) === 'Double' && roundedDouble(value) !== value
}

/** How many digits a value needs: of a second, or after the decimal point. */
export function digitsOf(value: unknown, { type }: GridColumn): number {
  const kind = kindOf(type)
  if (kind.endsWith('Timestamp')) return fractionOf(value)
  if (kind === 'Double') return decimalsOf(roundedDouble(value))
  return kind === 'Decimal' ? decimalsOf(value) : 0
}

/** `up` or `down` for a number of a column of changes. */
export function directionOf(value: unknown, column: GridColumn): 'up' | 'down' | undefined {
  if (!isChange(column)) return undefined
  const number = Number(value)
  return number > 0 ? 'up' : number < 0 ? 'down' : undefined
}

export function isChange({ name, type }: GridColumn): boolean {
  return isNumber(kindOf(type)) && CHANGES.test(name)
}

function isNumber(kind: string): boolean {
  return kind === 'Integer' || kind === 'Decimal' || kind === 'Double'
}

/** Small numbers keep their digits: rounded, they would be zero. */
function roundedDouble(value: unknown): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value) || decimalsOf(value) <= DOUBLE_DECIMALS) return value
  return Math.abs(value) < 0.001 ? value : Number(value.toFixed(DOUBLE_DECIMALS))
}
