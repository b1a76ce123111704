/** Binds a condition of an alert: comparisons over the columns of the result, with literals, parameters and each other. */
import {
  type Bound,
  type BoundExpression,
  bind,
  type IqlValue,
  NO_TABLES,
  type ParameterInput,
  parse,
  parseExpressionText,
  type ResultColumn,
  readParameters,
  refuse,
  type TableView,
} from 'gatehouse-iql'
import type { Refusal } from 'gatehouse-protocol'

export interface BoundCondition {
  readonly expression: BoundExpression
  readonly parameters: readonly IqlValue[]
}

const RESULT = 'result'
const QUERY = parse(`SELECT 1 AS one FROM ${RESULT}`)

/** Throws a Refusal whose text says what is wrong. Parameters that the condition does not name are ignored. */
export function bindCondition(
  text: string,
  columns: readonly ResultColumn[],
  inputs: ReadonlyMap<string, ParameterInput>,
): BoundCondition {
  const where = parseExpressionText(text)
  if (QUERY.kind !== 'query' || QUERY.body.kind !== 'select') throw new Error('A SELECT is a query')
  const statement = { ...QUERY, body: { ...QUERY.body, where } }
  const table = resultTable(columns)
  const lookup = (name: string) => (name.toLowerCase() === RESULT ? table : undefined)
  const bound = bind(statement, text, { ...NO_TABLES, lookup })
  const expression = findCondition(bound)
  refuseOthers(expression)
  const named = new Set(bound.parameters.map(({ name }) => name.toLowerCase()))
  const given = new Map([...inputs].filter(([name]) => named.has(name.toLowerCase())))
  return { expression, parameters: readParameters(text, bound, given) }
}

function resultTable(columns: readonly ResultColumn[]): TableView {
  return {
    name: RESULT,
    columns: columns.map(({ name, type }) => ({ name, type, nullable: true, hasDefault: false })),
    primaryKey: [],
    uniques: [],
    rowFilter: undefined,
    isSystem: true,
    isWritable: false,
    isLive: false,
  }
}

function findCondition({ statement }: Bound): BoundExpression {
  if (statement.kind !== 'query' || statement.body.kind !== 'select' || statement.body.where === undefined)
    throw new Error('The condition was lost')
  return statement.body.where
}

/** What is computed is the business of the statement, which both engines compute alike. */
function refuseOthers(expression: BoundExpression): void {
  switch (expression.kind) {
    case 'literal':
    case 'parameter':
    case 'column':
      break
    case 'compare':
      refuseAll([expression.left, expression.right])
      break
    case 'logic':
      refuseAll(expression.operands)
      break
    case 'not':
    case 'is-null':
      refuseOthers(expression.operand)
      break
    case 'between':
      refuseAll([expression.operand, expression.low, expression.high])
      break
    case 'in-list':
      refuseAll([expression.operand, ...expression.items])
      break
    case 'widen':
      refuseValue(expression.operand)
      break
    case 'cast':
      // A number that is compared with a Double.
      if (expression.type.kind !== 'Double') throw tooMuch()
      refuseValue(expression.operand)
      break
    default:
      throw tooMuch()
  }
}

function refuseAll(expressions: readonly BoundExpression[]): void {
  for (const each of expressions) refuseOthers(each)
}

function refuseValue(expression: BoundExpression): void {
  if (expression.kind === 'widen') refuseValue(expression.operand)
  else if (!['literal', 'parameter', 'column'].includes(expression.kind)) throw tooMuch()
}

function tooMuch(): Refusal {
  const text =
    'A condition compares columns of the result with values or each other, by =, <>, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, OR and NOT: compute in the statement'
  return refuse('BadDefinition', text, { statement: '', at: 0 })
}
