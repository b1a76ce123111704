/** Rebuilds a statement with some of its nodes replaced: for rewrites that look at one kind of node, wherever it stands. */

/** Calls `map` with every object of the tree, after its parts were mapped. */
export function mapNodes<Node>(node: Node, map: (node: object) => object): Node {
  return mapNode(node, map) as Node
}

function mapNode(node: unknown, map: (node: object) => object): unknown {
  if (Array.isArray(node)) return node.map((item) => mapNode(item, map))
  if (typeof node !== 'object' || node === null) return node
  return map(Object.fromEntries(Object.entries(node).map(([key, value]) => [key, mapNode(value, map)])))
}
