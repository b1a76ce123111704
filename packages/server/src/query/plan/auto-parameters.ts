/**
 * Literals that become parameters of a plan, so that it serves every statement of the same shape. Only literals whose value changes
 * neither the meaning nor the cost of a statement: those compared with a column in WHERE, and those written to a column.
 */

import {
  type Assignment,
  type Bound,
  type BoundBody,
  type BoundExpression,
  type BoundQuery,
  type BoundStatement,
  type ColumnView,
  type DecimalType,
  type DefaultValue,
  type Insert,
  type IqlType,
  type IqlValue,
  readRoundedValue,
  type Shape,
  type Source,
  sameType,
  type TableView,
  type WrittenAt,
} from 'gatehouse-iql'
import { MAX_SINGLE_ITEMS } from '../engines/emit/list.ts'
import { isLonger } from '../engines/emit/value-lengths.ts'

export interface AutoParameter extends WrittenAt {
  /** That of the column. */
  readonly type: IqlType
  /** The limit for a value that is written to a key or an index. */
  readonly maxBytes: number | undefined
}

interface ColumnLimits {
  keyLimit(table: TableView, column: string): number | undefined
}

export function findAutoParameters(
  { statement, parameters }: Bound,
  shape: Shape,
  limits: ColumnLimits,
): AutoParameter[] {
  // Errors about parameters have positions, which depend on the length of the literals before them.
  if (parameters.length > 0) return []
  const found: AutoParameter[] = []
  for (const { value, ...parameter } of inStatement(statement, limits)) {
    if (readAutoParameter(parameter, shape) === value) found.push(parameter)
  }
  return found
}

/** A literal that becomes a parameter if its value can be read from the text. */
interface Candidate extends AutoParameter {
  readonly value: IqlValue
}

function* inStatement(statement: BoundStatement, limits: ColumnLimits): Generator<Candidate, void> {
  switch (statement.kind) {
    case 'query':
      yield* inQuery(statement)
      return
    case 'insert':
      if (!statement.table.isSystem) yield* inInsert(statement, limits)
      return
    case 'update':
      if (statement.table.isSystem) return
      yield* inAssignments(statement.table, statement.set, limits)
      yield* inCondition(statement.where)
      return
    case 'delete':
      if (!statement.table.isSystem) yield* inCondition(statement.where)
  }
}

function* inInsert({ table, columns, rows, onConflict }: Insert, limits: ColumnLimits): Generator<Candidate, void> {
  if (rows.kind === 'query') yield* inQuery(rows.query)
  else {
    const maxBytes = columns.map(({ name }) => limits.keyLimit(table, name))
    for (const row of rows.rows) {
      for (const [index, column] of columns.entries()) yield* inValue(column, row[index], maxBytes[index])
    }
  }
  if (onConflict?.kind !== 'update') return
  yield* inAssignments(table, onConflict.set, limits)
  yield* inCondition(onConflict.where)
}

function* inAssignments(table: TableView, set: readonly Assignment[], limits: ColumnLimits) {
  for (const { column, value } of set) yield* inValue(column, value, limits.keyLimit(table, column.name))
}

function* inValue(
  column: ColumnView,
  value: BoundExpression | DefaultValue | undefined,
  maxBytes: number | undefined,
): Generator<Candidate, void> {
  if (value !== undefined && value.kind !== 'default') yield* inOperand(column.type, value, maxBytes)
}

/** Skips sub-queries of expressions, because the name of an output may come from one. */
function* inQuery(query: BoundQuery): Generator<Candidate, void> {
  for (const cte of query.with) yield* inQuery(cte.query)
  yield* inBody(query.body)
}

function* inBody(body: BoundBody): Generator<Candidate, void> {
  switch (body.kind) {
    case 'query':
      yield* inQuery(body)
      return
    case 'set':
      yield* inBody(body.left)
      yield* inBody(body.right)
      return
    case 'select':
      if (body.from !== undefined) yield* inSource(body.from)
      yield* inCondition(body.where)
  }
}

function* inSource(source: Source): Generator<Candidate, void> {
  if (source.kind === 'derived') yield* inQuery(source.query)
  else if (source.kind === 'join' || source.kind === 'asof') {
    yield* inSource(source.left)
    yield* inSource(source.right)
  }
}

function* inCondition(condition: BoundExpression | undefined): Generator<Candidate, void> {
  switch (condition?.kind) {
    case 'logic':
      for (const operand of condition.operands) yield* inCondition(operand)
      return
    case 'not':
      yield* inCondition(condition.operand)
      return
    case 'compare':
      yield* comparedWith(condition.left, [condition.right])
      yield* comparedWith(condition.right, [condition.left])
      return
    case 'between':
      yield* comparedWith(condition.operand, [condition.low, condition.high])
      return
    case 'in-list':
      if (condition.items.length <= MAX_SINGLE_ITEMS) yield* comparedWith(condition.operand, condition.items)
  }
}

/** A literal that would not fit the column would widen both to another type. */
function* comparedWith(column: BoundExpression, operands: readonly BoundExpression[]): Generator<Candidate, void> {
  if (column.kind !== 'column') return
  for (const operand of operands) yield* inOperand(column.type, operand)
}

function* inOperand(type: IqlType, operand: BoundExpression, maxBytes?: number): Generator<Candidate, void> {
  if (operand.kind !== 'literal' || operand.written === undefined || !sameType(operand.type, type)) return
  if (operand.value !== null && TYPES.has(type.kind)) yield { ...operand.written, type, maxBytes, value: operand.value }
}

const TYPES: ReadonlySet<IqlType['kind']> = new Set<IqlType['kind']>([
  'Text',
  'Integer',
  'Decimal',
  'Double',
  'Timestamp',
  'Date',
  'Time',
  'Uuid',
  'Json',
])

/** The values in a statement of the same shape; undefined if it may differ in more than these, or be in error. */
export function readAutoParameters(parameters: readonly AutoParameter[], shape: Shape): IqlValue[] | undefined {
  const values: IqlValue[] = []
  for (const parameter of parameters) {
    const value = readAutoParameter(parameter, shape)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

function readAutoParameter({ index, type, sign, maxBytes }: AutoParameter, { literals }: Shape): IqlValue | undefined {
  const written = literals[index]
  const value = written === undefined ? undefined : readWritten(type, written, sign)
  return maxBytes !== undefined && isLonger(value, maxBytes) ? undefined : value
}

function readWritten(type: IqlType, written: string, sign: '' | '-'): IqlValue | undefined {
  switch (type.kind) {
    case 'Decimal':
      return parseDecimal(type, written, sign)
    case 'Integer':
    case 'Double':
      return valueRead(type, sign + written)
    default:
      return valueRead(type, written.slice(1, -1).replaceAll("''", "'"))
  }
}

function valueRead(type: IqlType, text: string): IqlValue | undefined {
  const read = readRoundedValue(type, text)
  return 'problem' in read ? undefined : read.value
}

/** Only with as many digits as the type has on both sides of the point: then the comparison has the type of the column. */
function parseDecimal({ precision, scale }: DecimalType, written: string, sign: '' | '-'): bigint | undefined {
  const [whole = '', fraction = ''] = written.split('.')
  const digits = whole.replace(/^0+/, '').length
  const wholeDigits = fraction === '' ? Math.max(1, digits) : digits
  if (wholeDigits > precision - scale || fraction.length > scale) return undefined
  return BigInt(sign + whole + fraction.padEnd(scale, '0'))
}
