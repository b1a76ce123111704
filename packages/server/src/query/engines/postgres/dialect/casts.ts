/** CAST in PostgreSQL. Casts from text use helper functions, which are strict about its form. */
import type { IqlType } from 'gatehouse-iql'
import type { Sql } from '../../emit/dialect.ts'
import { SCHEMA, sqlType } from '../representation.ts'

export function castSql(operand: Sql, from: IqlType, to: IqlType): Sql {
  const target = sqlType(to)
  if (from.kind === 'Null')
    return to.kind === 'Text' || to.kind === 'Json' ? `(${operand}::text COLLATE "C")` : `(${operand}::${target})`
  if (to.kind === 'Decimal') {
    if (from.kind === 'Text') return `(${SCHEMA}.gh_text_decimal(${operand}, ${to.scale})::${target})`
    if (from.kind === 'Double') return `(${SCHEMA}.gh_double_decimal(${operand})::${target})`
    if (from.kind === 'Boolean') return `(${operand}::int::${target})`
    return `(${operand}::${target})`
  }
  if (from.kind === to.kind) return operand
  switch (`${from.kind}>${to.kind}`) {
    case 'Integer>Text':
    case 'Decimal>Text':
    case 'Boolean>Text':
    case 'Uuid>Text':
    case 'Date>Text':
    case 'Time>Text':
      return `(${operand}::text COLLATE "C")`
    case 'Double>Text':
    case 'Timestamp>Text':
    case 'Binary>Text':
      return `(${SCHEMA}.gh_${from.kind.toLowerCase()}_text(${operand}) COLLATE "C")`
    case 'Json>Text':
      return operand
    case 'Text>Json':
      return `(${SCHEMA}.gh_text_json(${operand}) COLLATE "C")`
    case 'Boolean>Integer':
      return `(${operand}::int::bigint)`
    case 'Integer>Boolean':
      return `(${operand} <> 0)`
    case 'Double>Integer':
      return `${SCHEMA}.gh_double_integer(${operand})`
    case 'Integer>Double':
    case 'Decimal>Integer':
    case 'Decimal>Double':
    case 'Date>Timestamp':
    case 'Timestamp>Date':
    case 'Timestamp>Time':
      return `(${operand}::${target})`
    default:
      return `${SCHEMA}.gh_${from.kind.toLowerCase()}_${to.kind.toLowerCase()}(${operand})`
  }
}
