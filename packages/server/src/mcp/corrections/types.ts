/** Corrections of values and their types. */
import { readInterval } from './intervals.ts'
import type { Rule } from './mistake.ts'
import type { Pieces, Span } from './pieces.ts'

const CAST = /CAST\(… AS (\w+(?:\(\d+, \d+\))?)\)/

/** Decimal without digits, and types of other dialects with some. */
export const completeType: Rule = ({ pieces, index, hint }) => {
  const written = /write (Decimal\(\d+, \d+\)|varchar\(\d+\)|Double|Timestamp)/.exec(hint)?.[1] ?? 'Text'
  const call = pieces.call(index)
  return [pieces.replace(call ?? { first: index, last: index }, written)]
}

/** By the hint of the error: a number without quotes, an interval, a CAST around one operand. */
export const changeOperand: Rule = ({ pieces, index, hint }) => {
  const [before, after] = [pieces.operandBefore(index), pieces.operandAfter(index)]
  const number = /without quotes: ([\d.+-]+)/.exec(hint)?.[1]
  if (number !== undefined) {
    const at = pieces.all.findIndex(({ text }, each) => text === `'${number}'` && Math.abs(each - index) < 20)
    return at === -1 ? [] : [pieces.replace({ first: at, last: at }, number)]
  }
  if (/INTERVAL '7 days'/.test(hint) && /^\d+$/.test(pieces.text(after)))
    return [pieces.replace(after, `INTERVAL '${pieces.text(after)} days'`)]
  if (/count days as a number/.test(hint)) return wholeDays(pieces)
  const type = CAST.exec(hint)?.[1]
  if (type === undefined) return []
  const cast = (span: Span) => pieces.replace(span, `CAST(${pieces.text(span)} AS ${type})`)
  return [cast(after), cast(before)]
}

/** By the hint of the error, around the argument where it is. */
export const castArgument: Rule = ({ pieces, index, hint }) => {
  const type = CAST.exec(hint)?.[1]
  const span = pieces.operandAfter(index - 1)
  return type === undefined ? [] : [pieces.replace(span, `CAST(${pieces.text(span)} AS ${type})`)]
}

/** INTERVAL '2 days' behind a Date as 2. */
function wholeDays(pieces: Pieces): readonly string[] {
  return pieces.all.flatMap(({ key }, index) => {
    const days = key === 'interval' ? /^'(\d+) days?'$/.exec(pieces.key(index + 1))?.[1] : undefined
    return days === undefined ? [] : [pieces.replace({ first: index, last: index + 1 }, days)]
  })
}

/** 'yesterday', 31/01/2026. */
export const rewriteTime: Rule = ({ pieces, index }) => {
  const text = pieces.key(index).slice(1, -1)
  const span = /^(timestamp|date)$/.test(pieces.key(index - 1))
    ? { first: index - 1, last: index }
    : { first: index, last: index }
  const relative = RELATIVE.get(text)
  if (relative !== undefined)
    return [pieces.replace(span, relative), pieces.replace(span, `CAST(${relative} AS Timestamp)`)]
  const interval = readInterval(text)
  if (interval !== undefined) return [pieces.replace({ first: index, last: index }, `'${interval}'`)]
  const [, a = '', b = '', year] = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})$/.exec(text) ?? []
  if (year === undefined) return []
  const [month, day] = Number(a) > 12 ? [b, a] : [a, b]
  const date = `'${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}'`
  return [pieces.replace({ first: index, last: index }, date)]
}

const RELATIVE: ReadonlyMap<string, string> = new Map([
  ['now', 'now()'],
  ['today', 'current_date'],
  ['yesterday', '(current_date - 1)'],
  ['tomorrow', '(current_date + 1)'],
])

/** A value for each type, so that the statement runs. */
const VALUES: ReadonlyMap<string, string> = new Map([
  ['Text', "'…'"],
  ['Integer', '1'],
  ['Decimal', '1.0'],
  ['Double', '1e0'],
  ['Boolean', 'true'],
  ['Timestamp', "TIMESTAMP '2026-01-31T09:30:00Z'"],
  ['Date', "DATE '2026-01-31'"],
  ['Time', "TIME '09:30:00'"],
  ['Interval', "INTERVAL '1 day'"],
])

/** Those without a value, or with one of another type, by literals. */
export const writeParameter: Rule = ({ pieces, index, message }) => {
  const { text = '' } = pieces.all[index] ?? {}
  const type = /of type (\w+)/.exec(message)?.[1]
  const value = type === undefined ? undefined : VALUES.get(type)
  const replaced = (written: string) =>
    pieces.replaceAll(
      pieces.all.flatMap((piece, at) =>
        piece.text === text ? [{ span: { first: at, last: at }, text: written }] : [],
      ),
    )
  return (value === undefined ? [...VALUES.values()] : [value]).map(replaced)
}

export const castParameter: Rule = ({ pieces, index }) => {
  const { text = '' } = pieces.all[index] ?? {}
  return ['Text', 'Integer', 'Timestamp'].map((type) =>
    pieces.replace({ first: index, last: index }, `CAST(${text} AS ${type})`),
  )
}

export const guardDivisors: Rule = ({ pieces }) => {
  const changes = pieces.all.flatMap(({ key }, index) => {
    if (key !== '/' && key !== '%') return []
    const span = pieces.operandAfter(index)
    return [{ span, text: `NULLIF(${pieces.text(span)}, 0)` }]
  })
  return changes.length === 0 ? [] : [pieces.replaceAll(changes)]
}
