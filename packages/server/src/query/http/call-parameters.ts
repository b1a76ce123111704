/** Values of a request on their way into the parameters of a statement. */

import type { IqlValue, ParameterInput, ParameterSlot } from 'gatehouse-iql'
import { type Json, readColumnValue, textOf, writeJson } from '../json.ts'

export function parameterInput(value: Json): ParameterInput {
  return value === null ? null : { text: textOf(value), json: writeJson(value) }
}

/** Values for the parameters of a statement that was built for a call on a table, which are named v0, v1, … */
export interface CallValues {
  /** In the order of the bound statement's parameters, each read as the type of its column. */
  read(slots: readonly ParameterSlot[]): IqlValue[]
}

/** The values that the criteria and assignments of a call name one by one. */
export class CallParameters implements CallValues {
  readonly #columns: string[] = []
  readonly #values: Json[] = []

  /** Returns the name of the new parameter. */
  add(column: string, value: Json): string {
    this.#columns.push(column)
    return `v${this.#values.push(value) - 1}`
  }

  read(slots: readonly ParameterSlot[]): IqlValue[] {
    return readValues(slots, this.#columns, this.#values)
  }
}

/** The values of a row. `places` has, for each of the columns, the ordinal of its value. */
export class RowValues implements CallValues {
  readonly #columns: readonly string[]
  readonly #places: readonly number[]
  readonly #values: readonly Json[]

  constructor(columns: readonly string[], places: readonly number[], values: readonly Json[]) {
    this.#columns = columns
    this.#places = places
    this.#values = values
  }

  read(slots: readonly ParameterSlot[]): IqlValue[] {
    return readValues(slots, this.#columns, this.#values, this.#places)
  }
}

function readValues(
  slots: readonly ParameterSlot[],
  columns: readonly string[],
  values: readonly Json[],
  places?: readonly number[],
): IqlValue[] {
  const ordinals = ordinalsOf(slots)
  return slots.map(({ name, type }, index) => {
    const ordinal = ordinals[index] ?? -1
    const column = columns[ordinal]
    const value = values[places === undefined ? ordinal : (places[ordinal] ?? -1)]
    if (column === undefined || value === undefined) throw new Error(`The parameter ${name} has no value`)
    return readColumnValue(column, type, value)
  })
}

/** The ordinals in the names of parameters, by the list of a plan, which every run of it shares. */
const knownOrdinals = new WeakMap<readonly ParameterSlot[], readonly number[]>()

function ordinalsOf(slots: readonly ParameterSlot[]): readonly number[] {
  let ordinals = knownOrdinals.get(slots)
  if (ordinals === undefined) {
    ordinals = slots.map(({ name }) => Number(name.slice(1)))
    knownOrdinals.set(slots, ordinals)
  }
  return ordinals
}
