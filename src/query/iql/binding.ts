/** What the binder gathers over a whole statement: source ids, parameters, tables, and how its errors point. */
import type { Refusal } from '../../protocol/refusal.ts'
import type { Expression } from './ast-expression.ts'
import type { ParameterSlot } from './bound.ts'
import type { Parameter } from './bound-expression.ts'
import type { CatalogueView, TableView } from './catalogue-view.ts'
import { type ErrorName, refuse } from './errors.ts'
import { type IqlType, TEXT } from './types.ts'

export class Binding {
  readonly statement: string
  readonly catalogue: CatalogueView
  readonly parameters: ParameterSlot[] = []
  readonly tables = new Set<TableView>()
  usesClaims = false
  /** While a row filter is bound, parameters are claims of the caller. */
  bindsRowFilter = false
  /** How many NULLIF of two types have been bound. */
  widenedNullIfs = 0
  /** How many columns have been resolved further out than where they were written. */
  outerHits = 0
  #sources = 0
  readonly #types: Map<string, IqlType>
  readonly #indexes = new Map<string, number>()
  readonly #guessed = new Set<string>()

  constructor(statement: string, catalogue: CatalogueView, knownTypes: ReadonlyMap<string, IqlType> = new Map()) {
    this.statement = statement
    this.catalogue = catalogue
    this.#types = new Map(knownTypes)
  }

  nextSource(): number {
    return this.#sources++
  }

  /** The first use gives a parameter its type; later uses take it as it is. */
  parameter(name: string, at: number, expected: IqlType | undefined): Parameter {
    const key = name.toLowerCase()
    const type = this.#types.get(key) ?? expected
    if (type === undefined || type.kind === 'Null') {
      const mark = /^\d/.test(name) ? `$${name}` : `:${name}`
      throw this.fail('ParameterType', at, `What type ${mark} has is not clear here`, {
        hint: `write CAST(${mark} AS Text), or another type`,
      })
    }
    this.#types.set(key, type)
    return this.#parameterOf(name, at, type)
  }

  /** In `:min IS NULL OR price >= :min` the first use says nothing of the type, the second does. */
  untypedParameter(name: string, at: number): Parameter {
    const type = this.#types.get(name.toLowerCase())
    if (type === undefined) this.#guessed.add(name.toLowerCase())
    return this.#parameterOf(name, at, type ?? TEXT)
  }

  #parameterOf(name: string, at: number, type: IqlType): Parameter {
    const key = name.toLowerCase()
    const index = this.#indexes.get(key) ?? this.parameters.push({ name, type, at }) - 1
    this.#indexes.set(key, index)
    return { kind: 'parameter', index, type, nullable: true }
  }

  /** The types of parameters, when some became known only after they had been used: then the statement is bound again. */
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

/** Where an expression begins, to point at it. */
export function startOf(expression: Expression): number {
  switch (expression.kind) {
    case 'column':
      return (expression.table ?? expression.name).at
    case 'call':
      return expression.name.at
    case 'binary':
      return startOf(expression.left)
    case 'like':
    case 'between':
    case 'in-list':
    case 'in-query':
    case 'is-null':
    case 'is-truth':
      return startOf(expression.operand)
    default:
      return expression.at
  }
}
