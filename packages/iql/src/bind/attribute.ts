/** Binds attributes of the caller in row filters, where a missing value makes a comparison unknown and can never show a row. */
import type { AttributeClaim } from '../bound/bound-leaf.ts'
import type { BoundExpression } from '../bound/bound-query.ts'
import type { AttributeView } from '../bound/catalogue-view.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import { childExpressions } from '../syntax/ast-children.ts'
import type { Binary, Expression, InList, Parameter } from '../syntax/ast-query.ts'
import { namedAttribute } from '../syntax/attributes.ts'
import { BOOLEAN } from '../types/types.ts'
import { mismatch } from './mismatch.ts'

/**
 * Refuses attributes anywhere but as an operand of a comparison, IN or BETWEEN that is under AND, OR and NOT alone. Everything else, such as
 * IS NULL, COALESCE or CASE, could turn the absence of a value into a row: with these, a row that is shown without a value is shown
 * with every value.
 */
export function checkAttributeUses(binding: Binding, filter: Expression): void {
  const conditions = [filter]
  const others: Expression[] = []
  for (let node = conditions.pop(); node !== undefined; node = conditions.pop()) {
    if (node.kind === 'binary' && (node.operator === 'and' || node.operator === 'or'))
      conditions.push(node.left, node.right)
    else if (node.kind === 'unary' && node.operator === 'not') conditions.push(node.operand)
    else if (isComparison(node))
      others.push(...childExpressions(node).filter((operand) => namedAttribute(operand) === undefined))
    else others.push(node)
  }
  for (let node = others.pop(); node !== undefined; node = others.pop()) {
    const name = namedAttribute(node)
    if (name !== undefined)
      throw binding.fail(
        'BadDefinition',
        startPosition(node),
        `:attribute.${name} can only be an operand of =, <>, <, <=, >, >=, IN or BETWEEN, and these can only be combined with AND, OR and NOT`,
      )
    others.push(...childExpressions(node))
  }
}

const COMPARISONS: ReadonlySet<Binary['operator']> = new Set<Binary['operator']>(['=', '<>', '<', '<=', '>', '>='])

function isComparison(node: Expression): boolean {
  return (
    node.kind === 'between' || node.kind === 'in-list' || (node.kind === 'binary' && COMPARISONS.has(node.operator))
  )
}

/** An attribute with at most one value. */
export function bindAttribute(binding: Binding, parameter: Parameter, name: string): BoundExpression {
  const { type, many } = findAttribute(binding, parameter, name)
  if (many)
    throw binding.fail(
      'BadDefinition',
      parameter.at,
      `:attribute.${name} is a set: write column = :attribute.${name} or column IN (:attribute.${name})`,
    )
  return { kind: 'claim', claim: useAttribute(binding, name), type, nullable: true }
}

/** `operand = :attribute.name`, or with its sides exchanged, for a set of values. Undefined for anything else. */
export function bindSetComparison(binding: Binding, scope: Scope, binary: Binary): BoundExpression | undefined {
  const { operator, left, right } = binary
  if (operator !== '=' && operator !== '<>') return undefined
  for (const [operand, set] of [
    [left, right],
    [right, left],
  ] as const)
    if (isSet(binding, set)) return setTest(binding, scope, operand, set, operator === '<>')
  return undefined
}

/** `operand IN (:attribute.name)` for a set of values. Undefined for anything else. */
export function bindSetMembership(binding: Binding, scope: Scope, list: InList): BoundExpression | undefined {
  const [only, another] = list.items
  if (only === undefined || another !== undefined || !isSet(binding, only)) return undefined
  return setTest(binding, scope, list.operand, only, list.negated)
}

function isSet(binding: Binding, expression: Expression): expression is Parameter {
  const name = binding.bindsRowFilter ? namedAttribute(expression) : undefined
  return name !== undefined && binding.catalogue.attributes.get(name)?.many === true
}

function setTest(
  binding: Binding,
  scope: Scope,
  written: Expression,
  set: Parameter,
  negated: boolean,
): BoundExpression {
  const name = namedAttribute(set) ?? ''
  const { type } = findAttribute(binding, set, name)
  const operand = binding.expression(scope, written, type)
  if (operand.type.kind !== type.kind) throw mismatch(binding, '=', operand.type, type, startPosition(written))
  return { kind: 'claim-in', claim: useAttribute(binding, name), operand, negated, type: BOOLEAN, nullable: true }
}

function findAttribute(binding: Binding, { at }: Parameter, name: string): AttributeView {
  const { attributes } = binding.catalogue
  const attribute = attributes.get(name)
  if (attribute !== undefined) return attribute
  throw binding.fail('BadDefinition', at, `There is no attribute ${name}`, {
    hint: didYouMean(name, [...attributes.keys()]) ?? 'declare it first',
  })
}

function useAttribute(binding: Binding, name: string): AttributeClaim {
  binding.attributes.add(name)
  return `attribute.${name}`
}
