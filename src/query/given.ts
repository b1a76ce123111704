/** Values of a request on their way to typed values: what was sent, for which column, and the refusal when it does not fit. */
import { refuse } from './errors.ts'
import type { ParameterSlot } from './iql/bound.ts'
import type { GivenValue } from './iql/parameters.ts'
import { type IqlType, type IqlValue, typeName } from './iql/types.ts'
import { readValue } from './iql/values.ts'
import { type Json, numberText, writeJson } from './json.ts'

export function givenValue(value: Json): GivenValue {
  return value === null ? null : { text: textOf(value), json: writeJson(value) }
}

/** An object or an array has none. */
function textOf(value: NonNullable<Json>): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : numberText(value)
}

/** Values of a call that has no text of its own, by the names of the parameters that stand for them. */
export class GivenValues {
  readonly #given: { readonly column: string; readonly value: Json }[] = []

  /** Gives the name of a new parameter: `v0`, `v1`, … */
  add(column: string, value: Json): string {
    return `v${this.#given.push({ column, value }) - 1}`
  }

  /** In the order of the bound statement's parameters; each is typed by its column, not by its JSON form. */
  read(slots: readonly ParameterSlot[]): IqlValue[] {
    return slots.map(({ name, type }) => {
      const given = this.#given[Number(name.slice(1))]
      if (given === undefined) throw new Error(`The parameter ${name} was not given`)
      return readColumnValue(given.column, type, given.value)
    })
  }
}

export function readColumnValue(column: string, type: IqlType, value: Json): IqlValue {
  if (value === null) return null
  // A number that came without its text is exact (json.ts): these need not be written and read again. There is no negative zero.
  if (typeof value === 'number') {
    if (type.kind === 'Double') return value + 0
    if (type.kind === 'Integer' && Number.isSafeInteger(value)) return BigInt(value)
  }
  const text = type.kind === 'Json' ? writeJson(value) : textOf(value)
  const read = text === undefined ? { problem: 'is an object or an array' } : readValue(type, text)
  if ('value' in read) return read.value
  throw refuse(
    'Data.BadValue',
    `The value ${shown(value)} of the column ${column} (${typeName(type)}) ${read.problem}`,
    {
      members: { Column: column, Value: shortened(value) },
    },
  )
}

const LONGEST_SHOWN = 100

function shown(value: Json): string {
  const text = writeJson(value)
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

function shortened(value: Json): Json {
  return writeJson(value).length > LONGEST_SHOWN ? shown(value) : value
}
