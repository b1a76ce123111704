/** The names that a FROM introduces, read from the syntax: for rewriting a select before it is bound. */
import type { Body, ColumnRef, Expression, From, Query, Select } from '../syntax/ast-query.ts'
import { sameName } from '../syntax/names.ts'
import type { Binding } from './binding.ts'
import type { Scope } from './scope.ts'

/** The columns of a table, a view or a WITH query; undefined if there is none of the name. */
export type FindColumns = (table: string) => readonly string[] | undefined

export function columnsSeenIn(binding: Binding, scope: Scope): FindColumns {
  return (table) => (scope.cte(table) ?? binding.catalogue.lookup(table))?.columns.map(({ name }) => name)
}

export interface NamedSource {
  readonly name: string
  readonly columns: readonly string[]
}

export function namedSources(from: From | undefined, findColumns: FindColumns): readonly NamedSource[] {
  switch (from?.kind) {
    case undefined:
      return []
    case 'table':
      return [{ name: (from.alias ?? from.name).text, columns: findColumns(from.name.text) ?? [] }]
    case 'derived':
      return [{ name: from.alias.text, columns: outputNames(from.query, findColumns) }]
    case 'function': {
      const column = from.column ?? from.alias ?? from.name
      return [{ name: (from.alias ?? from.name).text, columns: [column.text] }]
    }
    case 'join':
      return [...namedSources(from.left, findColumns), ...namedSources(from.right, findColumns)]
  }
}

export function hasColumn(
  sources: readonly NamedSource[],
  { table, name }: Pick<ColumnRef, 'table' | 'name'>,
): boolean {
  return sources.some((source) => {
    const isNamed = table === undefined || sameName(source.name, table.text)
    return isNamed && source.columns.some((column) => sameName(column, name.text))
  })
}

/** The first column in the query that is not of the query itself, but of the sources around it. */
export function outerColumn(
  query: Query,
  outer: readonly NamedSource[],
  findColumns: FindColumns,
): ColumnRef | undefined {
  const inQuery = (node: Query, inner: readonly NamedSource[], known: FindColumns): ColumnRef | undefined => {
    const seen = withCtes(node, known)
    const own = node.body.kind === 'select' ? namedSources(node.body.from, seen) : []
    return inside(node, [...own, ...inner], seen)
  }
  const inside = (node: unknown, inner: readonly NamedSource[], known: FindColumns): ColumnRef | undefined => {
    if (typeof node !== 'object' || node === null) return undefined
    if (isColumn(node)) return !hasColumn(inner, node) && hasColumn(outer, node) ? node : undefined
    for (const child of Object.values(node)) {
      const found = isQuery(child)
        ? inQuery(child, inner, known)
        : isSelect(child)
          ? inside(child, [...namedSources(child.from, known), ...inner], known)
          : inside(child, inner, known)
      if (found !== undefined) return found
    }
    return undefined
  }
  return inQuery(query, [], findColumns)
}

function withCtes({ with: ctes }: Query, findColumns: FindColumns): FindColumns {
  return ctes.reduce<FindColumns>((known, cte) => {
    const columns = cte.columns.length > 0 ? cte.columns.map(({ text }) => text) : outputNames(cte.query, known)
    return (table) => (sameName(table, cte.name.text) ? columns : known(table))
  }, findColumns)
}

function outputNames(query: Query, findColumns: FindColumns): readonly string[] {
  const known = withCtes(query, findColumns)
  let body: Body = query.body
  while (body.kind === 'set') body = body.left
  if (body.kind === 'query') return outputNames(body, known)
  const sources = namedSources(body.from, known)
  // Each name once, and each * once: nested ones would double at each level.
  const names = new Map<string, string>()
  const stars = new Set<string | undefined>()
  for (const item of body.items) {
    if (item.kind === 'item') {
      const name = item.alias?.text ?? outputName(item.expression)
      if (name !== undefined) names.set(name.toLowerCase(), name)
      continue
    }
    const table = item.table?.text.toLowerCase()
    if (stars.has(table)) continue
    stars.add(table)
    for (const { name, columns } of sources)
      if (table === undefined || name.toLowerCase() === table)
        for (const column of columns) names.set(column.toLowerCase(), column)
  }
  return [...names.values()]
}

/** Other outputs have names that no statement uses. */
function outputName(expression: Expression): string | undefined {
  switch (expression.kind) {
    case 'column':
    case 'call':
      return expression.name.text
    case 'cast':
      return outputName(expression.operand)
    default:
      return undefined
  }
}

function isColumn(node: object): node is ColumnRef {
  return 'kind' in node && node.kind === 'column' && 'name' in node
}

function isQuery(node: unknown): node is Query {
  return typeof node === 'object' && node !== null && 'kind' in node && node.kind === 'query'
}

function isSelect(node: unknown): node is Select {
  return typeof node === 'object' && node !== null && 'kind' in node && node.kind === 'select'
}
