/** Completes keywords, functions, tables and columns of a statement, and the commands of the shell. */
import { functionNames, KEYWORDS, printName } from 'gatehouse-iql'
import { FORMATS } from '../result.ts'
import type { KnownTable, KnownTables } from './catalogue.ts'
import { COMMAND_WORDS } from './commands.ts'
import { placeAfter } from './input-buffer.ts'

/** After these a table is named. */
const BEFORE_TABLE = new Set(['from', 'join', 'into', 'update', 'table', 'view', 'describe'])

/**
 * `text` is what was typed up to the cursor, with the earlier lines of the statement. As readline expects: the candidates, and
 * the end of the text that they complete.
 */
export function complete(text: string, tables: KnownTables): [string[], string] {
  if (text.trimStart().startsWith('\\')) return completeCommand(text.trimStart(), tables)
  const place = placeAfter(text)
  const [fragment = ''] = (place === 'quoted' ? /"[^"]*$/ : /[\p{L}_][\p{L}\p{N}_]*$/u).exec(text) ?? []
  if (place !== 'code' && place !== 'quoted') return [[], fragment]
  const before = text.slice(0, text.length - fragment.length)
  return [startingWith(fragment, candidates(before, text, tables, fragment)), fragment]
}

function completeCommand(text: string, tables: KnownTables): [string[], string] {
  const [, word = '', blank = '', rest = ''] = /^(\S*)(\s*)([\s\S]*)$/.exec(text) ?? []
  if (blank === '') return [COMMAND_WORDS.filter((known) => known.startsWith(word)), word]
  switch (word) {
    case '\\d':
      return [startingWith(rest, tableNames(tables)), rest]
    case '\\format':
      return [startingWith(rest, FORMATS), rest]
    case '\\timing':
    case '\\x':
      return [startingWith(rest, ['on', 'off']), rest]
    case '\\live':
      return complete(rest, tables)
    default:
      return [[], rest]
  }
}

function candidates(before: string, text: string, tables: KnownTables, fragment: string): readonly string[] {
  const owner = /(?:"([^"]+)"|([\p{L}_][\p{L}\p{N}_]*))\s*\.\s*$/u.exec(before)
  if (owner !== null) return columnNames(tableCalled(owner[1] ?? owner[2] ?? '', text, tables))
  const previous = /([\p{L}_]+)\s+$/u.exec(before)?.[1]?.toLowerCase() ?? ''
  if (BEFORE_TABLE.has(previous)) return tableNames(tables)
  const columns = tablesIn(text, tables).flatMap(columnNames)
  const isLower = fragment !== '' && fragment === fragment.toLowerCase()
  const keywords = isLower ? KEYWORDS.map((word) => word.toLowerCase()) : KEYWORDS
  const calls = fragment === '' ? [] : functionNames().map((name) => `${name}(`)
  return [...columns, ...keywords, ...calls, ...tableNames(tables)]
}

/** The table of this name, or the one that has this alias in the statement. */
function tableCalled(name: string, text: string, tables: KnownTables): KnownTable | undefined {
  const direct = tables.get(name.toLowerCase())
  if (direct !== undefined) return direct
  return namedIn(text)
    .find(({ alias }) => alias?.toLowerCase() === name.toLowerCase())
    ?.table(tables)
}

function tablesIn(text: string, tables: KnownTables): KnownTable[] {
  return namedIn(text).flatMap(({ table }) => table(tables) ?? [])
}

/** Every name in the statement that may be a table, with the word after it, which may be an alias. */
function namedIn(text: string) {
  const pattern = /\b(?:from|join|into|update)\s+|,\s*/giu
  const name = /^(?:"([^"]+)"|([\p{L}_][\p{L}\p{N}_]*))(?:\s+(?:as\s+)?([\p{L}_][\p{L}\p{N}_]*))?/iu
  return [...text.matchAll(pattern)].flatMap((match) => {
    const found = name.exec(text.slice(match.index + match[0].length))
    if (found === null) return []
    const [, quoted, plain = '', alias] = found
    return [{ alias, table: (tables: KnownTables) => tables.get((quoted ?? plain).toLowerCase()) }]
  })
}

function columnNames(table: KnownTable | undefined): string[] {
  return table?.columns.map(printed) ?? []
}

function tableNames(tables: KnownTables): string[] {
  return [...tables.values()].map(({ name }) => printed(name))
}

function printed(text: string): string {
  return printName({ text, at: 0 })
}

/** Case is ignored, as it is in statements. */
function startingWith(fragment: string, words: readonly string[]): string[] {
  const wanted = fragment.toLowerCase()
  const matches = (word: string) =>
    word.toLowerCase().startsWith(wanted) || (wanted.startsWith('"') && `"${word}"`.toLowerCase().startsWith(wanted))
  return [...new Set(words.filter(matches))].sort()
}
