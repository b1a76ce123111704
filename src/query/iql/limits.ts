/** How large and how deep a statement may be. */

export interface Limits {
  /** Bytes of UTF-8. */
  readonly statementBytes: number
  readonly tokens: number
  /** Parentheses, sub-queries, CASE, NOT within one another. */
  readonly nesting: number
  /** Operators within one another, AND and OR left aside: a + b + c is two high. */
  readonly height: number
  /** AND and OR in one expression. */
  readonly conditions: number
  /** In the whole statement. */
  readonly joins: number
  /** UNION, INTERSECT and EXCEPT in the whole statement. */
  readonly setOperations: number
  readonly inItems: number
}

export const DEFAULT_LIMITS: Limits = {
  statementBytes: 64 * 1024,
  tokens: 50_000,
  nesting: 64,
  height: 300,
  conditions: 500,
  joins: 16,
  setOperations: 64,
  inItems: 10_000,
}
