/** Why a column became Text, and which cells did not fit: what may be wrong in a guessed type. */
import { type IqlType, typeName } from 'gatehouse-iql'
import type { Guess } from './column-types.ts'
import { NUMBER_FORMATS } from './number-formats.ts'

const SHOWN_CELLS = 5

export type Doubt =
  /** Its values can be read in two formats. */
  | { readonly kind: 'numbers' | 'dates'; readonly first: string; readonly second: string }
  /** All but a few values are of the type. */
  | {
      readonly kind: 'misfits'
      readonly type: IqlType
      readonly misfits: number
      readonly values: number
      /** The first of them. */
      readonly cells: readonly { readonly line: number; readonly text: string }[]
    }

/** `lines` are those of the values that the type was guessed from. Undefined if nothing is doubtful. */
export function findDoubt(guess: Guess, values: readonly string[], lines: readonly number[]): Doubt | undefined {
  if (guess.ambiguous !== undefined) {
    const [first = '', second = ''] = guess.ambiguous.map((format) => format.name)
    return { kind: NUMBER_FORMATS.includes(first) ? 'numbers' : 'dates', first, second }
  }
  if (guess.nearly === undefined) return undefined
  const { type, misfits } = guess.nearly
  const cells = misfits.slice(0, SHOWN_CELLS).map((index) => ({ line: lines[index] ?? 0, text: values[index] ?? '' }))
  return { kind: 'misfits', type, misfits: misfits.length, values: values.length, cells }
}

/** The doubt in a sentence. */
export function describeDoubt(
  name: string,
  guess: Guess,
  values: readonly string[],
  lines: readonly number[],
): string | undefined {
  const doubt = findDoubt(guess, values, lines)
  if (doubt === undefined) return undefined
  if (doubt.kind !== 'misfits')
    return `${name} becomes Text: its ${doubt.kind} may be ${doubt.first} or ${doubt.second}`
  const cells = doubt.cells.map(({ line, text }) => `line ${line} ${JSON.stringify(text)}`).join(', ')
  const more = doubt.misfits > doubt.cells.length ? ', …' : ''
  return `${name} becomes Text, not ${typeName(doubt.type)}, because of ${doubt.misfits} of ${doubt.values} values: ${cells}${more}`
}
