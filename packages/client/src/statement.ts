/** Statements by template tag: every value becomes a parameter, never a part of the text. */
import { encode, encodeMembers, type Value } from './values.ts'

/**
 * A statement, or a part of one, with its values: made by `sql` and `statement`.
 *
 * @example
 * ```ts
 * sql`symbol = ${'ACME'}`.compile() // { text: 'symbol = $1', parameters: ['ACME'] }
 * ```
 */
export class Statement {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  readonly #given: Given | undefined

  constructor(strings: readonly string[], values: readonly unknown[], given?: Given) {
    this.strings = strings
    this.values = values
    this.#given = given
  }

  /** The text with `$1`, `$2` … and the parameters in their order, or by name. */
  compile(): { text: string; parameters: Given } {
    const parameters: unknown[] = []
    const text = this.#write(parameters)
    const given = this.#given ?? parameters
    return { text, parameters: Array.isArray(given) ? given.map(encode) : encodeMembers(given) }
  }

  #write(parameters: unknown[]): string {
    return this.strings.reduce((text, part, index) => text + Statement.#part(this.values[index - 1], parameters) + part)
  }

  /** A list becomes `$1, $2`, for `in (…)`. */
  static #part(value: unknown, parameters: unknown[]): string {
    if (value instanceof Statement) return value.#write(parameters)
    if (!Array.isArray(value)) return `$${parameters.push(value)}`
    if (value.length === 0) throw new TypeError('A list cannot be empty')
    return value.map((item) => Statement.#part(item, parameters)).join(', ')
  }
}

/** Parameters by their order, or by name. */
type Given = readonly unknown[] | Readonly<Record<string, unknown>>

/** What can stand in `${…}`: a value, a list of values for `in (…)`, another statement, or a name. */
export type Part = Value | undefined | readonly Value[] | Statement

/**
 * A part of a statement, to be put into another.
 *
 * @example
 * ```ts
 * const recent = sql`executed_at >= ${since}`
 * const rows = await gate.query`select * from trades where symbol in (${['ACME', 'BOLT']}) and ${recent}`
 * ```
 */
export function sql(strings: TemplateStringsArray, ...values: readonly Part[]): Statement {
  if (!Array.isArray(strings) || !('raw' in strings))
    throw new TypeError('Write query`select …`, so that its values are parameters')
  return new Statement(strings, values)
}

/**
 * A name of a table or column that is known only at run time.
 *
 * @example
 * ```ts
 * await gate.query`select ${name(column)} from trades order by ${name(column)}`
 * ```
 */
export function name(text: string): Statement {
  const parts = text.split('.').map((part) => `"${part.replaceAll('"', '""')}"`)
  return new Statement([parts.join('.')], [])
}

/**
 * A statement that a person wrote, such as the line of a shell; never build one from pieces.
 *
 * @example
 * ```ts
 * const rows = await gate.query(statement(line, { symbol: 'ACME' })) // :symbol in the text, or an array for $1, $2 …
 * ```
 */
export function statement(
  text: string,
  parameters: Readonly<Record<string, Value>> | readonly Value[] = {},
): Statement {
  return new Statement([text], [], parameters)
}

/** A tag that makes something of a statement, and also takes options first or a finished statement. */
export function tagged<Options, Made>(make: (statement: Statement, options: Options) => Made, defaults: Options) {
  return (first: unknown, ...values: unknown[]): unknown => {
    if (first instanceof Statement) return make(first, (values[0] as Options | undefined) ?? defaults)
    if (typeof first === 'string' || Array.isArray(first))
      return make(sql(first as unknown as TemplateStringsArray, ...(values as Part[])), defaults)
    const options = first as Options
    return (strings: TemplateStringsArray, ...parts: Part[]) => make(sql(strings, ...parts), options)
  }
}
