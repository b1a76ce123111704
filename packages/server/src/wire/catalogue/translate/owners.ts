/** Which rows of tables such as pg_attribute a query wants: only those of one table, if its conditions say so. */
import type { Expression, From, Select } from '../syntax/ast.ts'
import type { Scope } from './scope.ts'
import type { Read } from './translation.ts'

type Join = Extract<From, { kind: 'join' }>

/**
 * A read whose owner column must equal a constant, directly or through other columns, needs the rows of that table only. So \d of one
 * table does not build the columns of thousands. Conditions of WHERE and of inner joins hold for every row of the result.
 */
export function findOwners({ where, from }: Select, scope: Scope, reads: readonly Read[]): void {
  const joins = from.flatMap(collectJoins)
  const inner = joins.filter(({ join }) => join === 'JOIN').map(({ on }) => on)
  const { known, pairs } = equalities([where, ...inner], scope)
  for (let before = -1; before !== known.size; ) {
    before = known.size
    for (const [left, right] of pairs) {
      const value =
        known.get(left) ?? known.get(right) ?? scope.parent?.knownValue(left) ?? scope.parent?.knownValue(right)
      if (value !== undefined) known.set(left, value).set(right, value)
    }
  }
  for (const join of joins.filter(({ join: kind }) => kind === 'LEFT JOIN')) addJoined(join, scope, known)
  scope.known = known
  for (const read of reads) if (read.ownerColumn !== undefined) read.owner = known.get(read.ownerColumn)
}

/** A left join reads no other rows of its right side. Of its left side its condition tells nothing. */
function addJoined({ on, right }: Join, scope: Scope, known: Map<string, number>): void {
  if (right.kind !== 'table') return
  const source = scope.source(right.alias.name ?? right.path.at(-1) ?? '')
  const own = new Set(source?.columns.map(({ sql }) => sql))
  for (const [left, other] of equalities([on], scope).pairs) {
    const [column, outer] = own.has(left) ? [left, other] : [other, left]
    const value = known.get(outer)
    if (own.has(column) && !own.has(outer) && value !== undefined) known.set(column, value)
  }
}

function collectJoins(from: From): Join[] {
  return from.kind === 'join' ? [from, ...collectJoins(from.left), ...collectJoins(from.right)] : []
}

/** Columns that equal a constant, and pairs of equal columns, by their SQL. */
function equalities(conditions: readonly (Expression | undefined)[], scope: Scope) {
  const known = new Map<string, number>()
  const pairs: [string, string][] = []
  for (const condition of conditions.flatMap((one) => (one === undefined ? [] : conjuncts(one)))) {
    if (condition.kind !== 'binary' || condition.operator !== '=') continue
    const sides = [condition.left, condition.right] as const
    const [left, right] = sides.map((side) =>
      side.kind === 'column' ? scope.find(side.path, side.at)?.sql : undefined,
    )
    if (left !== undefined && right !== undefined) pairs.push([left, right])
    const column = left ?? right
    const constant = readConstant(left === undefined ? condition.left : condition.right)
    if (column !== undefined && constant !== undefined) known.set(column, constant)
  }
  return { known, pairs }
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

function readConstant(value: Expression): number | undefined {
  const isNumber = (value.kind === 'text' || value.kind === 'number') && /^\d{1,10}$/.test(value.value)
  return isNumber ? Number(value.value) : undefined
}
