/** What the translation of one statement shares: its parameters, its aliases, the tables that it reads. */
import { OID } from '../data/types.ts'
import type { Query } from '../syntax/ast.ts'
import { type Column, Scope } from './scope.ts'
import type { ParameterTypes } from './typed.ts'

export interface TranslatedQuery {
  readonly sql: string
  /** In its SQL they are named c1, c2 … */
  readonly columns: readonly Omit<Column, 'sql'>[]
}

export interface Read {
  readonly table: string
  /** The SQL of the column that says to which table a row belongs, if it has one. */
  readonly ownerColumn: string | undefined
  /** The only such table whose rows are wanted. */
  owner: number | undefined
}

/** Expressions contain queries, and queries expressions: `translateQuery` keeps the two files from importing each other. */
export type TranslateQuery = (query: Query, scope: Scope, translation: Translation) => TranslatedQuery

export class Translation implements ParameterTypes {
  /** By number, from 1. */
  readonly #types: number[] = []
  readonly #declared: readonly number[]
  readonly #translateQuery: TranslateQuery
  /** The tables of the catalogue that the statement reads. */
  readonly reads: Read[] = []
  #aliases = 0

  constructor(declared: readonly number[], translateQuery: TranslateQuery) {
    this.#declared = declared
    this.#translateQuery = translateQuery
  }

  query(query: Query, scope: Scope): TranslatedQuery {
    return this.#translateQuery(query, new Scope(scope), this)
  }

  alias(): string {
    return `t${++this.#aliases}`
  }

  /** The type of a parameter, as declared or found so far. */
  parameterType(index: number): number {
    const declared = this.#declared[index - 1] ?? 0
    const isDeclared = declared !== 0 && declared !== OID.unknown
    this.#types[index] ??= isDeclared ? declared : OID.unknown
    return this.#types[index]
  }

  settle(parameter: number, type: number): void {
    if (this.parameterType(parameter) === OID.unknown) this.#types[parameter] = type
  }

  /** A parameter that no context gave a type is a text. */
  get parameterTypes(): number[] {
    const count = Math.max(this.#types.length - 1, 0)
    return Array.from({ length: count }, (_none, index) => {
      const type = this.#types[index + 1] ?? OID.unknown
      return type === OID.unknown ? OID.text : type
    })
  }
}
