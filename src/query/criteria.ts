/** Selection criteria: a JSON array of conditions, read into the tree of a WHERE clause. */
import { refuse } from './errors.ts'
import type { GivenValues } from './given.ts'
import type { BinaryOperator, Expression } from './iql/ast-expression.ts'
import type { TableView } from './iql/catalogue-view.ts'
import { didYouMean } from './iql/did-you-mean.ts'
import { isList, isObject, type Json, membersOf } from './json.ts'

const MOST_CRITERIA = 1000
const DEEPEST = 32
const MOST_ITEMS = 10_000

/** ANDed; undefined without any. */
export function readCriteria(body: Json, table: TableView, values: GivenValues): Expression | undefined {
  if (!isList(body)) throw badCriteria('The criteria are a JSON array')
  const reader = new CriteriaReader(table, values)
  return reader.all(body, 0)
}

/** What an operator makes of its operand and its value. */
type Build = (operand: Expression, value: Json, reader: OperandReader) => Expression

interface OperandReader {
  /** One value that is not null. */
  one(value: Json): Expression
  list(value: Json, least: number, most: number): Expression[]
}

const AT = { at: 0 }

interface Operator {
  readonly names: readonly string[]
  readonly build: Build
  /** Must be said for all others: one that was forgotten is not a null. */
  readonly needsNoValue?: true
}

/** Every operator with its other spellings; the first is the one that messages list. */
export const OPERATORS: readonly Operator[] = [
  {
    names: ['=', '==', 'eq'],
    build: (x, value, read) => (value === null ? isNull(x, false) : compare('=', x, read.one(value))),
  },
  {
    names: ['<>', '!=', 'ne'],
    build: (x, value, read) => (value === null ? isNull(x, true) : compare('<>', x, read.one(value))),
  },
  { names: ['<', 'lt'], build: (x, value, read) => compare('<', x, read.one(value)) },
  { names: ['<=', 'le', 'lte'], build: (x, value, read) => compare('<=', x, read.one(value)) },
  { names: ['>', 'gt'], build: (x, value, read) => compare('>', x, read.one(value)) },
  { names: ['>=', 'ge', 'gte'], build: (x, value, read) => compare('>=', x, read.one(value)) },
  { names: ['in'], build: (x, value, read) => inList(x, read.list(value, 0, MOST_ITEMS), false) },
  { names: ['not in'], build: (x, value, read) => inList(x, read.list(value, 0, MOST_ITEMS), true) },
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
  readonly #values: GivenValues
  #count = 0

  constructor(table: TableView, values: GivenValues) {
    this.#table = table
    this.#values = values
  }

  all(items: readonly Json[], depth: number): Expression | undefined {
    return this.#join(items, 'and', depth)
  }

  #join(items: readonly Json[], operator: 'and' | 'or', depth: number): Expression | undefined {
    const [first, ...rest] = items.map((item) => this.#criterion(item, depth))
    return first === undefined
      ? undefined
      : rest.reduce<Expression>((left, right) => ({ kind: 'binary', operator, left, right, ...AT }), first)
  }

  #criterion(item: Json, depth: number): Expression {
    if (++this.#count > MOST_CRITERIA) throw badCriteria(`There are more than ${MOST_CRITERIA} criteria`)
    if (depth > DEEPEST) throw badCriteria(`The criteria are nested more than ${DEEPEST} deep`)
    if (!isObject(item)) throw badCriteria('A criterion is an object with ColumnName, Operator and Value')
    const members = membersOf(item)
    const group = members.size === 1 ? [...members][0] : undefined
    if (group?.[0] === 'and' || group?.[0] === 'or') return this.#group(group[0], group[1], depth)
    if (group?.[0] === 'not')
      return { kind: 'unary', operator: 'not', operand: this.#criterion(group[1], depth + 1), ...AT }
    for (const name of members.keys()) {
      if (!MEMBERS.includes(name))
        throw badCriteria(`A criterion has no member ${JSON.stringify(name)}`, [
          'ColumnName',
          'Operator',
          'Value',
          'And',
          'Or',
          'Not',
        ])
    }
    const column = this.#column(members.get('columnname'))
    const { build, needsNoValue } = operatorOf(members.get('operator'))
    if (needsNoValue === undefined && !members.has('value'))
      throw badCriteria(`The criterion on ${column} has no Value`)
    const name: Expression = { kind: 'column', table: undefined, name: { text: column, ...AT } }
    return build(name, members.get('value') ?? null, this.#reader(column))
  }

  #group(operator: 'and' | 'or', items: Json | undefined, depth: number): Expression {
    if (!isList(items)) throw badCriteria(`${operator === 'and' ? 'And' : 'Or'} takes an array of criteria`)
    // The empty conjunction holds, the empty disjunction does not.
    return this.#join(items, operator, depth + 1) ?? { kind: 'boolean', value: operator === 'and', ...AT }
  }

  #column(name: Json | undefined): string {
    if (typeof name !== 'string') throw badCriteria('ColumnName is a text')
    return findColumn(this.#table, name)
  }

  #reader(column: string): OperandReader {
    const one = (value: Json): Expression => {
      if (value === null)
        throw refuse('Criteria.BadNull', `Null cannot be compared with ${column} so; use "is null" or "is not null"`)
      return { kind: 'parameter', name: this.#values.add(column, value), ...AT }
    }
    return {
      one,
      list: (value, least, most) => {
        if (!isList(value)) throw badCriteria(`The Value for ${column} is an array`)
        if (value.length < least || value.length > most) {
          throw badCriteria(
            least === most
              ? `The Value for ${column} is an array of ${least}`
              : `The Value for ${column} has more than ${most} items`,
          )
        }
        return value.map(one)
      },
    }
  }
}

const MEMBERS = ['columnname', 'operator', 'value']

/** The column's own spelling. */
export function findColumn(table: TableView, name: string): string {
  const found = table.columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found.name
  const names = table.columns.map((column) => column.name)
  const hint = didYouMean(name, names)
  throw refuse('Criteria.UnknownColumn', `The table ${table.name} has no column ${JSON.stringify(name)}`, {
    members: { Expected: names, ...(hint === undefined ? {} : { Hint: hint }) },
  })
}

function operatorOf(operator: Json | undefined): Operator {
  const known =
    typeof operator === 'string' ? BY_NAME.get(operator.trim().toLowerCase().replace(/\s+/g, ' ')) : undefined
  if (known !== undefined) return known
  throw refuse('Criteria.UnknownOperator', `There is no operator ${JSON.stringify(operator ?? null)}`, {
    members: { Expected: OPERATORS.flatMap(({ names }) => names[0] ?? []) },
  })
}

function badCriteria(detail: string, expected?: readonly string[]): Error {
  return refuse('Request.BadBody', detail, expected === undefined ? {} : { members: { Expected: expected } })
}

function compare(operator: BinaryOperator, left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator, left, right, ...AT }
}

function isNull(operand: Expression, negated: boolean): Expression {
  return { kind: 'is-null', operand, negated, ...AT }
}

/** IQL has no empty list: nothing is in it, everything is not. */
function inList(operand: Expression, items: readonly Expression[], negated: boolean): Expression {
  if (items.length === 0) return { kind: 'boolean', value: negated, ...AT }
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
    name: { text: name, ...AT },
    star: false,
    distinct: false,
    arguments: args,
    orderBy: [],
    filter: undefined,
    over: undefined,
  }
}
