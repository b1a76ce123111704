/** What an alert is compiled to, once its result is known: its key, its conditions, and how their columns are read. */

import { createHash } from 'node:crypto'
import type { BoundExpression, ParameterInput } from 'gatehouse-iql'
import type { Json } from '../../lib/exact-json.ts'
import { type LiveDescription, parameterInput } from '../../query/index.ts'
import type { AlertDefinition } from '../../store/alerts/alert.ts'
import { type BoundCondition, bindCondition } from '../condition/bind.ts'
import { compileCells } from '../condition/cells.ts'
import { compileCondition, type Evaluate, type Truth } from '../condition/evaluate.ts'
import type { Truths } from '../states/instance.ts'
import type { ResultRow } from './result-sink.ts'

export interface AlertProgram {
  readonly judge: (row: ResultRow['row']) => Truths
}

export function readInputs({ parameters }: Pick<AlertDefinition, 'parameters'>): ReadonlyMap<string, ParameterInput> {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, parameterInput(value as Json)]))
}

/** Throws a Refusal if a condition does not fit the result. */
export function compileProgram(
  { when, until, ...definition }: AlertDefinition,
  { columns }: Pick<LiveDescription, 'columns'>,
): AlertProgram {
  const inputs = readInputs(definition)
  const bindOptional = (text: string) => (text === '' ? undefined : bindCondition(text, columns, inputs))
  const [boundWhen, boundUntil] = [bindOptional(when), bindOptional(until)]
  const used = new Set([boundWhen, boundUntil].flatMap((bound) => (bound === undefined ? [] : usedColumns(bound))))
  const readCells = compileCells(columns, used)
  const isTrue = boundWhen === undefined ? alwaysTrue : compileCondition(boundWhen)
  const ends = boundUntil === undefined ? undefined : compileCondition(boundUntil)
  return {
    judge(row) {
      const cells = readCells(row)
      return { when: isTrue(cells), until: ends === undefined ? 'when' : ends(cells) }
    },
  }
}

const alwaysTrue: Evaluate = (): Truth => true

function usedColumns({ expression }: BoundCondition): number[] {
  const found: number[] = []
  const visit = (each: BoundExpression): void => {
    if (each.kind === 'column') found.push(each.ordinal)
    for (const operand of listOperands(each)) visit(operand)
  }
  visit(expression)
  return found
}

/** Of the expressions that a condition may have. */
function listOperands(expression: BoundExpression): readonly BoundExpression[] {
  switch (expression.kind) {
    case 'compare':
      return [expression.left, expression.right]
    case 'logic':
      return expression.operands
    case 'between':
      return [expression.operand, expression.low, expression.high]
    case 'in-list':
      return [expression.operand, ...expression.items]
    case 'not':
    case 'is-null':
    case 'widen':
    case 'cast':
      return [expression.operand]
    default:
      return []
  }
}

/** Another one where other rows are evaluated, or by other conditions or times: the states begin anew then. */
export function digestBasis(definition: AlertDefinition): string {
  const { paused: _, ...basis } = definition
  return createHash('sha256').update(JSON.stringify(basis)).digest('base64url')
}
