/** LIKE with SQLite: GLOB where the pattern is known, since it minds the case and can use an index; else a function. */
import type { BoundExpression, Like } from '../../iql/bound-expression.ts'
import type { Sql } from '../emit/dialect.ts'

export function likeSql(operand: Sql, pattern: Sql, mark: Sql | undefined, node: Like): Sql {
  const globbed = node.ignoreCase ? undefined : globOf(node)
  if (globbed !== undefined) return `(${operand} GLOB ${globbed})`
  // No text is longer than one character and empty at once: '' escapes nothing.
  const escapeSql = mark ?? "''"
  if (!node.ignoreCase) return `gh_like(${operand}, ${pattern}, ${escapeSql})`
  return `gh_like(gh_lower(${operand}), gh_lower(${pattern}), ${node.escape === undefined ? escapeSql : `gh_lower(${escapeSql})`})`
}

/** The pattern as a quoted GLOB pattern, when it is a literal that keeps to what GLOB can say. */
function globOf({ pattern, escape: mark }: Like): Sql | undefined {
  const text = literalText(pattern)
  const escapeText = mark === undefined ? '' : literalText(mark)
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
