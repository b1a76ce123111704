/** Which statements belong to the catalogue. */
import { functionNames } from 'gatehouse-iql'
import { findRelation, INFORMATION_SCHEMA, PG_CATALOG, RELATIONS } from './data/relations.ts'
import { tokenize } from './syntax/lexer.ts'
import { parseStatement } from './syntax/parse-query.ts'
import { catalogueFunctions } from './translate/call.ts'

export type Claim = 'no' | 'yes' | 'mixed'

const iqlFunctions = new Set(functionNames())
/** Only beside a table of the catalogue: without one, IQL says that it has no such function. */
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

export function claimOf(text: string): Claim {
  if (!HINT.test(text)) return 'no'
  let found: Found
  try {
    found = collect(parseStatement(text))
  } catch {
    // It is the catalogue's to refuse if it reads one of the catalogue's tables.
    return namesRelation(text) ? 'yes' : 'no'
  }
  const tables = found.tables.filter((path) => path.length > 1 || !found.ctes.has(path[0] ?? ''))
  if (tables.length === 0) return found.isOwn ? 'yes' : 'no'
  const own = tables.filter(isOwnTable).length
  return own === 0 ? 'no' : own === tables.length ? 'yes' : 'mixed'
}

function isOwnTable(path: readonly string[]): boolean {
  return findRelation(path) !== undefined || path.includes(PG_CATALOG) || path.includes(INFORMATION_SCHEMA)
}

interface Found {
  readonly tables: (readonly string[])[]
  readonly ctes: Set<string>
  /** It calls a function, or casts to a type, that only the catalogue has. */
  isOwn: boolean
}

function collect(tree: unknown): Found {
  const found: Found = { tables: [], ctes: new Set(), isOwn: false }
  const waiting: unknown[] = [tree]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== 'object' || node === null) continue
    if (Array.isArray(node)) {
      for (const item of node) if (item !== undefined) waiting.push(item)
      continue
    }
    note(node, found)
    for (const value of Object.values(node)) if (value !== undefined && value !== null) waiting.push(value)
  }
  return found
}

function note(node: object, found: Found): void {
  if ('ctes' in node && Array.isArray(node.ctes)) for (const { name } of node.ctes) found.ctes.add(String(name))
  if (!('kind' in node)) return
  if (node.kind === 'table' && 'path' in node && Array.isArray(node.path)) found.tables.push(node.path)
  if (node.kind === 'call' && 'path' in node && Array.isArray(node.path)) {
    const name = String(node.path.at(-1))
    if (ownFunctions.has(name) || node.path[0] === PG_CATALOG || node.path[0] === INFORMATION_SCHEMA) found.isOwn = true
  }
  if (node.kind === 'cast' && 'type' in node) {
    const { type } = node
    if (
      typeof type === 'object' &&
      type !== null &&
      'path' in type &&
      Array.isArray(type.path) &&
      OBJECT_TYPES.has(String(type.path.at(-1)))
    )
      found.isOwn = true
  }
}

/** For texts that do not follow the grammar. */
function namesRelation(text: string): boolean {
  let before = ''
  try {
    for (const { text: word, key, kind } of tokenize(text)) {
      const isAfterFrom = before === 'from' || before === 'join'
      if ((kind === 'word' || kind === 'quoted') && isAfterFrom) {
        if (word === PG_CATALOG || word === INFORMATION_SCHEMA || RELATIONS.has(`${PG_CATALOG}.${word}`)) return true
      }
      before = key
    }
  } catch {
    // Not even tokens: IQL says what is wrong.
  }
  return false
}
