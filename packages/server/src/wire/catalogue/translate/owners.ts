/** Which rows of tables such as pg_attribute a query wants: only those of one table, if its condition says so. */
import type { Expression } from '../syntax/ast.ts'
import type { Scope } from './scope.ts'
import type { Read } from './translation.ts'

/**
 * A read whose owner column must equal a constant, directly or through other columns, needs the rows of that table only. So \d of one
 * table does not build the columns of thousands. Conditions of WHERE hold for every row of the result, whatever the joins are.
 */
export function findOwners(where: Expression | undefined, scope: Scope, reads: readonly Read[]): void {
  if (where === undefined || reads.every(({ ownerColumn }) => ownerColumn === undefined)) return
  const known = new Map<string, number>()
  const pairs: [string, string][] = []
  for (const condition of conjuncts(where)) {
    if (condition.kind !== 'binary' || condition.operator !== '=') continue
    const sides = [condition.left, condition.right] as const
    const [left, right] = sides.map((side) => (side.kind === 'column' ? scope.find(side.path, side.at)?.sql : undefined))
    if (left !== undefined && right !== undefined) pairs.push([left, right])
    const column = left ?? right
    const constant = constantOf(left === undefined ? condition.left : condition.right)
    if (column !== undefined && constant !== undefined) known.set(column, constant)
  }
  for (let before = -1; before !== known.size; ) {
    before = known.size
    for (const [left, right] of pairs) {
      const value = known.get(left) ?? known.get(right)
      if (value !== undefined) known.set(left, value).set(right, value)
    }
  }
  for (const read of reads) if (read.ownerColumn !== undefined) read.owner = known.get(read.ownerColumn)
}

function conjuncts(condition: Expression): Expression[] {
  const found: Expression[] = []
  const waiting = [condition]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === 'binary' && next.operator === 'AND') waiting.push(next.left, next.right)
    else found.push(next)
  }
  return found
}

function constantOf(value: Expression): number | undefined {
  const isNumber = (value.kind === 'text' || value.kind === 'number') && /^\d{1,10}$/.test(value.value)
  return isNumber ? Number(value.value) : undefined
}
