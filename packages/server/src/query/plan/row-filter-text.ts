/** The row filter of a table as it applies to one user: the claims of the user in place of :sub, :username and :roles. */
import { AT, type Expression, parseExpressionText, printExpression, ROLE_CLAIMS, withChildren } from 'gatehouse-iql'

export interface FilterClaims {
  readonly subject: string
  readonly username: string
  readonly roles: readonly string[]
}

/** `:client` stays as it is: it depends on the application that the user uses. */
export function filterFor(filter: string, claims: FilterClaims): string {
  return printExpression(withClaims(parseExpressionText(filter), claims))
}

function withClaims(node: Expression, claims: FilterClaims): Expression {
  const roles = claims.roles.map(text)
  // `desk = :roles` is true if desk is one of them.
  if (node.kind === 'binary' && isRoles(node.right) && (node.operator === '=' || node.operator === '<>')) {
    const operand = withClaims(node.left, claims)
    return { kind: 'in-list', operand, items: roles, negated: node.operator === '<>', ...AT }
  }
  if (node.kind === 'in-list' && node.items.some(isRoles))
    return { ...node, operand: withClaims(node.operand, claims), items: roles }
  if (node.kind !== 'parameter') return withChildren(node, (child) => withClaims(child, claims))
  const name = node.name.toLowerCase()
  return name === 'sub' ? text(claims.subject) : name === 'username' ? text(claims.username) : node
}

function isRoles(node: Expression): boolean {
  return node.kind === 'parameter' && ROLE_CLAIMS.has(node.name.toLowerCase())
}

function text(value: string): Expression {
  return { kind: 'text', value, ...AT }
}
