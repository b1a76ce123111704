/** A filter of RFC 7644 §3.4.2.2 as a tree. Names are in lower case: attribute names are case-insensitive (RFC 7643 §2.1). */

export interface AttributePath {
  /** The schema, if it is written in front of the attribute. */
  readonly urn: string | undefined
  readonly name: string
  /** Of a multi-valued attribute, the values that are meant: `emails[type eq "work"]`. */
  readonly filter: Filter | undefined
  readonly sub: string | undefined
}

export const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Operator = (typeof OPERATORS)[number]
export type FilterValue = string | number | boolean | null

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  /** A value with members counts: `pr`, or a path that ends with its own filter. */
  | { readonly kind: 'present'; readonly path: AttributePath }
  | { readonly kind: 'compare'; readonly path: AttributePath; readonly op: Operator; readonly value: FilterValue }
