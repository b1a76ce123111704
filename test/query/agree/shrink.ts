/** Makes a statement that shows something smaller while it still shows it. */
import type { Statement } from '../../../src/query/iql/ast.ts'

/** Tries every smaller tree, the largest cuts first, and goes on from the first that still shows it. */
export async function shrink(
  statement: Statement,
  shows: (smaller: Statement) => Promise<boolean>,
  attempts = 200,
): Promise<Statement> {
  let smallest = statement
  let left = attempts
  for (let found = true; found && left > 0; ) {
    found = false
    for (const candidate of smallerTrees(smallest)) {
      if (left-- <= 0) break
      if (!(await shows(candidate))) continue
      smallest = candidate
      found = true
      break
    }
  }
  return smallest
}

/**
 * A node is replaced by one that stands anywhere within it, an optional part is left out, a list loses an item. Most of
 * these trees are no statements; what is refused on both sides shows nothing and is passed over.
 */
function* smallerTrees<Tree>(tree: Tree): Generator<Tree> {
  if (typeof tree !== 'object' || tree === null) return
  if (isExpression(tree)) yield* within(tree)
  for (const [key, value] of Object.entries(tree)) {
    const put = (part: unknown): Tree => Object.assign(structuredClone(tree), { [key]: part })
    if (OPTIONAL.has(key) && value !== undefined) yield put(undefined)
    // An order is what makes a limit or a window mean one thing.
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

/** The expressions within an expression, nearest first; binding tells which of them fit in its place. */
function* within<Tree>(tree: Tree): Generator<Tree> {
  const waiting: unknown[] = childrenOf(tree)
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (typeof next !== 'object' || next === null) continue
    if (isExpression(next) || ('kind' in next && next.kind === 'column')) yield next as Tree
    if ('kind' in next && next.kind === 'query') continue
    waiting.push(...childrenOf(next))
  }
}

function childrenOf(tree: unknown): unknown[] {
  return typeof tree === 'object' && tree !== null
    ? Object.values(tree).filter((child) => typeof child === 'object')
    : []
}
