/**
 * Which statements belong to the catalogue. This runs on the event loop with every caller's text, so it reads the tokens once and does
 * not parse: what a parser may cost is bounded only in the catalogue's process.
 */
import { functionNames } from 'gatehouse-iql'
import { findRelation, INFORMATION_SCHEMA, PG_CATALOG } from './data/relations.ts'
import { BARE_FUNCTIONS } from './syntax/keywords.ts'
import { type Token, tokenize } from './syntax/lexer.ts'
import { findSources } from './syntax/sources.ts'
import { catalogueFunctions } from './translate/call.ts'

export type Claim = 'no' | 'yes' | 'mixed'

const iqlFunctions = new Set(functionNames())
/** Only in a statement with a table of the catalogue: without one, IQL says that it has no such function. */
const GENERAL_FUNCTIONS: ReadonlySet<string> = new Set(['random', 'age'])
/** Functions that IQL does not have. Times are IQL's, in all their spellings. */
const ownFunctions: ReadonlySet<string> = new Set(
  catalogueFunctions().filter(
    (name) => !iqlFunctions.has(name) && !GENERAL_FUNCTIONS.has(name) && !/_timestamp$/.test(name),
  ),
)
const OBJECT_TYPES: ReadonlySet<string> = new Set([
  'regclass',
  'regtype',
  'regproc',
  'regprocedure',
  'regrole',
  'regnamespace',
  'regoper',
])

/** A statement without a match is not the catalogue's; most statements need no more than this. */
const HINT = new RegExp(
  `pg_|information_schema|\\breg[copnrt]|\\b(?:${[...ownFunctions].filter((name) => !name.startsWith('pg_')).join('|')})\\b`,
  'i',
)

/**
 * Whether a statement belongs to the catalogue: it names only tables of pg_catalog and information_schema or, without tables, calls functions
 * that only the catalogue has. `mixed` also names other tables.
 */
export function claimStatement(text: string): Claim {
  if (!HINT.test(text)) return 'no'
  const tokens = tokensOrNone(text)
  const { tables, ctes } = findSources(tokens)
  // It is the catalogue's to refuse if it reads one of the catalogue's tables.
  if (!QUERY_STARTS.has(tokens[0]?.key ?? '')) return tables.some(isOwnTable) ? 'yes' : 'no'
  const read = tables.filter((path) => path.length > 1 || !ctes.has(path[0] ?? ''))
  if (read.length === 0) return tokens.some((_, index) => isOwnUse(tokens, index)) ? 'yes' : 'no'
  const own = read.filter(isOwnTable).length
  return own === 0 ? 'no' : own === read.length ? 'yes' : 'mixed'
}

const QUERY_STARTS: ReadonlySet<string> = new Set(['select', 'with', 'values', '('])

function tokensOrNone(text: string): readonly Token[] {
  try {
    return tokenize(text)
  } catch {
    // Not even tokens: IQL says what is wrong.
    return []
  }
}

function isOwnTable(path: readonly string[]): boolean {
  return findRelation(path) !== undefined || path.includes(PG_CATALOG) || path.includes(INFORMATION_SCHEMA)
}

/** Whether the last part of a name stands here and it calls a function, or names a type, that only the catalogue has. */
function isOwnUse(tokens: readonly Token[], index: number): boolean {
  const { kind, key, text } = tokens[index] ?? END
  if (kind !== 'word' && kind !== 'quoted') return false
  const next = tokens[index + 1] ?? END
  if (next.key === '.') return false
  const start = pathStart(tokens, index)
  const before = tokens[start - 1]?.key ?? ''
  if (OBJECT_TYPES.has(text)) return before === '::' || before === 'as' || next.kind === 'text'
  if (before === 'as') return false
  const schema = tokens[start]?.text
  if (next.key === '(') return ownFunctions.has(text) || schema === PG_CATALOG || schema === INFORMATION_SCHEMA
  return start === index && BARE_FUNCTIONS.has(key) && ownFunctions.has(key)
}

const END: Token = { kind: 'end', text: '', key: '', at: 0 }

/** Where the path that ends here begins; longer ones than database.schema.name do not occur. */
function pathStart(tokens: readonly Token[], index: number): number {
  let start = index
  while (index - start < 4 && tokens[start - 1]?.key === '.') start -= 2
  return Math.max(start, 0)
}
