/** Queries that are built and compiled once: on a hot path building costs more than a read by key. */
import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/** Takes the values of the parameters by name. */
export type PreparedQuery<Parameters, Row> = (values: Parameters) => Promise<Row[]>

/** `build` receives placeholders for the parameters and returns the query that uses them. */
export function prepare<Parameters extends object, Row>(
  db: Kysely<Schema>,
  build: (parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  let compiled: CompiledQuery<Row> | undefined
  let names: readonly (keyof Parameters | undefined)[] = []

  return async (values) => {
    compiled ??= compile()
    const parameters = compiled.parameters.map((constant, index) => {
      const name = names[index]
      return name === undefined ? constant : values[name]
    })
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters })
    return rows
  }

  function compile(): CompiledQuery<Row> {
    const placeholders = new Map<unknown, keyof Parameters>()
    // Kysely passes values through unchanged, so each placeholder can be found among the compiled parameters.
    const parameters = new Proxy({} as Parameters, {
      get(_target, name) {
        const placeholder = Symbol(String(name))
        placeholders.set(placeholder, name as keyof Parameters)
        return placeholder
      },
    })
    const query = build(parameters).compile()
    names = query.parameters.map((value) => placeholders.get(value))
    return query
  }
}
