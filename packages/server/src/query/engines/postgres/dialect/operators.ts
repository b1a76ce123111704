/** Arithmetic in PostgreSQL. */
import { type Arithmetic, DECIMAL_DIGITS, type IqlType } from 'gatehouse-iql'
import { type Dialect, hasMonths, type Sql } from '../../emit/dialect.ts'
import { SCHEMA, sqlType } from '../representation.ts'

type OperatorSql = (left: Sql, right: Sql, node: Arithmetic) => Sql

export const POSTGRES_OPERATORS: Dialect['operators'] = {
  'integer+integer': infix('+'),
  'integer-integer': infix('-'),
  'integer*integer': infix('*'),
  'integer/integer': infix('/'),
  'integer%integer': infix('%'),
  'decimal+decimal': exact('+'),
  'decimal-decimal': exact('-'),
  'decimal*decimal': exact('*'),
  'decimal/decimal': (a, b, node) =>
    `(${SCHEMA}.gh_round_div(${a}, ${b}, ${typeScale(node.type)})::${sqlType(node.type)})`,
  'decimal%decimal': exact('%'),
  'double+double': infix('+'),
  'double-double': infix('-'),
  'double*double': infix('*'),
  'double/double': infix('/'),
  'timestamp+interval': (a, b, node) => moved(a, b, node.right.type, '+'),
  'interval+timestamp': (a, b, node) => moved(b, a, node.left.type, '+'),
  'timestamp-interval': (a, b, node) => moved(a, b, node.right.type, '-'),
  'timestamp-timestamp': (a, b) => `(${micros(a)} - ${micros(b)})`,
  'localtimestamp+interval': (a, b, node) => moved(a, b, node.right.type, '+'),
  'interval+localtimestamp': (a, b, node) => moved(b, a, node.left.type, '+'),
  'localtimestamp-interval': (a, b, node) => moved(a, b, node.right.type, '-'),
  'localtimestamp-localtimestamp': (a, b) => `(${micros(a)} - ${micros(b)})`,
  'date+integer': (a, b) => `${SCHEMA}.gh_date_add(${a}, ${b})`,
  'date-integer': (a, b) => `${SCHEMA}.gh_date_add(${a}, -${b})`,
  'date-date': (a, b) => `(${a} - ${b})::bigint`,
  'date+interval': (a, b, node) => moved(`${a}::timestamp`, b, node.right.type, '+'),
  'date-interval': (a, b, node) => moved(`${a}::timestamp`, b, node.right.type, '-'),
  'time+interval': (a, b, node) => `${SCHEMA}.gh_time_add(${a}, ${intervalLength(b, node.right.type)})`,
  'time-interval': (a, b, node) => `${SCHEMA}.gh_time_add(${a}, -${intervalLength(b, node.right.type)})`,
  'interval+interval': (a, b, node) => spans(a, b, node, '+'),
  'interval-interval': (a, b, node) => spans(a, b, node, '-'),
  'interval*integer': (a, b, node) => times(a, b, node.type),
  'integer*interval': (a, b, node) => times(b, a, node.type),
}

export function micros(timestamp: Sql): Sql {
  return `${SCHEMA}.gh_micros(${timestamp})`
}

function infix(symbol: Sql): OperatorSql {
  return (a, b) => `(${a} ${symbol} ${b})`
}

/** numeric does not overflow here; only a result that is limited to 38 digits can. */
function exact(symbol: Sql): OperatorSql {
  return (a, b, node) => {
    const operation = `(${a} ${symbol} ${b})`
    return node.type.kind === 'Decimal' && node.type.precision < DECIMAL_DIGITS
      ? operation
      : `(${operation}::${sqlType(node.type)})`
  }
}

function typeScale(type: IqlType): number {
  return type.kind === 'Decimal' ? type.scale : 0
}

function moved(timestamp: Sql, span: Sql, type: IqlType, sign: '+' | '-'): Sql {
  if (hasMonths(type)) return `${SCHEMA}.gh_in_range(${timestamp} ${sign} ${span})`
  return `${SCHEMA}.gh_timestamp(${micros(timestamp)} ${sign} ${span})`
}

function intervalLength(span: Sql, type: IqlType): Sql {
  return hasMonths(type) ? `${SCHEMA}.gh_length(${span})` : span
}

function spans(a: Sql, b: Sql, node: Arithmetic, sign: '+' | '-'): Sql {
  if (!hasMonths(node.type)) return `(${a} ${sign} ${b})`
  const whole = (span: Sql, type: IqlType): Sql => (hasMonths(type) ? span : `${SCHEMA}.gh_interval(${span})`)
  return `(${whole(a, node.left.type)} ${sign} ${whole(b, node.right.type)})`
}

function times(span: Sql, count: Sql, type: IqlType): Sql {
  return hasMonths(type) ? `${SCHEMA}.gh_times(${span}, ${count})` : `(${span} * ${count})`
}
