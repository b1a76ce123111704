/** CAST and changes of scale in SQLite. */
import { type IqlType, isExtraWide, isWide } from 'gatehouse-iql'
import type { Sql } from '../../emit/dialect.ts'
import { DAY, requireDecimal } from './operators.ts'

/** An exact number as a Decimal of another scale and size. */
export function rescale(operand: Sql, from: IqlType, to: IqlType, mode: 'round' | 'trunc' | 'floor' | 'ceil'): Sql {
  const source = requireDecimal(from)
  const target = requireDecimal(to)
  const shift = target.scale - source.scale
  const holdsAll = shift >= 0 && target.precision - target.scale >= source.precision - source.scale
  if (holdsAll && !isWide(to) && !isWide(from)) return shift === 0 ? operand : `(${operand} * ${10n ** BigInt(shift)})`
  const isStoredAlike = isWide(to) === isWide(from) && isExtraWide(to) === isExtraWide(from)
  if (holdsAll && shift === 0 && isStoredAlike && from.kind === 'Decimal') return operand
  return `gh_dscale(${operand}, ${shift}, ${target.precision}, '${mode}')`
}

export function castSql(operand: Sql, from: IqlType, to: IqlType): Sql {
  if (from.kind === 'Null') return operand
  if (to.kind === 'Decimal') {
    if (from.kind === 'Text') return `gh_text_decimal(${operand}, ${to.scale}, ${to.precision})`
    if (from.kind === 'Double') return `gh_double_decimal(${operand}, ${to.scale}, ${to.precision})`
    if (from.kind === 'Boolean') return rescale(operand, { kind: 'Integer' }, to, 'round')
    return rescale(operand, from, to, 'round')
  }
  if (from.kind === to.kind) return operand
  const scale = from.kind === 'Decimal' ? from.scale : 0
  const native = CASTS.get(`${from.kind}>${to.kind}`)
  // Every other pair that the binder allows has a function named after it.
  return native?.(operand, scale) ?? `gh_${from.kind.toLowerCase()}_${to.kind.toLowerCase()}(${operand})`
}

const CASTS: ReadonlyMap<string, (operand: Sql, scale: number) => Sql> = new Map<
  string,
  (operand: Sql, scale: number) => Sql
>([
  ['Integer>Text', (x) => `CAST(${x} AS TEXT)`],
  ['Decimal>Text', (x, scale) => `gh_decimal_text(${x}, ${scale})`],
  ['Boolean>Text', (x) => `(CASE ${x} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)`],
  ['Boolean>Integer', (x) => x],
  ['Uuid>Text', (x) => x],
  ['Json>Text', (x) => x],
  ['Integer>Boolean', (x) => `(${x} <> 0)`],
  ['Integer>Double', (x) => `CAST(${x} AS REAL)`],
  ['Decimal>Integer', (x, scale) => `gh_dtoint(${x}, ${scale})`],
  ['Decimal>Double', (x, scale) => `gh_decimal_double(${x}, ${scale})`],
  ['Date>Timestamp', midnight],
  ['Date>LocalTimestamp', midnight],
  ['Timestamp>Date', toDate],
  ['LocalTimestamp>Date', toDate],
  ['Timestamp>Time', toTime],
  ['LocalTimestamp>Time', toTime],
])

function midnight(x: Sql): Sql {
  return `(${x} * ${DAY})`
}

/** Division truncates toward zero. A million days more make every valid timestamp positive. */
function toDate(x: Sql): Sql {
  return `((${x} + 1000000 * ${DAY}) / ${DAY} - 1000000)`
}

function toTime(x: Sql): Sql {
  return `(((${x} % ${DAY}) + ${DAY}) % ${DAY})`
}
