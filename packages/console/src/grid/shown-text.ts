/** What a cell shows: numbers with separators, the decimals of their column, and a sign where they are a change. */
import { columnDecimals, countDecimals, numberText } from '../ui/number.ts'
import { cellText, fractionDigits } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { typeKind } from './compare.ts'

/** Numbers that are names: an id has no thousands separators. */
const NAMES = /(^|_)(id|key|no|number|year|port|code|version|pid)$/i
/** TradeId, tradeID, tradeid; but not bid, mid and paid. */
const IDS = /[a-z\d]I[dD]$|(e|n|t|er)id$/
/** Changes: up and down are what matters. */
const CHANGES = /(^|_)(change|chg|pct|percent|pnl|profit|return|ret|delta|diff)(_|$)|%/i
/** What a rise or a fall is of. An order that grows is neither good nor bad. */
const PRICES =
  /(^|_)(price|px|bid|ask|mid|last|open|high|low|close|vwap|twap|mark|settle|settlement|nav|quote|rate|yield|value)(_|$)/i
/** A Double has as many digits as its 64 bits need, and a quotient as many as its type; more than these are seldom read. */
const DOUBLE_DECIMALS = 6
const CHANGE_DECIMALS = 4

/** `digits` are those that the column shows: of a second, or after the decimal point. */
export function shownText(value: unknown, column: GridColumn, digits = 0): string {
  const kind = typeKind(column.type)
  if (value === null || value === undefined || !isNumber(kind)) return cellText(value, column.type, digits)
  const style = {
    decimals: columnDecimals(digits),
    signed: isChange(column),
    grouped: !isName(column),
  }
  return numberText(rounded(value, column), style)
}

/** Whether `shownText` has fewer digits than the value. */
export function isRounded(value: unknown, column: GridColumn): boolean {
  return rounded(value, column) !== value
}

/** How many digits a value needs: of a second, or after the decimal point. */
export function neededDigits(value: unknown, column: GridColumn): number {
  const kind = typeKind(column.type)
  if (kind.endsWith('Timestamp')) return fractionDigits(value)
  return kind === 'Double' || kind === 'Decimal' ? countDecimals(rounded(value, column)) : 0
}

/** `up` or `down` for a number of a column of changes. */
export function changeDirection(value: unknown, column: GridColumn): 'up' | 'down' | undefined {
  if (!isChange(column)) return undefined
  const number = Number(value)
  return number > 0 ? 'up' : number < 0 ? 'down' : undefined
}

export function isChange({ name, type }: GridColumn): boolean {
  return isNumber(typeKind(type)) && CHANGES.test(name)
}

/** Whether a rise is shown in green and a fall in red. The sign of a change has these colours already. */
export function isPrice(column: GridColumn): boolean {
  return isNumber(typeKind(column.type)) && PRICES.test(column.name) && !isChange(column)
}

function isName({ name, isprimarykey = false }: GridColumn): boolean {
  return isprimarykey || NAMES.test(name) || IDS.test(name)
}

function isNumber(kind: string): boolean {
  return kind === 'Integer' || kind === 'Decimal' || kind === 'Double'
}

/** Doubles and changes. Small numbers keep their digits: rounded, they would be zero. */
function rounded(value: unknown, column: GridColumn): unknown {
  const decimals = isChange(column) ? CHANGE_DECIMALS : typeKind(column.type) === 'Double' ? DOUBLE_DECIMALS : undefined
  if (decimals === undefined || countDecimals(value) <= decimals) return value
  const number = Number(value)
  return Math.abs(number) < 0.001 || Math.abs(number) > 1e15 ? value : number.toFixed(decimals)
}
