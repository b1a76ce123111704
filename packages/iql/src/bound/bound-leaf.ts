/** Bound expressions without operands: literals, parameters, claims of the caller, columns. */
import type { IqlType, IqlValue } from '../types/types.ts'

/** `nullable: false` guarantees that the value is not NULL. */
export interface Typed {
  readonly type: IqlType
  readonly nullable: boolean
}

/** A constant, in memory as described at IqlValue. */
export interface Literal extends Typed {
  readonly kind: 'literal'
  readonly value: IqlValue
  /** Where the statement has it; set only if the plan may serve statements with other literals. */
  readonly written?: WrittenAt | undefined
}

/** The literal at `index` of the statement's shape, behind a sign. */
export interface WrittenAt {
  readonly index: number
  readonly sign: '' | '-'
}

/** :name or $1. `index` is an index into Bound.parameters and into the values from readParameters. */
export interface Parameter extends Typed {
  readonly kind: 'parameter'
  readonly index: number
}

/** The subject, username, client or an attribute of the caller, in a row filter. The statement cannot influence it. */
export interface Claim extends Typed {
  readonly kind: 'claim'
  readonly claim: ClaimName | AttributeClaim
}

/** The current value of an attribute, not that of the token. */
export type AttributeClaim = `attribute.${string}`

export type ClaimName = 'sub' | 'username' | 'client_id'

/** [table.]column: the column at `ordinal` of the source with the id `source`, in this or an enclosing query. */
export interface Column extends Typed {
  readonly kind: 'column'
  readonly source: number
  readonly ordinal: number
  readonly name: string
}

/** In ORDER BY: the output column at `ordinal`, written as its name, its number or its expression. */
export interface Output extends Typed {
  readonly kind: 'output'
  readonly ordinal: number
}

/** Whether it is a literal or a parameter: the same for every row, so that grouping or ordering by it is meaningless. */
export function isGivenValue({ kind }: { readonly kind: string }): boolean {
  return kind === 'literal' || kind === 'parameter'
}
