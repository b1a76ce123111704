/** Corrections of single words and calls. */

import { FOREIGN_CALLS } from './functions.ts'
import type { Mistake, Rule } from './mistake.ts'
import { timeColumn } from './names.ts'

const NEAREST = /did you mean ([\w"]+)(\(p, s\))?\?/

export const useNearest: Rule = ({ pieces, index, hint }) => {
  const [, name, digits] = NEAREST.exec(hint) ?? []
  if (name === undefined) return []
  return [pieces.replace({ first: index, last: index }, digits === undefined ? name : `${name}(18, 4)`)]
}

/** A text in double quotes, or in none. */
export const writeText: Rule = ({ pieces, index, hint }) => {
  const quoted = /single quotes: ('.*')/.exec(hint)?.[1]
  const span = { first: index, last: index }
  if (quoted !== undefined) return [pieces.replace(span, quoted)]
  const isCompared = ['=', '<>', '!=', 'like', 'ilike'].includes(pieces.key(index - 1))
  const { text = '' } = pieces.all[index] ?? {}
  return isCompared && /^\w+$/.test(text) ? [pieces.replace(span, `'${text}'`)] : []
}

/** A function of another dialect, or one of IQL with wrong arguments. */
export const correctCall: Rule = (mistake) => {
  const { pieces, index } = mistake
  const call = pieces.call(index)
  if (call === undefined) return []
  const written = [FOREIGN_CALLS.get(call.name)?.(...call.args), ...completeArguments(mistake, call.name, call.args)]
  return written.filter((text) => text !== undefined).map((text) => pieces.replace(call, text))
}

/** Aggregates that need the time by which they choose, and those without an argument. */
function completeArguments(mistake: Mistake, name: string, args: readonly string[]): readonly string[] {
  if (name === 'count' && args.length === 0) return ['count(*)']
  const time = ['first', 'last'].includes(name) && args.length === 1 ? timeColumn(mistake) : undefined
  if (time !== undefined) return [`${name}(${args[0]}, ${time})`]
  if (name === 'string_agg' && args.length === 1) return [`string_agg(${args[0]}, ', ')`]
  const doubles = `${name}(${args.map((arg) => `CAST(${arg} AS Double)`).join(', ')})`
  const [first, second] = args
  // Arguments in another order.
  return second === undefined ? [doubles] : [`${name}(${second}, ${first})`, doubles]
}
