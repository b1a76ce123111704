/** The columns of tables that the columns of a result come from, as RowDescription tells them. */
import type { Bound, BoundBody, BoundExpression, BoundQuery, BoundStatement, Source, TableView } from 'gatehouse-iql'
import type { CatalogueSnapshot } from '../../../query/index.ts'
import { tableOid } from '../../catalogue/database/objects.ts'

/** The table's object id, and the number of its column from 1. */
export interface ColumnOrigin {
  readonly table: number
  readonly column: number
}

/**
 * Undefined for an expression. PostgreSQL names a view as the origin of its columns, which a plan does not know: with views, no column has
 * an origin.
 */
export function findOrigins(
  { statement, columns, views }: Bound,
  snapshot: CatalogueSnapshot,
): readonly (ColumnOrigin | undefined)[] {
  const find = views.length > 0 ? undefined : createFinder(statement)
  return columns.map((_, index) => {
    const found = find?.(index)
    if (found === undefined || found.table.isSystem) return undefined
    const { id } = snapshot.findDefinition(found.table.name) ?? {}
    return id === undefined ? undefined : { table: tableOid(id), column: found.ordinal + 1 }
  })
}

interface TableColumn {
  readonly table: TableView
  readonly ordinal: number
}

type Find = (index: number) => TableColumn | undefined
/** The WITH queries of the whole statement, by id. */
type Ctes = Map<number, BoundQuery>

function createFinder(statement: BoundStatement): Find | undefined {
  switch (statement.kind) {
    case 'query':
      return finderIn(statement)
    case 'insert':
    case 'update':
    case 'delete': {
      const { table, source, returning } = statement
      return (index) => {
        const column = asColumn(returning[index]?.expression)
        return column?.source === source ? { table, ordinal: column.ordinal } : undefined
      }
    }
    default:
      return undefined
  }
}

function finderIn(query: BoundQuery): Find {
  const ctes: Ctes = new Map()
  return (index) => inQuery(query, index, ctes)
}

function inQuery(query: BoundQuery, index: number, ctes: Ctes): TableColumn | undefined {
  const [first] = query.with
  if (first !== undefined && !ctes.has(first.id)) for (const { id, query: named } of query.with) ctes.set(id, named)
  return inBody(query.body, index, ctes)
}

/** As in PostgreSQL, a column of a set operation has no origin. */
function inBody(body: BoundBody, index: number, ctes: Ctes): TableColumn | undefined {
  if (body.kind === 'query') return inQuery(body, index, ctes)
  const column = body.kind === 'select' ? asColumn(body.outputs[index]?.expression) : undefined
  if (column === undefined || body.kind !== 'select' || body.from === undefined) return undefined
  return inSource(body.from, column, ctes)
}

function inSource(
  source: Source,
  column: { readonly source: number; readonly ordinal: number },
  ctes: Ctes,
): TableColumn | undefined {
  if (source.kind === 'join' || source.kind === 'asof')
    return inSource(source.left, column, ctes) ?? inSource(source.right, column, ctes)
  if (source.id !== column.source) return undefined
  switch (source.kind) {
    case 'table':
      return { table: source.table, ordinal: column.ordinal }
    case 'derived':
      return inQuery(source.query, column.ordinal, ctes)
    case 'cte': {
      const cte = ctes.get(source.cte)
      return cte && inQuery(cte, column.ordinal, ctes)
    }
    case 'series':
      return undefined
  }
}

function asColumn(expression: BoundExpression | undefined) {
  if (expression?.kind === 'group-key') return asColumn(expression.expression)
  return expression?.kind === 'column' ? expression : undefined
}
