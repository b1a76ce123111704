/** The row filter of a table as it applies to one caller: claims and attributes in place of :sub, :username, :client, :roles and :attribute.…. */
import {
  AT,
  type Expression,
  namedAttribute,
  parseExpressionText,
  printExpression,
  ROLE_CLAIMS,
  withChildren,
} from 'gatehouse-iql'
import type { AttributeValue, AttributeValues } from '../../store/accounts/user.ts'
import { listValues } from '../../store/attributes/attribute-values.ts'
import type { AttributeViews } from '../catalogue/attributes.ts'

export interface FilterClaims {
  readonly subject: string
  /** Undefined: `:username` stays as it is. */
  readonly username: string | undefined
  /** Undefined: `:client` stays as it is. It depends on the application that a user uses. */
  readonly clientId?: string
  readonly roles: readonly string[]
  /** Nodes of earlier versions do not send them. */
  readonly attributes?: AttributeValues
}

export function filterFor(filter: string, claims: FilterClaims, attributes: AttributeViews): string {
  return writeFilter(parseExpressionText(filter), claims, attributes)
}

export function writeFilter(filter: Expression, claims: FilterClaims, attributes: AttributeViews): string {
  return printExpression(withClaims(filter, { claims, attributes }))
}

interface User {
  readonly claims: FilterClaims
  readonly attributes: AttributeViews
}

function withClaims(node: Expression, user: User): Expression {
  // `desk = :roles` is true if desk is one of them.
  if (node.kind === 'binary' && (node.operator === '=' || node.operator === '<>')) {
    for (const [set, other] of [
      [node.right, node.left],
      [node.left, node.right],
    ] as const) {
      const items = setItems(set, user)
      const negated = node.operator === '<>'
      if (items !== undefined) return { kind: 'in-list', operand: withClaims(other, user), items, negated, ...AT }
    }
  }
  if (node.kind === 'in-list') {
    const items = node.items.map((item) => setItems(item, user)).find((found) => found !== undefined)
    if (items !== undefined) return { ...node, operand: withClaims(node.operand, user), items }
  }
  if (node.kind !== 'parameter') return withChildren(node, (child) => withClaims(child, user))
  const attribute = namedAttribute(node)
  if (attribute !== undefined) return attributeItems(attribute, user)[0] ?? NULL
  const claim = findClaim(node.name.toLowerCase(), user.claims)
  return claim === undefined ? node : text(claim)
}

function findClaim(name: string, { subject, username, clientId }: FilterClaims): string | undefined {
  switch (name) {
    case 'sub':
      return subject
    case 'username':
      return username
    case 'client':
    case 'client_id':
      return clientId
    default:
      return undefined
  }
}

/** The elements of a set; undefined for any other expression. */
function setItems(node: Expression, user: User): Expression[] | undefined {
  if (node.kind === 'parameter' && ROLE_CLAIMS.has(node.name.toLowerCase())) return user.claims.roles.map(text)
  const attribute = namedAttribute(node)
  if (attribute === undefined || user.attributes.get(attribute)?.many !== true) return undefined
  const items = attributeItems(attribute, user)
  return items.length === 0 ? [NULL] : items
}

function attributeItems(name: string, { claims, attributes }: User): Expression[] {
  const isDate = attributes.get(name)?.type.kind === 'Date'
  return listValues(claims.attributes ?? {}, name).map((value) =>
    isDate ? { kind: 'typed', type: 'Date', value: String(value), ...AT } : literal(value),
  )
}

const NULL: Expression = { kind: 'null', ...AT }

function literal(value: AttributeValue): Expression {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean') return { kind: 'boolean', value, ...AT }
  const number: Expression = { kind: 'number', text: String(Math.abs(value)), ...AT }
  return value < 0 ? { kind: 'unary', operator: '-', operand: number, ...AT } : number
}

function text(value: string): Expression {
  return { kind: 'text', value, ...AT }
}
