/** Shrinks a failing statement to a smaller one that still fails. */
import type { Statement } from 'gatehouse-iql'

/** Tries every smaller tree, the smallest first, and continues from the first that still fails. */
export async function shrink(
  statement: Statement,
  fails: (smaller: Statement) => Promise<boolean>,
  attempts = 200,
): Promise<Statement> {
  let smallest = statement
  let left = attempts
  for (let found = true; found && left > 0; ) {
    found = false
    for (const candidate of smallerTrees(smallest)) {
      if (left-- <= 0) break
      if (!(await fails(candidate))) continue
      smallest = candidate
      found = true
      break
    }
  }
  return smallest
}

/**
 * Replaces a node by one of its descendants, omits an optional part, or removes an item of a list. Most of these trees are
 * not valid statements; they are refused on both engines, so they do not count as failing.
 */
function* smallerTrees<Tree>(tree: Tree): Generator<Tree> {
  if (typeof tree !== 'object' || tree === null) return
  if (isExpression(tree)) yield* within(tree)
  for (const [key, value] of Object.entries(tree)) {
    const put = (part: unknown): Tree => Object.assign(structuredClone(tree), { [key]: part })
    if (OPTIONAL.has(key) && value !== undefined) yield put(undefined)
    // Without its ORDER BY, a LIMIT or a window has no defined result.
    if (key === 'orderBy') continue
    if (Array.isArray(value)) {
      for (const index of value.keys()) yield put(value.filter((_, place) => place !== index))
    }
    for (const smaller of smallerTrees(value)) yield put(smaller)
  }
}

const OPTIONAL: ReadonlySet<string> = new Set([
  'where',
  'having',
  'filter',
  'limit',
  'offset',
  'frame',
  'escape',
  'otherwise',
  'nulls',
])

const NO_EXPRESSIONS: ReadonlySet<unknown> = new Set([
  'query',
  'select',
  'set',
  'table',
  'derived',
  'join',
  'item',
  'all',
  'update',
  'delete',
  'insert',
])

function isExpression(tree: object): boolean {
  return 'kind' in tree && typeof tree.kind === 'string' && !NO_EXPRESSIONS.has(tree.kind) && 'at' in tree
}

/** The expressions within an expression, nearest first. The binder decides which of them can replace it. */
function* within<Tree>(tree: Tree): Generator<Tree> {
  const waiting: unknown[] = listChildren(tree)
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (typeof next !== 'object' || next === null) continue
    if (isExpression(next) || ('kind' in next && next.kind === 'column')) yield next as Tree
    if ('kind' in next && next.kind === 'query') continue
    waiting.push(...listChildren(next))
  }
}

function listChildren(tree: unknown): unknown[] {
  return typeof tree === 'object' && tree !== null
    ? Object.values(tree).filter((child) => typeof child === 'object')
    : []
}
