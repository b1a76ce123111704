/** Binds ASOF JOIN: equal keys, and one comparison that says which row is nearest. */
import type { Join } from './ast.ts'
import { childrenOf } from './ast-children.ts'
import type { Binary, Expression } from './ast-expression.ts'
import { bindExpression } from './bind-expression.ts'
import type { BoundFrom } from './bind-from.ts'
import { type Binding, startOf } from './binding.ts'
import type { AsofJoin } from './bound.ts'
import type { BoundExpression, BoundOrder, Compare } from './bound-expression.ts'
import { sameName } from './names.ts'
import type { Scope, ScopeSource } from './scope.ts'
import { isComparable } from './types.ts'

export function bindAsof(binding: Binding, scope: Scope, left: BoundFrom, right: BoundFrom, written: Join): AsofJoin {
  const [entry, another] = right.entries
  const { source } = right
  if (entry === undefined || another !== undefined || source.kind === 'join' || source.kind === 'asof') {
    throw binding.fail('BadJoin', written.at, 'The right side of ASOF JOIN is one table or sub-query')
  }
  const keys: { left: BoundExpression; right: BoundExpression }[] = []
  let near: AsofJoin['near'] | undefined
  for (const condition of conjunctsOf(written.on)) {
    const compare = bindComparison(binding, scope, condition, left.entries, entry)
    if (compare.operator === '=') keys.push({ left: compare.left, right: compare.right })
    else if (near === undefined) near = { operator: compare.operator, left: compare.left, right: compare.right }
    else throw binding.fail('BadJoin', startOf(condition), 'ASOF JOIN has one comparison of nearness, this is a second')
  }
  if (near === undefined) {
    throw binding.fail('BadJoin', written.at, 'ASOF JOIN needs a comparison that says which row is nearest', {
      hint: 'write AND a.ts >= b.ts',
    })
  }
  return {
    kind: 'asof',
    outer: written.join === 'asof-left',
    left: left.source,
    right: source,
    keys,
    near,
    tie: tieOf(right, entry),
  }
}

function conjunctsOf(condition: Expression | undefined): Expression[] {
  const found: Expression[] = []
  let rest = condition
  while (rest?.kind === 'binary' && rest.operator === 'and') {
    found.push(rest.right)
    rest = rest.left
  }
  return rest === undefined ? found : [rest, ...found.reverse()]
}

const MIRRORED = { '=': '=', '>=': '<=', '>': '<', '<=': '>=', '<': '>' } as const

/** A comparison of something of the left with something of the right, turned so that the left stands first. */
function bindComparison(
  binding: Binding,
  scope: Scope,
  condition: Expression,
  left: readonly ScopeSource[],
  right: ScopeSource,
): { operator: keyof typeof MIRRORED; left: BoundExpression; right: BoundExpression } {
  const fail = () => {
    return binding.fail(
      'BadJoin',
      startOf(condition),
      'ASOF JOIN takes comparisons of a left with a right column, joined by AND',
    )
  }
  if (condition.kind !== 'binary') throw fail()
  const bound = bindExpression(binding, scope, condition)
  if (bound.kind !== 'compare' || !isMirrored(bound.operator)) throw fail()
  const sides = [sideOf(condition.left, left, right), sideOf(condition.right, left, right)].join(' ')
  if (sides === 'left right') return { operator: bound.operator, left: bound.left, right: bound.right }
  if (sides === 'right left') return { operator: MIRRORED[bound.operator], left: bound.right, right: bound.left }
  throw fail()
}

function isMirrored(operator: Compare['operator']): operator is keyof typeof MIRRORED {
  return operator in MIRRORED
}

function sideOf(expression: Binary['left'], left: readonly ScopeSource[], right: ScopeSource): string {
  const sides = new Set<string>()
  const visit = (node: Expression) => {
    if (node.kind === 'column') sides.add(isOf(node, [right]) ? 'right' : isOf(node, left) ? 'left' : 'outer')
    else if (node.kind === 'subquery' || node.kind === 'exists' || node.kind === 'in-query') sides.add('outer')
    childrenOf(node).forEach(visit)
  }
  visit(expression)
  return sides.size === 1 ? ([...sides][0] ?? 'none') : 'none'
}

function isOf({ table, name }: Extract<Expression, { kind: 'column' }>, sources: readonly ScopeSource[]): boolean {
  return sources.some((source) => {
    const isNamed = table === undefined || sameName(table.text, source.name)
    return isNamed && source.columns.some((column) => sameName(column.name, name.text))
  })
}

/** What tells rows of equal nearness apart, so that every engine picks the same one. */
function tieOf({ source }: BoundFrom, { id, columns }: ScopeSource): BoundOrder[] {
  const key = source.kind === 'table' ? source.table.primaryKey : []
  return columns.flatMap(({ name, type, nullable }, ordinal) => {
    const tells = key.length === 0 ? isComparable(type) : key.some((part) => sameName(part, name))
    if (!tells) return []
    return [
      { expression: { kind: 'column', source: id, ordinal, name, type, nullable }, descending: false, nulls: 'last' },
    ]
  })
}
