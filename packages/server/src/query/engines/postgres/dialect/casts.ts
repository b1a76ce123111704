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
  const pair = `${from.kind}>${to.kind}`
  if (AS_TEXT.has(pair)) return `(${operand}::text COLLATE "C")`
  if (NATIVE.has(pair)) return `(${operand}::${target})`
  if (pair === 'Json>Text') return operand
  if (pair === 'Boolean>Integer') return `(${operand}::int::bigint)`
  if (pair === 'Integer>Boolean') return `(${operand} <> 0)`
  const call = `${SCHEMA}.gh_${from.kind.toLowerCase()}_${to.kind.toLowerCase()}(${operand})`
  return to.kind === 'Text' || to.kind === 'Json' ? `(${call} COLLATE "C")` : call
}

/** Casts of PostgreSQL that are those of IQL. Every other pair that the binder allows has a function named after it. */
const NATIVE: ReadonlySet<string> = new Set([
  'Integer>Double',
  'Decimal>Integer',
  'Decimal>Double',
  'Date>Timestamp',
  'Date>LocalTimestamp',
  'Timestamp>Date',
  'LocalTimestamp>Date',
  'Timestamp>Time',
  'LocalTimestamp>Time',
])
const AS_TEXT: ReadonlySet<string> = new Set(
  ['Integer', 'Decimal', 'Boolean', 'Uuid', 'Date', 'Time'].map((kind) => `${kind}>Text`),
)
