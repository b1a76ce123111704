/** Selection criteria: reads a JSON array of conditions as the expression of a WHERE clause, and its values as parameters. */
import {
  AT,
  binary,
  boolean,
  buildName,
  columnRef,
  type Expression,
  type IqlValue,
  isNull,
  parameterRef,
  type StatementParameter,
  type TableView,
} from 'gatehouse-iql'
import type { Json } from '../../lib/exact-json.ts'
import { findColumn } from '../catalogue/find-column.ts'
import { refuse } from '../errors.ts'
import { isList, isObject, membersByName, readColumnValue, shown } from '../json.ts'

const MAX_CRITERIA = 1000
const MAX_DEPTH = 32
/** In the whole request. */
const MAX_VALUES = 10_000

/** The criteria joined by AND; undefined if there are none. */
export function readCriteria(body: Json, table: TableView, values: CallValues): Expression | undefined {
  if (!isList(body)) throw badCriteria('Criteria must be a JSON array')
  countCriteria(body)
  const reader = new CriteriaReader(table, values)
  return reader.all(body, 0)
}

/**
 * The criteria of a call that writes. A list without a condition would match every row. That is usually a mistake of the
 * client, so it is refused.
 */
export function requireCriteria(body: Json, table: TableView, values: CallValues): Expression {
  if (isList(body)) {
    countCriteria(body)
    for (const item of body) refuseEmpty(item, false)
  }
  const criteria = readCriteria(body, table, values)
  if (criteria === undefined) throw badCriteria('At least one criterion is required')
  return criteria
}

/** Refuses too many criteria, levels or values before anything is built from them. */
function countCriteria(body: readonly Json[]): void {
  let criteria = 0
  let values = 0
  const count = (items: readonly Json[], depth: number): void => {
    if (depth > MAX_DEPTH) throw badCriteria(`The criteria are nested more than ${MAX_DEPTH} levels deep`)
    criteria += items.length
    if (criteria > MAX_CRITERIA) throw badCriteria(`There are more than ${MAX_CRITERIA} criteria`)
    for (const item of items) {
      if (!isObject(item)) continue
      for (const [name, value] of Object.entries(item)) {
        const key = name.toLowerCase()
        if (key === 'not') count([value], depth + 1)
        if (!isList(value)) continue
        if (key === 'and' || key === 'or') count(value, depth + 1)
        else values += value.length
        if (values > MAX_VALUES) throw badCriteria(`The criteria have more than ${MAX_VALUES} values in all`)
      }
    }
  }
  count(body, 0)
}

function refuseEmpty(item: Json, isNegated: boolean): void {
  if (!isObject(item)) return
  const members = membersByName(item)
  for (const [name, word] of [['and', 'And'] as const, ['or', 'Or'] as const]) {
    const items = members.get(name)
    if (!isList(items)) continue
    if (items.length === 0)
      throw badCriteria(`${word} is empty; a call that writes takes at least one criterion in every list`)
    for (const inner of items) refuseEmpty(inner, isNegated)
  }
  const negated = members.get('not')
  if (negated !== undefined) refuseEmpty(negated, true)
  const value = members.get('value')
  if (
    isList(value) &&
    value.length === 0 &&
    (isNegated || normalizeOperator(members.get('operator')).startsWith('not'))
  )
    throw badCriteria('The list of values is empty, and every row is outside it; a call that writes takes at least one')
}

/** Builds the condition from the column and the value. */
type Build = (operand: Expression, value: Json, reader: OperandReader) => Expression

interface OperandReader {
  /** A single value, not null. */
  one(value: Json): Expression
  list(value: Json, min: number, max: number): Expression[]
}

interface Operator {
  readonly names: readonly string[]
  readonly build: Build
  /** All other operators require a Value: a missing one does not count as null. */
  readonly needsNoValue?: true
}

/** Every operator with its spellings. Error messages list the first. */
export const OPERATORS: readonly Operator[] = [
  {
    names: ['=', '==', 'eq'],
    build: (x, value, read) => (value === null ? isNull(x, false) : binary('=', x, read.one(value))),
  },
  {
    names: ['<>', '!=', 'ne'],
    build: (x, value, read) => (value === null ? isNull(x, true) : binary('<>', x, read.one(value))),
  },
  { names: ['<', 'lt'], build: (x, value, read) => binary('<', x, read.one(value)) },
  { names: ['<=', 'le', 'lte'], build: (x, value, read) => binary('<=', x, read.one(value)) },
  { names: ['>', 'gt'], build: (x, value, read) => binary('>', x, read.one(value)) },
  { names: ['>=', 'ge', 'gte'], build: (x, value, read) => binary('>=', x, read.one(value)) },
  { names: ['in'], build: (x, value, read) => inList(x, read.list(value, 0, MAX_VALUES), false) },
  { names: ['not in'], build: (x, value, read) => inList(x, read.list(value, 0, MAX_VALUES), true) },
  { names: ['between'], build: (x, value, read) => between(x, read.list(value, 2, 2), false) },
  { names: ['not between'], build: (x, value, read) => between(x, read.list(value, 2, 2), true) },
  { names: ['like'], build: (x, value, read) => like(x, read.one(value), false, false) },
  { names: ['not like'], build: (x, value, read) => like(x, read.one(value), true, false) },
  { names: ['ilike'], build: (x, value, read) => like(x, read.one(value), false, true) },
  { names: ['not ilike'], build: (x, value, read) => like(x, read.one(value), true, true) },
  { names: ['contains'], build: (x, value, read) => call('contains', x, read.one(value)) },
  { names: ['startswith'], build: (x, value, read) => call('starts_with', x, read.one(value)) },
  { names: ['endswith'], build: (x, value, read) => call('ends_with', x, read.one(value)) },
  { names: ['is null'], build: (x) => isNull(x, false), needsNoValue: true },
  { names: ['is not null'], build: (x) => isNull(x, true), needsNoValue: true },
]

const BY_NAME: ReadonlyMap<string, Operator> = new Map(
  OPERATORS.flatMap((operator) => operator.names.map((name) => [name, operator] as const)),
)

class CriteriaReader {
  readonly #table: TableView
  readonly #values: CallValues

  constructor(table: TableView, values: CallValues) {
    this.#table = table
    this.#values = values
  }

  all(items: readonly Json[], depth: number): Expression | undefined {
    return this.#join(items, 'and', depth)
  }

  #join(items: readonly Json[], operator: 'and' | 'or', depth: number): Expression | undefined {
    const [first, ...rest] = items.map((item) => this.#criterion(item, depth))
    return first === undefined ? undefined : rest.reduce((left, right) => binary(operator, left, right), first)
  }

  #criterion(item: Json, depth: number): Expression {
    if (!isObject(item)) throw badCriteria('A criterion is an object with ColumnName, Operator and Value')
    const members = membersByName(item)
    const group = members.size === 1 ? [...members][0] : undefined
    if (group?.[0] === 'and' || group?.[0] === 'or') return this.#group(group[0], group[1], depth)
    if (group?.[0] === 'not')
      return { kind: 'unary', operator: 'not', operand: this.#criterion(group[1], depth + 1), ...AT }
    for (const name of members.keys()) {
      if (!MEMBERS.includes(name))
        throw badCriteria(`A criterion has no member ${shown(name)}`, [
          'ColumnName',
          'Operator',
          'Value',
          'And',
          'Or',
          'Not',
        ])
    }
    const column = this.#column(members.get('columnname'))
    const { build, needsNoValue } = findOperator(members.get('operator'))
    if (needsNoValue === undefined && !members.has('value'))
      throw badCriteria(`The criterion on ${column} has no Value`)
    return build(columnRef(column), members.get('value') ?? null, this.#reader(column))
  }

  #group(operator: 'and' | 'or', items: Json | undefined, depth: number): Expression {
    if (!isList(items)) throw badCriteria(`${operator === 'and' ? 'And' : 'Or'} takes an array of criteria`)
    // An empty And is true, an empty Or is false.
    return this.#join(items, operator, depth + 1) ?? boolean(operator === 'and')
  }

  #column(name: Json | undefined): string {
    if (typeof name !== 'string') throw badCriteria('ColumnName must be a string')
    return findColumn(this.#table, name)
  }

  #reader(column: string): OperandReader {
    const one = (value: Json): Expression => {
      if (value === null)
        throw refuse(
          'Criteria.BadNull',
          `This operator cannot compare ${column} with null; use "is null" or "is not null"`,
        )
      return parameterRef(this.#values.add(column, value))
    }
    return {
      one,
      list: (value, min, max) => {
        if (!isList(value)) throw badCriteria(`The Value for ${column} must be an array`)
        if (value.length < min || value.length > max) {
          throw badCriteria(
            min === max
              ? `The Value for ${column} must be an array of ${min} items`
              : `The Value for ${column} has more than ${max} items`,
          )
        }
        return value.map(one)
      },
    }
  }
}

const MEMBERS = ['columnname', 'operator', 'value']

function findOperator(operator: Json | undefined): Operator {
  const known = BY_NAME.get(normalizeOperator(operator))
  if (known !== undefined) return known
  throw refuse('Criteria.UnknownOperator', `There is no operator ${shown(operator ?? null)}`, {
    members: { Expected: OPERATORS.flatMap(({ names }) => names[0] ?? []) },
  })
}

const LONGEST_OPERATOR = 100

function normalizeOperator(operator: Json | undefined): string {
  if (typeof operator !== 'string' || operator.length > LONGEST_OPERATOR) return ''
  return operator.trim().toLowerCase().replace(/\s+/g, ' ')
}

function badCriteria(detail: string, expected?: readonly string[]): Error {
  return refuse('Request.BadBody', detail, expected === undefined ? {} : { members: { Expected: expected } })
}

/** IQL has no empty lists: `in []` is always false and `not in []` always true. */
function inList(operand: Expression, items: readonly Expression[], negated: boolean): Expression {
  if (items.length === 0) return boolean(negated)
  return { kind: 'in-list', operand, items, negated, ...AT }
}

function between(operand: Expression, [low, high]: readonly Expression[], negated: boolean): Expression {
  if (low === undefined || high === undefined) throw badCriteria('between takes two values')
  return { kind: 'between', operand, low, high, negated, ...AT }
}

function like(operand: Expression, pattern: Expression, negated: boolean, ignoreCase: boolean): Expression {
  return { kind: 'like', operand, pattern, escape: undefined, negated, ignoreCase, ...AT }
}

function call(name: string, ...args: Expression[]): Expression {
  return {
    kind: 'call',
    name: buildName(name),
    star: false,
    distinct: false,
    arguments: args,
    orderBy: [],
    filter: undefined,
    over: undefined,
  }
}

/** The values of a call on a table, each for a parameter of the statement that is built for it; these are named v0, v1, … */
export class CallValues {
  readonly #columns: string[]
  readonly #values: Json[]

  constructor(columns: string[] = [], values: Json[] = []) {
    this.#columns = columns
    this.#values = values
  }

  /** Returns the name of the new parameter. */
  add(column: string, value: Json): string {
    this.#columns.push(column)
    return `v${this.#values.push(value) - 1}`
  }

  /** In the order of the bound statement's parameters, each read as the type of its column. */
  read(parameters: readonly StatementParameter[]): IqlValue[] {
    return parameters.map(({ name, type }) => {
      const ordinal = Number(name.slice(1))
      const column = this.#columns[ordinal]
      const value = this.#values[ordinal]
      if (column === undefined || value === undefined) throw new Error(`The parameter ${name} has no value`)
      return readColumnValue(column, type, value)
    })
  }
}
