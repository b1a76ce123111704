/** Binds LATEST ON: the last row of each key. */

import { isGivenValue } from '../bound/bound-leaf.ts'
import type { BoundExpression, BoundLatest, BoundOrder, Source } from '../bound/bound-query.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, type Scope } from '../scope/scope.ts'
import type { Latest } from '../syntax/ast-query.ts'
import { sameName } from '../syntax/names.ts'
import { isComparable, isStorable, typeName } from '../types/types.ts'
import { computeFingerprint } from './expression.ts'

export function bindLatest(binding: Binding, scope: Scope, from: Source | undefined, written: Latest): BoundLatest {
  const [entry] = scope.sources
  if (
    from === undefined ||
    from.kind === 'join' ||
    from.kind === 'asof' ||
    from.kind === 'series' ||
    entry === undefined
  ) {
    throw binding.fail('BadJoin', written.at, 'LATEST ON takes a single table or sub-query in FROM', {
      hint: 'join in a sub-query, or join the result',
    })
  }
  scope.clause = CLAUSES.latest
  const bindKey = (key: Latest['on']): BoundExpression => {
    const bound = binding.expression(scope, key)
    if (isGivenValue(bound))
      throw binding.fail('BadOrder', startPosition(key), 'LATEST ON takes columns, not a constant')
    if (isComparable(bound.type) && isStorable(bound.type)) return bound
    throw binding.fail('TypeMismatch', startPosition(key), `LATEST ON cannot compare ${typeName(bound.type)}`)
  }
  const on = bindKey(written.on)
  const partitionBy = written.partitionBy.map(bindKey)
  const names = partitionBy.map((part, index) => (part.kind === 'column' ? part.name : `key${index + 1}`))
  const given = new Set([on, ...partitionBy].map(computeFingerprint))
  // Of rows that tie the last by the primary key counts, or by all columns: every engine picks the same one.
  const primaryKey = from.kind === 'table' ? from.table.primaryKey : []
  const ties = entry.columns.flatMap(({ name, type, nullable }, ordinal): BoundOrder[] => {
    const breaksTies = primaryKey.length === 0 ? isComparable(type) : primaryKey.some((part) => sameName(part, name))
    const column: BoundExpression = { kind: 'column', source: entry.id, ordinal, name, type, nullable }
    return breaksTies && !given.has(computeFingerprint(column)) ? [descending(column)] : []
  })
  // Rows whose `on` is NULL are left out.
  return { names, on, partitionBy, order: [descending({ ...on, nullable: false }), ...ties] }
}

function descending(expression: BoundExpression): BoundOrder {
  return { expression, descending: true, nulls: 'last' }
}
