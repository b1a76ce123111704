/** Reads the values sent with a statement as the types of its parameters. */
import type { Bound, StatementParameter } from '../bound/bound.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { refuse } from '../errors/refusal.ts'
import type { IqlValue } from '../types/types.ts'
import { typeName } from '../types/types.ts'
import { readValue } from '../types/values.ts'

/**
 * The value of a parameter as it was sent: null, or its text (the content of a string, the digits of a number, true or false)
 * and, if it was sent as JSON, its JSON text. An object or an array has only JSON text.
 */
export type ParameterInput = null | { readonly text: string | undefined; readonly json?: string | undefined }

/** The values in the order of `bound.parameters`. Every parameter needs a value, and every value a parameter. */
export function readParameters(
  statement: string,
  bound: Bound,
  inputs: ReadonlyMap<string, ParameterInput>,
): readonly IqlValue[] {
  const { parameters } = bound
  // Names are case-insensitive, but most requests spell them as the statement does.
  if (inputs.size === parameters.length && parameters.every(({ name }) => inputs.has(name))) {
    return parameters.map((parameter) => readInput(statement, parameter, inputs.get(parameter.name)))
  }
  const values = new Map([...inputs].map(([name, value]) => [name.toLowerCase(), value]))
  const names = parameters.map(({ name }) => name)
  for (const name of inputs.keys()) {
    if (names.some((known) => known.toLowerCase() === name.toLowerCase())) continue
    throw refuse('UnknownParameter', `The statement has no parameter ${mark(name)}`, {
      statement,
      at: 0,
      expected: names.map(mark),
      hint: didYouMean(name, names),
    })
  }
  return parameters.map((parameter) => readInput(statement, parameter, values.get(parameter.name.toLowerCase())))
}

function readInput(statement: string, parameter: StatementParameter, input: ParameterInput | undefined): IqlValue {
  const { name, type, at } = parameter
  if (input === undefined) {
    throw refuse('MissingParameter', `The parameter ${mark(name)} of type ${typeName(type)} has no value`, {
      statement,
      at,
    })
  }
  if (input === null) return null
  const text = type.kind === 'Json' ? (input.json ?? input.text) : input.text
  const read = text === undefined ? { problem: 'is an object or an array' } : readValue(type, text)
  if ('value' in read) return read.value
  throw refuse('BadValue', `The value of ${mark(name)} ${read.problem}`, { statement, at })
}

function mark(name: string): string {
  return /^\d/.test(name) ? `$${name}` : `:${name}`
}
