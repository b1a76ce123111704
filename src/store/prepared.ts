/** A statement that is built and compiled once, for those that run on every request: building costs more than a read by key. */
import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/** Takes the value of each parameter by name. */
export type Prepared<Parameters, Row> = (values: Parameters) => Promise<Row[]>

/** `build` gets stand-ins for the parameters and returns the statement that holds them. */
export function prepare<Parameters extends object, Row>(
  db: Kysely<Schema>,
  build: (parameters: Parameters) => Compilable<Row>,
): Prepared<Parameters, Row> {
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
    const standIns = new Map<unknown, keyof Parameters>()
    // Kysely carries values as they are, whatever they are: a stand-in is found again among the parameters.
    const asked = new Proxy({} as Parameters, {
      get(_target, name) {
        const standIn = Symbol(String(name))
        standIns.set(standIn, name as keyof Parameters)
        return standIn
      },
    })
    const query = build(asked).compile()
    names = query.parameters.map((value) => standIns.get(value))
    return query
  }
}
