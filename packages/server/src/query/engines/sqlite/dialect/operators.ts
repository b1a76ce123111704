/** Arithmetic in SQLite: its own operators where they are exact, checked functions elsewhere. */
import { type Arithmetic, asDecimal, type DecimalType, type IqlType, isWide } from 'gatehouse-iql'
import { type Dialect, hasMonths, type Sql } from '../../emit/dialect.ts'

type OperatorSql = (left: Sql, right: Sql, node: Arithmetic) => Sql

export const DAY = '86400000000'

export const SQLITE_OPERATORS: Dialect['operators'] = {
  'integer+integer': (a, b) => `gh_int(${a} + ${b})`,
  'integer-integer': (a, b) => `gh_int(${a} - ${b})`,
  'integer*integer': (a, b) => `gh_int(${a} * ${b})`,
  'integer/integer': (a, b) => `gh_idiv(${a}, ${b})`,
  'integer%integer': (a, b) => `gh_imod(${a}, ${b})`,
  'decimal+decimal': exactSql('+', 'gh_dadd'),
  'decimal-decimal': exactSql('-', 'gh_dsub'),
  'decimal*decimal': exactSql('*', 'gh_dmul'),
  'decimal/decimal': (a, b, node) => {
    const result = requireDecimal(node.type)
    const shift = result.scale - requireDecimal(node.left.type).scale + requireDecimal(node.right.type).scale
    return `gh_ddiv(${a}, ${b}, ${shift}, ${result.precision})`
  },
  'decimal%decimal': (a, b, node) => `gh_dmod(${a}, ${b}, ${requireDecimal(node.type).precision})`,
  'double+double': (a, b) => `gh_fadd(${a}, ${b})`,
  'double-double': (a, b) => `gh_fsub(${a}, ${b})`,
  'double*double': (a, b) => `gh_fmul(${a}, ${b})`,
  'double/double': (a, b) => `gh_fdiv(${a}, ${b})`,
  'timestamp+interval': (a, b, node) => moved(a, b, node.right.type, 1),
  'interval+timestamp': (a, b, node) => moved(b, a, node.left.type, 1),
  'timestamp-interval': (a, b, node) => moved(a, b, node.right.type, -1),
  'timestamp-timestamp': (a, b) => `(${a} - ${b})`,
  'localtimestamp+interval': (a, b, node) => moved(a, b, node.right.type, 1),
  'interval+localtimestamp': (a, b, node) => moved(b, a, node.left.type, 1),
  'localtimestamp-interval': (a, b, node) => moved(a, b, node.right.type, -1),
  'localtimestamp-localtimestamp': (a, b) => `(${a} - ${b})`,
  'date+integer': (a, b) => `gh_date(${a} + ${b})`,
  'date-integer': (a, b) => `gh_date(${a} - ${b})`,
  'date-date': (a, b) => `(${a} - ${b})`,
  'date+interval': (a, b, node) => moved(`(${a} * ${DAY})`, b, node.right.type, 1),
  'date-interval': (a, b, node) => moved(`(${a} * ${DAY})`, b, node.right.type, -1),
  'time+interval': (a, b) => `gh_time_add(${a}, ${b}, 1)`,
  'time-interval': (a, b) => `gh_time_add(${a}, ${b}, -1)`,
  'interval+interval': (a, b, node) => (hasMonths(node.type) ? `gh_iv_add(${a}, ${b}, 1)` : `gh_int(${a} + ${b})`),
  'interval-interval': (a, b, node) => (hasMonths(node.type) ? `gh_iv_add(${a}, ${b}, -1)` : `gh_int(${a} - ${b})`),
  'interval*integer': (a, b, node) => (hasMonths(node.type) ? `gh_iv_mul(${a}, ${b})` : `gh_int(${a} * ${b})`),
  'integer*interval': (a, b, node) => (hasMonths(node.type) ? `gh_iv_mul(${b}, ${a})` : `gh_int(${a} * ${b})`),
}

/** Up to 18 digits neither the operands nor the result can exceed 64 bits. */
function exactSql(symbol: Sql, checked: Sql): OperatorSql {
  return (a, b, node) => {
    if (!isWide(node.type) && !isWide(node.left.type) && !isWide(node.right.type)) return `(${a} ${symbol} ${b})`
    return `${checked}(${a}, ${b}, ${requireDecimal(node.type).precision})`
  }
}

export function requireDecimal(type: IqlType): DecimalType {
  const decimal = asDecimal(type)
  if (decimal === undefined) throw new TypeError(`${type.kind} is not an exact number`)
  return decimal
}

function moved(timestamp: Sql, span: Sql, type: IqlType, sign: 1 | -1): Sql {
  if (hasMonths(type)) return `gh_ts_add(${timestamp}, ${span}, ${sign})`
  return `gh_ts(${timestamp} ${sign === 1 ? '+' : '-'} ${span})`
}
