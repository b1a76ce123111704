/** Reads the values that come with a statement as the types its parameters have. */
import type { Bound, ParameterSlot } from './bound.ts'
import { didYouMean } from './did-you-mean.ts'
import { refuse } from './errors.ts'
import type { IqlValue } from './types.ts'
import { typeName } from './types.ts'
import { readValue } from './values.ts'

/**
 * A value as it came: null, or its text (a string's content, a number's digits, true, false) and, when it came as JSON,
 * its JSON text; an object or an array has no text of its own.
 */
export type GivenValue = null | { readonly text: string | undefined; readonly json?: string | undefined }

/** The values in the order of `bound.parameters`. Every parameter needs one, and every value a parameter. */
export function readParameters(
  statement: string,
  bound: Bound,
  given: ReadonlyMap<string, GivenValue>,
): readonly IqlValue[] {
  const { parameters } = bound
  // Mostly each is said as it is spelled in the statement.
  if (given.size === parameters.length && parameters.every(({ name }) => given.has(name))) {
    return parameters.map((slot) => readSlot(statement, slot, given.get(slot.name)))
  }
  const values = new Map([...given].map(([name, value]) => [name.toLowerCase(), value]))
  const names = parameters.map(({ name }) => name)
  for (const name of given.keys()) {
    if (names.some((known) => known.toLowerCase() === name.toLowerCase())) continue
    throw refuse('UnknownParameter', `The statement has no parameter ${mark(name)}`, {
      statement,
      at: 0,
      expected: names.map(mark),
      hint: didYouMean(name, names),
    })
  }
  return parameters.map((slot) => readSlot(statement, slot, values.get(slot.name.toLowerCase())))
}

function readSlot(statement: string, slot: ParameterSlot, given: GivenValue | undefined): IqlValue {
  const { name, type, at } = slot
  if (given === undefined) {
    throw refuse('MissingParameter', `The parameter ${mark(name)} of type ${typeName(type)} has no value`, {
      statement,
      at,
    })
  }
  if (given === null) return null
  const text = type.kind === 'Json' ? (given.json ?? given.text) : given.text
  const read = text === undefined ? { problem: 'is an object or an array' } : readValue(type, text)
  if ('value' in read) return read.value
  throw refuse('BadValue', `The value of ${mark(name)} ${read.problem}`, { statement, at })
}

function mark(name: string): string {
  return /^\d/.test(name) ? `$${name}` : `:${name}`
}
