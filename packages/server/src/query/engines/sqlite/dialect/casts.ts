/** CAST and changes of scale in SQLite. */
import { type IqlType, isExtraWide, isWide } from 'gatehouse-iql'
import type { Sql } from '../../emit/dialect.ts'
import { DAY, decimalOf } from './operators.ts'

/** An exact number as a Decimal of another scale and size. */
export function rescale(operand: Sql, from: IqlType, to: IqlType, mode: 'round' | 'trunc' | 'floor' | 'ceil'): Sql {
  const source = decimalOf(from)
  const target = decimalOf(to)
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
  switch (`${from.kind}>${to.kind}`) {
    case 'Integer>Text':
      return `CAST(${operand} AS TEXT)`
    case 'Decimal>Text':
      return `gh_decimal_text(${operand}, ${scale})`
    case 'Boolean>Text':
      return `(CASE ${operand} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)`
    case 'Boolean>Integer':
    case 'Uuid>Text':
    case 'Json>Text':
      return operand
    case 'Integer>Boolean':
      return `(${operand} <> 0)`
    case 'Integer>Double':
      return `CAST(${operand} AS REAL)`
    case 'Decimal>Integer':
      return `gh_dtoint(${operand}, ${scale})`
    case 'Decimal>Double':
      return `gh_decimal_double(${operand}, ${scale})`
    case 'Date>Timestamp':
      return `(${operand} * ${DAY})`
    case 'Timestamp>Date':
      // Division truncates toward zero. A million days more make every valid timestamp positive.
      return `((${operand} + 1000000 * ${DAY}) / ${DAY} - 1000000)`
    case 'Timestamp>Time':
      return `(((${operand} % ${DAY}) + ${DAY}) % ${DAY})`
    default:
      // Every other pair that the binder allows has a function named after it.
      return `gh_${from.kind.toLowerCase()}_${to.kind.toLowerCase()}(${operand})`
  }
}
