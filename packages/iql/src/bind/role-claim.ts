/** Tests of the caller's roles in a row filter: `desk = :role`, `'auditor' IN (:role)`. */
import type { BoundExpression } from '../bound/bound-query.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Expression } from '../syntax/ast-query.ts'
import { BOOLEAN, TEXT } from '../types/types.ts'
import { mismatch } from './mismatch.ts'

export function isRoleClaim(binding: Binding, expression: Expression): boolean {
  return binding.bindsRowFilter && expression.kind === 'parameter' && ROLE_CLAIMS.has(expression.name.toLowerCase())
}

/** The roles of the caller, in a row filter. */
export const ROLE_CLAIMS: ReadonlySet<string> = new Set(['roles', 'role'])

export function roleTest(binding: Binding, scope: Scope, written: Expression, negated: boolean): BoundExpression {
  const operand = binding.expression(scope, written, TEXT)
  if (operand.type.kind !== 'Text') throw mismatch(binding, '=', operand.type, TEXT, startPosition(written))
  binding.usesClaims = true
  return { kind: 'claim-in', claim: 'role', operand, negated, type: BOOLEAN, nullable: operand.nullable }
}
