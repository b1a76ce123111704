/** The syntax tree of a catalogue statement. */

export interface Query {
  readonly isRecursive: boolean
  readonly ctes: readonly Cte[]
  readonly body: Body
  readonly orderBy: readonly OrderItem[]
  readonly limit: Expression | undefined
  readonly offset: Expression | undefined
}

export interface Cte {
  readonly name: string
  readonly columns: readonly string[]
  readonly query: Query
}

export type Body =
  | Select
  | {
      readonly kind: 'set'
      readonly operator: 'UNION' | 'UNION ALL' | 'INTERSECT' | 'EXCEPT'
      readonly left: Body
      readonly right: Body
    }
  | { readonly kind: 'values'; readonly rows: readonly (readonly Expression[])[]; readonly at: number }
  | { readonly kind: 'query'; readonly query: Query }

export interface Select {
  readonly kind: 'select'
  readonly isDistinct: boolean
  /** DISTINCT ON: empty without it. */
  readonly distinctOn: readonly Expression[]
  readonly items: readonly SelectItem[]
  readonly from: readonly From[]
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[]
  readonly having: Expression | undefined
  readonly windows: ReadonlyMap<string, WindowSpec>
}

export type SelectItem =
  | { readonly kind: 'value'; readonly value: Expression; readonly alias: string | undefined }
  /** `*`, or `t.*`, or `(value).*`. */
  | { readonly kind: 'star'; readonly path: readonly string[]; readonly at: number }

export interface Alias {
  readonly name: string | undefined
  readonly columns: readonly string[]
}

export type From =
  | { readonly kind: 'table'; readonly path: readonly string[]; readonly alias: Alias; readonly at: number }
  | {
      readonly kind: 'query'
      readonly query: Query
      readonly alias: Alias
      readonly isLateral: boolean
      readonly at: number
    }
  | { readonly kind: 'call'; readonly call: Call; readonly hasOrdinality: boolean; readonly alias: Alias }
  | {
      readonly kind: 'join'
      readonly join: 'JOIN' | 'LEFT JOIN' | 'RIGHT JOIN' | 'FULL JOIN'
      readonly left: From
      readonly right: From
      readonly on: Expression | undefined
      /** The columns of USING; `natural`: those that both sides have. */
      readonly using: readonly string[] | 'natural'
    }

export interface OrderItem {
  readonly value: Expression
  readonly isDescending: boolean
  readonly nulls: 'FIRST' | 'LAST' | undefined
}

export interface WindowSpec {
  /** The name of another window that it extends. */
  readonly base: string | undefined
  readonly partitionBy: readonly Expression[]
  readonly orderBy: readonly OrderItem[]
}

export interface TypeName {
  readonly path: readonly string[]
  /** It is quoted or has a schema, so that it is the name of pg_type: "char" is not CHAR. */
  readonly isExact: boolean
  readonly isArray: boolean
  readonly at: number
}

export interface Call {
  readonly kind: 'call'
  readonly path: readonly string[]
  readonly args: readonly Expression[]
  readonly isStar: boolean
  readonly isDistinct: boolean
  readonly orderBy: readonly OrderItem[]
  readonly filter: Expression | undefined
  readonly over: WindowSpec | undefined
  readonly at: number
}

export type Expression =
  | { readonly kind: 'text'; readonly value: string; readonly at: number }
  | { readonly kind: 'number'; readonly value: string; readonly at: number }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: number }
  | { readonly kind: 'null'; readonly at: number }
  | { readonly kind: 'parameter'; readonly index: number; readonly at: number }
  | { readonly kind: 'column'; readonly path: readonly string[]; readonly at: number }
  | Call
  | {
      readonly kind: 'unary'
      readonly operator: 'NOT' | '-' | '+' | '~'
      readonly operand: Expression
      readonly at: number
    }
  | {
      readonly kind: 'binary'
      readonly operator: string
      readonly left: Expression
      readonly right: Expression
      readonly at: number
    }
  | {
      readonly kind: 'quantified'
      readonly operator: string
      readonly quantifier: 'ANY' | 'ALL'
      readonly left: Expression
      readonly right: Expression | Query
      readonly at: number
    }
  | {
      readonly kind: 'in'
      readonly left: Expression
      readonly right: readonly Expression[] | Query
      readonly isNegated: boolean
      readonly at: number
    }
  | {
      readonly kind: 'like'
      readonly left: Expression
      readonly pattern: Expression
      readonly escape: Expression | undefined
      readonly isInsensitive: boolean
      readonly isNegated: boolean
      readonly at: number
    }
  | {
      readonly kind: 'between'
      readonly left: Expression
      readonly low: Expression
      readonly high: Expression
      readonly isNegated: boolean
      readonly at: number
    }
  | {
      readonly kind: 'is'
      readonly operand: Expression
      readonly what: 'NULL' | 'TRUE' | 'FALSE'
      readonly isNegated: boolean
      readonly at: number
    }
  | {
      readonly kind: 'distinct'
      readonly left: Expression
      readonly right: Expression
      readonly isNegated: boolean
      readonly at: number
    }
  | { readonly kind: 'cast'; readonly operand: Expression; readonly type: TypeName; readonly at: number }
  | {
      readonly kind: 'case'
      readonly subject: Expression | undefined
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[]
      readonly otherwise: Expression | undefined
      readonly at: number
    }
  | { readonly kind: 'exists'; readonly query: Query; readonly at: number }
  | { readonly kind: 'query'; readonly query: Query; readonly at: number }
  | { readonly kind: 'array-query'; readonly query: Query; readonly at: number }
  | { readonly kind: 'array'; readonly items: readonly Expression[]; readonly at: number }
  | { readonly kind: 'row'; readonly items: readonly Expression[]; readonly at: number }
  | { readonly kind: 'subscript'; readonly operand: Expression; readonly index: Expression; readonly at: number }
  | { readonly kind: 'field'; readonly operand: Expression; readonly name: string; readonly at: number }
