/** The state of binding one statement: source ids, parameters, tables, and errors with positions. */
import type { Refusal } from 'gatehouse-protocol'
import type { StatementParameter } from '../bound/bound.ts'
import type { Parameter, WrittenAt } from '../bound/bound-leaf.ts'
import type * as Bound from '../bound/bound-query.ts'
import type { CatalogueView, TableView } from '../bound/catalogue-view.ts'
import type { ErrorName } from '../errors/errors.ts'
import { refuse } from '../errors/refusal.ts'
import type { Statement } from '../syntax/ast.ts'
import type { Expression, Query, SelectItem } from '../syntax/ast-query.ts'
import type { WrittenLiteral } from '../syntax/shape.ts'
import { type IqlType, TEXT } from '../types/types.ts'
import type { Scope } from './scope.ts'
import { ViewExpansion } from './view-expansion.ts'

export interface QueryOptions {
  /** EXISTS and INSERT ignore the names of columns, so names may repeat. */
  readonly anyNames?: boolean
}

/** Queries contain expressions and vice versa. Both rules are passed in, so that their files do not import each other. */
export interface BindingRules {
  expression(binding: Binding, scope: Scope, expression: Expression, expected?: IqlType): Bound.BoundExpression
  query(binding: Binding, parent: Scope | undefined, query: Query, options?: QueryOptions): Bound.BoundQuery
}

export interface BindOptions {
  /** Two columns of the result may have one name. */
  readonly anyNames?: boolean
  /** The type of a parameter where the context determines none; without, such a parameter is an error. */
  readonly declaredType?: (name: string) => IqlType
}

/** The literals of the statement, each with its index in the shape. */
export type Literals = ReadonlyMap<WrittenLiteral, number>

export class Binding {
  readonly statement: string
  readonly catalogue: CatalogueView
  readonly parameters: StatementParameter[] = []
  /** The tables that are read or written, those of views included. */
  readonly tables = new Set<TableView>()
  /** The tables and views that the statement itself names. */
  readonly uses = new Set<TableView>()
  readonly expansion: ViewExpansion
  /** What each * stands for; recorded only where it is set. */
  stars: Map<SelectItem, readonly SelectItem[]> | undefined
  usesClaims = false
  /** The names of the attributes of the caller that row filters use. */
  readonly attributes = new Set<string>()
  /** Sizes of expressions, counted once. */
  readonly sizes = new Map<Expression, number>()
  /** In a row filter, parameters are claims of the caller. */
  bindsRowFilter = false
  /** The number of NULLIFs bound so far whose arguments have two types. */
  widenedNullIfs = 0
  /** The number of columns resolved so far in an enclosing scope. */
  outerHits = 0
  /** The number of queries after expanding the uses of WITH queries bound so far, including those inside WITH queries. */
  withUses = 0
  /** The number of queries that one use of a WITH query expands to, by the id of the WITH query. */
  readonly withSizes = new Map<number, number>()
  /** Whether BETWEEN or IN tests more than a column or a value, a query is in FROM, or ORDER BY repeats an output. */
  mayCopy = false
  /** The number of names of outputs replaced in ORDER BY so far. */
  outputUses = 0
  #sources = 0
  readonly #types: Map<string, IqlType>
  readonly #indexes = new Map<string, number>()
  readonly #guessed = new Set<string>()

  readonly #rules: BindingRules
  readonly #literals: Literals | undefined
  readonly options: BindOptions

  constructor(
    written: Statement,
    statement: string,
    catalogue: CatalogueView,
    rules: BindingRules,
    literals?: Literals,
    knownTypes: ReadonlyMap<string, IqlType> = new Map(),
    options: BindOptions = {},
  ) {
    this.statement = statement
    this.expansion = new ViewExpansion(written, statement)
    this.catalogue = catalogue
    this.#rules = rules
    this.#literals = literals
    this.#types = new Map(knownTypes)
    this.options = options
  }

  /** `expected` is the type that the context asks for; only literals, NULL and parameters follow it. */
  expression(scope: Scope, expression: Expression, expected?: IqlType): Bound.BoundExpression {
    return this.#rules.expression(this, scope, expression, expected)
  }

  query(parent: Scope | undefined, query: Query, options?: QueryOptions): Bound.BoundQuery {
    return this.#rules.query(this, parent, query, options)
  }

  /** A query inside an expression: it sees the scopes around it. */
  subquery(scope: Scope, query: Query, at: number, options?: QueryOptions): Bound.BoundQuery {
    if (this.bindsRowFilter) throw this.fail('BadDefinition', at, 'A row filter cannot hold a sub-query')
    return this.query(scope, query, options)
  }

  nextSource(): number {
    return this.#sources++
  }

  /** The first use determines the type of a parameter. */
  parameter(name: string, at: number, expected: IqlType | undefined): Parameter {
    const key = name.toLowerCase()
    const known = this.#types.get(key) ?? expected
    const type = known === undefined || known.kind === 'Null' ? this.options.declaredType?.(name) : known
    if (type === undefined || type.kind === 'Null') {
      const mark = /^\d/.test(name) ? `$${name}` : `:${name}`
      throw this.fail('ParameterType', at, `The type of ${mark} is unknown here`, {
        hint: `write CAST(${mark} AS Type)`,
      })
    }
    this.#types.set(key, type)
    return this.#addParameter(name, at, type)
  }

  /** Whether an earlier use has determined the type of a parameter. The claims of a row filter are Text. */
  isTyped(name: string): boolean {
    return this.bindsRowFilter || this.#types.has(name.toLowerCase())
  }

  /** In `:min IS NULL OR price >= :min` only the second use determines the type. */
  untypedParameter(name: string, at: number): Parameter {
    const type = this.#types.get(name.toLowerCase())
    if (type === undefined) this.#guessed.add(name.toLowerCase())
    return this.#addParameter(name, at, type ?? TEXT)
  }

  #addParameter(name: string, at: number, type: IqlType): Parameter {
    const key = name.toLowerCase()
    const index = this.#indexes.get(key) ?? this.parameters.push({ name, type, at }) - 1
    this.#indexes.set(key, index)
    return { kind: 'parameter', index, type, nullable: true }
  }

  /** Undefined for a literal of another text, such as a row filter. */
  writtenAt(literal: WrittenLiteral, sign: '' | '-' = ''): WrittenAt | undefined {
    const index = this.#literals?.get(literal)
    return index === undefined ? undefined : { index, sign }
  }

  /** The types of the parameters, if some were used before their type was known: then the statement is bound again. */
  get lateTypes(): ReadonlyMap<string, IqlType> | undefined {
    return [...this.#guessed].some((name) => this.#types.has(name)) ? this.#types : undefined
  }

  fail(
    name: ErrorName,
    at: number,
    message: string,
    more: { readonly expected?: readonly string[]; readonly hint?: string | undefined } = {},
  ): Refusal {
    return refuse(name, message, { statement: this.statement, at, ...more })
  }
}

/** The position where an expression starts. */
export function startPosition(expression: Expression): number {
  switch (expression.kind) {
    case 'column':
      return (expression.table ?? expression.name).at
    case 'call':
      return expression.name.at
    case 'binary':
      return startPosition(expression.left)
    case 'like':
    case 'between':
    case 'in-list':
    case 'in-query':
    case 'is-null':
    case 'is-truth':
      return startPosition(expression.operand)
    default:
      return expression.at
  }
}
