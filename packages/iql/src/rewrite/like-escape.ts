/** PostgreSQL's rule for LIKE and ILIKE: without ESCAPE the backslash escapes, and with an empty one nothing does. */
import type { Statement } from '../syntax/ast.ts'
import type { Like } from '../syntax/ast-query.ts'
import { mapNodes } from './map-nodes.ts'

/** Whether the rule can make a difference: cheap, and true for some statements where it makes none. */
export function mayNeedLikeEscape(text: string): boolean {
  return OTHER_PATTERN.test(text)
}

/** Any pattern but a single text without a backslash, or an empty ESCAPE. */
const OTHER_PATTERN = /\bi?like\b(?!\s*'[^'\\]*'\s*(?:$|[),;]|(?!(?:at|collate)\b)[a-z]))|\bescape\s*''/i

/** The views and the row filters that a statement uses are not part of it, and keep the rule of IQL. */
export function withLikeEscapes(statement: Statement): Statement {
  return mapNodes(statement, (node) => (isLike(node) ? withEscape(node) : node))
}

function withEscape(like: Like): Like {
  const { pattern, escape: written, at } = like
  if (written !== undefined)
    return written.kind === 'text' && written.value === '' ? { ...like, escape: undefined } : like
  if (pattern.kind === 'text' && !pattern.value.includes('\\')) return like
  return { ...like, escape: { kind: 'text', value: '\\', at } }
}

function isLike(node: object): node is Like {
  return 'kind' in node && node.kind === 'like' && 'pattern' in node
}
