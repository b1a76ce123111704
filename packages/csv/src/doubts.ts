/** Why a column became Text, and which cells did not fit: what may be wrong in a guessed type. */
import { typeName } from 'gatehouse-iql'
import type { Guess } from './column-types.ts'
import { NUMBER_FORMATS } from './number-formats.ts'

const SHOWN_CELLS = 5

/** `lines` are those of the values that the type was guessed from. Undefined if nothing is doubtful. */
export function doubtOf(
  name: string,
  guess: Guess,
  values: readonly string[],
  lines: readonly number[],
): string | undefined {
  if (guess.ambiguous !== undefined) {
    const [first = '', second = ''] = guess.ambiguous.map((format) => format.name)
    const what = NUMBER_FORMATS.includes(first) ? 'numbers' : 'dates'
    return `${name} becomes Text: its ${what} may be ${first} or ${second}`
  }
  if (guess.nearly === undefined) return undefined
  const { type, misfits } = guess.nearly
  const cells = misfits.slice(0, SHOWN_CELLS).map((index) => `line ${lines[index]} ${JSON.stringify(values[index])}`)
  const more = misfits.length > SHOWN_CELLS ? ', …' : ''
  return `${name} becomes Text, not ${typeName(type)}, because of ${misfits.length} of ${values.length} values: ${cells.join(', ')}${more}`
}
