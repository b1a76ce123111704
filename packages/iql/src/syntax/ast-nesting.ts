/** How deep a syntax tree nests: in queries, and in the expressions that other expressions are nested in. */

const NESTING: ReadonlySet<unknown> = new Set(['query', 'case', 'call', 'cast', 'unary', 'in-list'])

/** The most queries, calls, CASEs and the like on the way from the root to any node. */
export function measureNesting(root: object): number {
  let deepest = 0
  // A chain of AND is as deep as it is long.
  const rest: { readonly node: object; readonly depth: number }[] = [{ node: root, depth: 0 }]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node } = next
    const depth = next.depth + ('kind' in node && NESTING.has(node.kind) ? 1 : 0)
    if (depth > deepest) deepest = depth
    for (const child of Object.values(node))
      if (typeof child === 'object' && child !== null) rest.push({ node: child, depth })
  }
  return deepest
}
