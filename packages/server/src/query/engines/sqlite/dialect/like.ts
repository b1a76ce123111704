/** LIKE in SQLite: GLOB for a literal pattern, because it is case-sensitive and can use an index; otherwise a function. */
import type { BoundExpression, Like } from 'gatehouse-iql'
import type { Sql } from '../../emit/dialect.ts'

export function likeSql(operand: Sql, pattern: Sql, escapeSql: Sql | undefined, node: Like): Sql {
  const globbed = node.ignoreCase ? undefined : toGlob(node)
  if (globbed !== undefined) return `(${operand} GLOB ${globbed})`
  return checkedLikeSql(operand, pattern, escapeSql, node)
}

/** The function checks how many steps the search may take. */
export function checkedLikeSql(operand: Sql, pattern: Sql, escapeSql: Sql | undefined, node: Like): Sql {
  // '' escapes nothing.
  const escaped = escapeSql ?? "''"
  if (!node.ignoreCase) return `gh_like(${operand}, ${pattern}, ${escaped})`
  return `gh_like(gh_lower(${operand}), gh_lower(${pattern}), gh_lower(${escaped}))`
}

/** A literal pattern as a quoted GLOB pattern; undefined if GLOB cannot express it. */
function toGlob({ pattern, escape: escapeNode }: Like): Sql | undefined {
  const text = literalText(pattern)
  const escapeText = escapeNode === undefined ? '' : literalText(escapeNode)
  if (text === undefined || escapeText === undefined || text.length > 1000) return undefined
  let glob = ''
  let escaped = false
  for (const character of text) {
    if (escaped) {
      glob += literally(character)
      escaped = false
    } else if (character === escapeText) escaped = true
    else if (character === '%') glob += '*'
    else if (character === '_') glob += '?'
    else glob += literally(character)
  }
  return escaped ? undefined : `'${glob.replaceAll("'", "''")}'`
}

function literally(character: string): string {
  return character === '*' || character === '?' || character === '[' ? `[${character}]` : character
}

function literalText(node: BoundExpression): string | undefined {
  return node.kind === 'literal' && typeof node.value === 'string' ? node.value : undefined
}
