/** Corrections of the names of tables and columns. */
import type { ColumnView, TableView } from 'gatehouse-iql'
import { quoteName } from '../tools/names.ts'
import type { Mistake, Rule } from './mistake.ts'
import { unquote } from './pieces.ts'

interface Source {
  readonly alias: string
  readonly table: TableView
}

export function readSources({ pieces, findTable }: Pick<Mistake, 'pieces' | 'findTable'>): readonly Source[] {
  return pieces.sources().flatMap(({ name, alias }) => {
    const table = findTable(name)
    return table === undefined ? [] : [{ alias, table }]
  })
}

/** The column by which rows follow each other. */
export function timeColumn(mistake: Mistake): string | undefined {
  for (const { table } of readSources(mistake)) {
    const column = findTime(table)
    if (column !== undefined) return quoteName(column.name)
  }
  return undefined
}

export function findTime({ columns }: TableView): ColumnView | undefined {
  return (
    columns.find(({ type: { kind } }) => kind === 'Timestamp') ?? columns.find(({ type: { kind } }) => kind === 'Date')
  )
}

const TIMES = /time|date|^ts$|^at$|^day$|created|updated|^when$/
/** Words of markets for what a column can be called. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['symbol', 'ticker', 'instrument', 'security', 'isin', 'code', 'sym', 'asset'],
  ['quantity', 'qty', 'volume', 'size', 'amount', 'shares', 'units'],
  ['price', 'px', 'rate', 'close', 'last'],
  ['venue', 'exchange', 'market', 'mic'],
  ['side', 'direction', 'action', 'buy_sell'],
  ['id', 'trade_id', 'order_id', 'key'],
]

/** A column whose name has the same letters, or that has the same meaning. */
export const correctColumn: Rule = (mistake) => {
  const { pieces, index } = mistake
  const written = unquote(pieces.all[index]?.text ?? '').toLowerCase()
  const names = new Set<string>()
  const sources = readSources(mistake)
  const columns = sources.flatMap(({ table }) => table.columns)
  const meanings = SYNONYMS.find((words) => words.includes(written)) ?? []
  for (const { name } of columns) {
    const key = name.toLowerCase()
    if (meanings.includes(key) || key.split('_').includes(written) || isAbbreviation(written, key)) names.add(name)
  }
  if (TIMES.test(written)) for (const { table } of sources) names.add(findTime(table)?.name ?? '')
  names.delete('')
  const span = { first: index, last: index }
  const corrected = [...names].slice(0, 3).map((name) => pieces.replace(span, quoteName(name)))
  // A unit or another word of a function.
  return pieces.key(index - 1) === '(' ? [...corrected, pieces.replace(span, `'${written}'`)] : corrected
}

/** qty of quantity, execd_at of executed_at: the first letter, then some of the others. */
function isAbbreviation(written: string, name: string): boolean {
  if (written.length < 2 || written[0] !== name[0]) return false
  let at = 0
  for (const letter of written) {
    at = name.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

/** A table of a catalogue, one with a word of the name, or an alias of the statement. */
export const correctTable: Rule = (mistake) => {
  const { pieces, index, message, tableNames } = mistake
  const span = { first: index, last: index }
  if (/schema/.test(message)) {
    const table = pieces.key(index + 2)
    const where = /table_name\s*=\s*'(\w+)'/i.exec(pieces.statement)?.[1]
    if (/column/.test(table) && where !== undefined) return [`DESCRIBE ${where}`]
    if (/information_schema|^pg_|^sys/.test(pieces.key(index))) return ['SHOW TABLES']
    return [pieces.remove({ first: index, last: index + 1 })]
  }
  if (/^(sqlite_master|pg_tables|pg_class|sys_tables)$/.test(pieces.key(index))) return ['SHOW TABLES']
  if (pieces.key(index + 1) === '.' && /^Nothing here/.test(message)) {
    const aliases = pieces.sources().map(({ alias }) => pieces.replace(span, quoteName(alias)))
    return [...aliases, pieces.remove({ first: index, last: index + 1 })]
  }
  const words = unquote(pieces.key(index)).split(/[_\s]+/)
  const stems = words.filter((word) => word.length > 2).map((word) => word.replace(/e?s$/, ''))
  const named = [...tableNames()].filter((name) => stems.some((stem) => name.toLowerCase().includes(stem)))
  return named.slice(0, 3).map((name) => pieces.replace(span, quoteName(name)))
}

export const qualify: Rule = (mistake) => {
  const { pieces, index } = mistake
  const { text = '' } = pieces.all[index] ?? {}
  return pieces
    .sources()
    .map(({ alias }) => pieces.replace({ first: index, last: index }, `${quoteName(alias)}.${text}`))
}
