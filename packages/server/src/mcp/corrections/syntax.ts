/** Corrections of syntax, and of what stands in the wrong clause. */
import { quoteName } from '../tools/names.ts'
import { likePattern } from './functions.ts'
import { readInterval } from './intervals.ts'
import type { Mistake, Rule } from './mistake.ts'
import { findTime, readSources, timeColumn } from './names.ts'
import { type Pieces, trimStatement, unquote } from './pieces.ts'

const SYMBOLS: ReadonlyMap<string, string> = new Map([
  ['==', '='],
  ['&&', 'AND'],
  ['“', "'"],
  ['”', "'"],
  ['‘', "'"],
  ['’', "'"],
])

/** Symbols and quotes of other languages, all at once. */
export const replaceSymbol: Rule = ({ pieces, index }) => {
  const { all } = pieces
  const change = (first: number, last: number, text: string) => ({ span: { first, last }, text })
  const changes = all.flatMap(({ text, key }, at) => {
    const symbol = SYMBOLS.get(key)
    if (symbol !== undefined) return [change(at, at, symbol)]
    if (key.startsWith('`')) return [change(at, at, quoteName(unquote(text)))]
    if (key === '[') {
      const last = all.findIndex((piece, each) => each > at && piece.key === ']')
      if (last === -1) return []
      const inside = pieces.statement.slice(all[at]?.end, all[last]?.at)
      return [change(at, last, pieces.key(at - 1) === 'in' ? `(${inside})` : quoteName(inside))]
    }
    if ((key === '~' || key === '!~') && pieces.key(at + 1).startsWith("'")) {
      const pattern = likePattern(all[at + 1]?.text ?? "''")
      return [change(at, at + 1, `${key === '~' ? '' : 'NOT '}LIKE ${pattern}`)]
    }
    return []
  })
  if (changes.length > 0) return [pieces.replaceAll(changes)]
  if (pieces.key(index) !== '^') return []
  const [base, power] = [pieces.operandBefore(index), pieces.operandAfter(index)]
  const span = { first: base.first, last: power.last }
  return [pieces.replace(span, `power(${pieces.text(base)}, ${pieces.text(power)})`)]
}

type Foreign = (pieces: Pieces, index: number) => string | undefined

/** Syntax of other dialects, by the word at which the error is. */
const FOREIGN: ReadonlyMap<string, Foreign> = new Map<string, Foreign>([
  ['top', (pieces, index) => limitAtEnd(pieces, index)],
  [
    'interval',
    (pieces, index) => {
      const isOneWord = /^\d+$/.test(pieces.key(index + 1))
      const span = { first: index + 1, last: isOneWord ? index + 2 : index + 1 }
      const interval = readInterval(pieces.text(span).replaceAll("'", ''))
      return interval && pieces.replace({ first: index, last: span.last }, `INTERVAL '${interval}'`)
    },
  ],
  [
    ',',
    (pieces, index) => {
      if (pieces.key(index - 2) !== 'limit') return undefined
      const [offset, limit] = [pieces.key(index - 1), pieces.key(index + 1)]
      return pieces.replace({ first: index - 2, last: index + 1 }, `LIMIT ${limit} OFFSET ${offset}`)
    },
  ],
  ['for', (pieces, index) => pieces.remove({ first: index, last: pieces.all.length - 1 })],
  ['minus', (pieces, index) => pieces.replace({ first: index, last: index }, 'EXCEPT')],
  ['regexp', (pieces, index) => useLike(pieces, index, index + 1)],
  ['rlike', (pieces, index) => useLike(pieces, index, index + 1)],
  ['similar', (pieces, index) => useLike(pieces, index, index + 2)],
  ['summarize', (pieces, index) => `DESCRIBE ${pieces.text({ first: index + 1, last: index + 1 })}`],
  ['desc', (pieces, index) => `DESCRIBE ${pieces.text({ first: index + 1, last: pieces.all.length - 1 })}`],
  ['table', (pieces, index) => pieces.remove({ first: index, last: index })],
  ['tablesample', (pieces, index) => pieces.remove({ first: index, last: pieces.call(index + 1)?.last ?? index + 1 })],
  [
    '(',
    (pieces, index) => {
      const close = pieces.close(index)
      if (pieces.key(index - 1) !== 'explain' || close === undefined) return undefined
      return pieces.replace({ first: index, last: close }, /analyze/i.test(pieces.statement) ? 'ANALYZE' : '')
    },
  ],
  ['all', (pieces, index) => pieces.replace({ first: index, last: index }, '1')],
])

export const replaceForeign: Rule = (mistake) => {
  const { pieces, index, findTable } = mistake
  const key = pieces.key(index)
  if (pieces.key(0) === 'show') return ['SHOW TABLES']
  if (pieces.key(index - 1) === ';') return [pieces.statement.slice(0, pieces.all[index - 1]?.at).trimEnd()]
  if (key === 'sample') {
    const time = timeColumn(mistake)
    const clause = pieces.clause(index)
    const interval = readInterval(pieces.text({ first: index + 2, last: clause.last }).replaceAll(/\s/g, ''))
    if (time === undefined || interval === undefined) return []
    return [pieces.replace(clause, `GROUP BY time_bucket('${interval}', ${time})`)]
  }
  if (key === 'natural') {
    const [left, right] = readSources({ pieces, findTable }).map(({ table }) => table.columns.map(({ name }) => name))
    const common = (left ?? []).filter((name) => right?.includes(name)).map(quoteName)
    const last = pieces.key(index + 3) === 'as' ? index + 4 : index + 2
    const text = pieces.text({ first: index + 1, last })
    return [pieces.replace({ first: index, last }, `${text} USING (${common.join(', ')})`)]
  }
  if (key === 'exclude' || (key === 'except' && pieces.key(index - 1) === '*')) {
    const call = pieces.call(index)
    const without = new Set((call?.args ?? [pieces.key(index + 1)]).map((name) => unquote(name).toLowerCase()))
    const columns = readSources({ pieces, findTable }).flatMap(({ table }) => table.columns.map(({ name }) => name))
    const kept = columns.filter((name) => !without.has(name.toLowerCase())).map(quoteName)
    return [pieces.replace({ first: index - 1, last: call?.last ?? index + 1 }, kept.join(', '))]
  }
  return [FOREIGN.get(key)?.(pieces, index)]
}

function limitAtEnd(pieces: Pieces, index: number): string | undefined {
  const count = /\d+/.exec(pieces.text({ first: index + 1, last: index + 2 }))?.[0]
  const last = pieces.key(index + 1) === '(' ? index + 3 : index + 1
  return count && `${trimStatement(pieces.remove({ first: index, last }))} LIMIT ${count}`
}

function useLike(pieces: Pieces, first: number, literal: number): string | undefined {
  const { text = '' } = pieces.all[literal] ?? {}
  return text.startsWith("'") ? pieces.replace({ first, last: literal }, `LIKE ${likePattern(text)}`) : undefined
}

/** A comma that nothing follows. */
export const removeComma: Rule = ({ pieces, index }) => {
  const comma = [index - 1, index].find((at) => pieces.key(at) === ',')
  return comma === undefined ? [] : [pieces.remove({ first: comma, last: comma })]
}

export const completeSelect: Rule = ({ pieces, index }) => {
  if (pieces.key(index) === 'from' && pieces.key(index - 1) === 'select')
    return [pieces.replace({ first: index, last: index }, `* ${pieces.all[index]?.text}`)]
  return pieces.key(index) === 'desc' || pieces.key(0) !== 'from' ? [] : [`SELECT * ${pieces.statement}`]
}

/** The name of an output, by its expression. */
export const repeatOutput: Rule = ({ pieces, index, hint }) => {
  if (!/repeat/.test(hint)) return []
  const name = unquote(pieces.key(index))
  const select = pieces.findKeywordBefore(index, 'select')
  const from = pieces.findKeyword(select, 'from')
  if (select === -1 || from === -1) return []
  for (const item of pieces.split({ first: select + 1, last: from - 1 }, ',')) {
    if (unquote(pieces.key(item.last)) !== name || item.last - item.first < 1) continue
    const end = pieces.key(item.last - 1) === 'as' ? item.last - 2 : item.last - 1
    const expression = pieces.text({ first: item.first, last: end })
    return [pieces.replace({ first: index, last: index }, item.first === end ? expression : `(${expression})`)]
  }
  return []
}

/** Conditions of groups go to HAVING, those of windows to QUALIFY. */
export const moveToClause: Rule = ({ pieces, index, hint, message }) => {
  const isWindow = /QUALIFY/.test(hint) || /OVER/.test(message)
  if (!isWindow && !/HAVING/.test(hint)) return []
  const where = pieces.findKeywordBefore(index, 'where')
  if (where === -1) return []
  const clause = pieces.clause(where)
  const conditions = pieces.split({ first: where + 1, last: clause.last }, 'and')
  const moved = conditions.find(({ first, last }) => first <= index && index <= last)
  if (moved === undefined) return []
  const kept = conditions.filter((condition) => condition !== moved).map((span) => pieces.text(span))
  const written = kept.length === 0 ? '' : `WHERE ${kept.join(' AND ')}`
  const keyword = isWindow ? 'QUALIFY' : 'HAVING'
  const rest = pieces.findKeyword(where, isWindow ? 'qualify' : 'having')
  const added = `${keyword} ${pieces.text(moved)}`
  if (rest !== -1)
    return [
      pieces.replaceAll([
        { span: clause, text: written },
        { span: { first: rest, last: rest }, text: `${added} AND` },
      ]),
    ]
  const before = ['order', 'limit', 'offset', 'fetch', 'window', ...(isWindow ? [] : ['qualify'])]
  const marked = pieces.insertBefore(where, before, added)
  const start = pieces.all[where]?.at ?? 0
  const end = pieces.all[clause.last]?.end ?? start
  return [`${marked.slice(0, start)}${written}${marked.slice(end)}`.replaceAll(/ {2,}/g, ' ').trim()]
}

/** By GROUP BY, with what is grouped already. */
export const group: Rule = ({ pieces, index }) => {
  const name = pieces.text({ first: pieces.key(index - 1) === '.' ? index - 2 : index, last: index })
  const select = pieces.findKeywordBefore(index, 'select')
  const existing = pieces.findKeyword(select + 1, 'group')
  if (existing === -1)
    return [pieces.insertBefore(select + 1, ['having', 'qualify', 'window', 'order', 'limit'], `GROUP BY ${name}`)]
  const { last } = pieces.clause(existing)
  return [pieces.replace({ first: last, last }, `${pieces.all[last]?.text}, ${name}`)]
}

export const addAlias: Rule = (mistake) => {
  const { pieces, index, hint } = mistake
  const alias = /AS (\S+)$/.exec(hint)?.[1]
  const select = pieces.findKeywordBefore(index, 'select')
  const from = pieces.findKeyword(index, 'from')
  if (alias === undefined || select === -1) return []
  const items = pieces.split({ first: select + 1, last: (from === -1 ? pieces.all.length : from) - 1 }, ',')
  const item = items.find(({ first, last }) => first <= index && index <= last)
  if (item === undefined) return []
  if (pieces.key(item.last) === '*') return [pieces.replace(item, nameColumns(mistake))]
  const end = pieces.key(item.last - 1) === 'as' ? item.last - 2 : item.last
  return [pieces.replace(item, `${pieces.text({ first: item.first, last: end })} AS ${alias}`)]
}

/** All columns of all tables, under different names. */
function nameColumns(mistake: Mistake): string {
  const seen = new Set<string>()
  const items = readSources(mistake).flatMap(({ alias, table }) =>
    table.columns.map(({ name }) => {
      const column = `${quoteName(alias)}.${quoteName(name)}`
      const isNew = !seen.has(name.toLowerCase())
      seen.add(name.toLowerCase())
      return isNew ? column : `${column} AS ${quoteName(`${alias}_${name}`)}`
    }),
  )
  return items.join(', ')
}

/** SELECT DISTINCT x … ORDER BY y, by the greatest y of each x. */
export const orderGroups: Rule = ({ pieces, index }) => {
  const distinct = pieces.findKeywordBefore(index, 'distinct')
  const order = pieces.findKeywordBefore(index, 'order')
  if (distinct === -1 || order === -1) return []
  const { first, last } = { first: index, last: pieces.operandAfter(index - 1).last }
  return [
    pieces.replaceAll([
      { span: { first: distinct, last: distinct }, text: '' },
      { span: { first: order, last: order }, text: 'GROUP BY ALL ORDER' },
      { span: { first, last }, text: `max(${pieces.text({ first, last })})` },
    ]),
  ]
}

/** An ASOF JOIN without the comparison of times. */
export const compareTimes: Rule = (mistake) => {
  const { pieces, index } = mistake
  const [left, right] = readSources(mistake)
  const [time, other] = [left && findTime(left.table), right && findTime(right.table)]
  if (left === undefined || right === undefined || time === undefined || other === undefined) return []
  const one = `${quoteName(left.alias)}.${quoteName(time.name)}`
  const condition = `AND ${one} >= ${quoteName(right.alias)}.${quoteName(other.name)}`
  const on = pieces.findKeyword(index, 'on')
  if (on === -1) return []
  return [pieces.insertBefore(on, ['where', 'group', 'having', 'qualify', 'order', 'limit', 'join'], condition)]
}

/** A function of windows without one, and a window that is not named or has no order. */
export const completeWindow: Rule = (mistake) => {
  const { pieces, index, message } = mistake
  if (/needs a window/.test(message)) {
    const call = pieces.call(index)
    const time = timeColumn(mistake) ?? '1'
    return call === undefined ? [] : [pieces.replace(call, `${pieces.text(call)} OVER (ORDER BY ${time})`)]
  }
  const over = [index, index - 1, index + 1].find((at) => pieces.key(at) === 'over')
  if (over === undefined) return []
  const isNamed = pieces.key(over + 1) !== '('
  const last = isNamed ? over + 1 : (pieces.close(over + 1) ?? over + 1)
  return ['OVER ()', 'OVER (ORDER BY 1)'].map((text) => pieces.replace({ first: over, last }, text))
}

/** A sub-query with many rows is searched in. */
export const searchInQuery: Rule = ({ pieces }) =>
  pieces.all.flatMap(({ key }, at) =>
    key === '=' && pieces.key(at + 1) === '(' && pieces.key(at + 2) === 'select'
      ? [pieces.replace({ first: at, last: at }, 'IN')]
      : [],
  )

export const addOrder: Rule = ({ pieces, index, hint }) =>
  /add ORDER BY/.test(hint) ? [pieces.insertBefore(index, ['limit', 'offset', 'fetch'], 'ORDER BY 1')] : []
