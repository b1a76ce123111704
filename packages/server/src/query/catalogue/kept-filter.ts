/** The row filter of a materialized view: that of what it reads, over its own columns. */
import {
  type Expression,
  parseExpressionText,
  printExpression,
  sameName,
  someWithin,
  withChildren,
} from 'gatehouse-iql'
import type { KeptKeyDefinition, TableDefinition } from './definition.ts'

/** As IQL text. `tables` are all definitions, by name in lower case. */
export function findRowFilter(
  { kept, rowFilter }: TableDefinition,
  tables: ReadonlyMap<string, TableDefinition>,
): string | undefined {
  if (kept === undefined) return rowFilter
  const base = tables.get(kept.uses[0].toLowerCase())
  const filter = base && findRowFilter(base, tables)
  if (filter === undefined) return undefined
  const expression = parseExpressionText(filter)
  // Its definition and changes of the filter are refused before: nothing is shown rather than too much.
  return findHidden(filter, kept.keys) === undefined ? printExpression(renamed(expression, kept.keys)) : 'FALSE'
}

/** The first column of the filter that is not a group of the view as it is. */
export function findHidden(filter: string, keys: readonly KeptKeyDefinition[]): string | undefined {
  let hidden: string | undefined
  someWithin(parseExpressionText(filter), (node) => {
    if (node.kind === 'column' && findKey(node.name.text, keys) === undefined) hidden = node.name.text
    return hidden !== undefined
  })
  return hidden
}

function renamed(node: Expression, keys: readonly KeptKeyDefinition[]): Expression {
  if (node.kind !== 'column') return withChildren(node, (child) => renamed(child, keys))
  const text = findKey(node.name.text, keys)?.column ?? node.name.text
  return { ...node, table: undefined, name: { ...node.name, text } }
}

function findKey(column: string, keys: readonly KeptKeyDefinition[]): KeptKeyDefinition | undefined {
  return keys.find(({ base }) => base !== undefined && sameName(base, column))
}
