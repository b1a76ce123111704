/** Values of a request on their way into the parameters of a statement. */
import type { ParameterSlot } from '../iql/bound.ts'
import type { ParameterInput } from '../iql/parameters.ts'
import type { IqlValue } from '../iql/types.ts'
import { type Json, readColumnValue, textOf, writeJson } from '../json.ts'

export function parameterInput(value: Json): ParameterInput {
  return value === null ? null : { text: textOf(value), json: writeJson(value) }
}

/** The values of a call on a table. The statement built for the call refers to them as the parameters v0, v1, … */
export class CallParameters {
  readonly #values: { readonly column: string; readonly value: Json }[] = []

  /** Returns the name of the new parameter. */
  add(column: string, value: Json): string {
    return `v${this.#values.push({ column, value }) - 1}`
  }

  /** The values in the order of the bound statement's parameters, each read as the type of its column. */
  read(slots: readonly ParameterSlot[]): IqlValue[] {
    return slots.map(({ name, type }) => {
      const added = this.#values[Number(name.slice(1))]
      if (added === undefined) throw new Error(`The parameter ${name} has no value`)
      return readColumnValue(added.column, type, added.value)
    })
  }
}
