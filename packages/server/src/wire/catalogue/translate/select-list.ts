/** Parts of a SELECT that refer to its list: GROUP BY, DISTINCT ON, and the columns of a star. */
import { CatalogueError } from '../catalogue-error.ts'
import type { Expression, OrderItem, Select } from '../syntax/ast.ts'
import { translateOrder } from './call.ts'
import type { Column, Scope } from './scope.ts'
import type { Typed } from './typed.ts'

/** A column of a table comes before an output column. */
export function groupTerm(
  value: Expression,
  select: Select,
  items: readonly Typed[],
  scope: Scope,
  print: (value: Expression) => string,
): string {
  if (value.kind === 'number') return items[Number(value.value) - 1]?.sql ?? value.value
  if (value.kind !== 'column' || value.path.length !== 1 || scope.find(value.path, value.at) !== undefined)
    return print(value)
  const index = select.items.findIndex((item) => item.kind === 'value' && item.alias === value.path[0])
  return items[index]?.sql ?? print(value)
}

export function expandStar({ path, at }: Extract<Select['items'][number], { kind: 'star' }>, scope: Scope): Typed[] {
  const name = path.at(-1)
  const named = name === undefined ? undefined : scope.source(name)
  if (name !== undefined && named === undefined)
    throw new CatalogueError('unknownTable', `missing FROM-clause entry for table "${name}"`, at)
  const sources = named === undefined ? scope.sources : [named]
  if (sources.length === 0) throw new CatalogueError('syntax', 'SELECT * with no tables specified is not valid', at)
  return sources.flatMap(({ columns }) =>
    columns
      .filter((column) => column.isHidden !== true && (named !== undefined || column.isMerged !== true))
      .map(asTyped),
  )
}

function asTyped({ sql, type, name, modifier, fields }: Column): Typed {
  return { sql, type, name, modifier, ...(fields === undefined ? {} : { fields }) }
}

export interface FirstRows {
  /** Columns besides those of the select list. */
  readonly extra: readonly string[]
  /** Selects the first row of each group from the query in parentheses. */
  readonly around: (sql: string, columns: number) => string
  readonly orderTerm: (value: Expression) => string
}

/** DISTINCT ON, which SQLite does not have: rows are numbered within their group, in the order of the query. */
export function firstRows(
  on: readonly Expression[],
  orderBy: readonly OrderItem[],
  print: (value: Expression) => string,
): FirstRows {
  const order = translateOrder(orderBy, print)
  const number = `row_number() OVER (PARTITION BY ${on.map(print).join(', ')}${order === '' ? '' : ` ORDER BY ${order}`})`
  return {
    extra: [`${number} AS gh_row`, ...orderBy.map(({ value }, index) => `${print(value)} AS gh_order${index}`)],
    around: (sql, columns) => {
      const names = Array.from({ length: Math.max(columns, 1) }, (_none, index) => `c${index + 1}`)
      // With the columns that ORDER BY refers to; they are not read.
      return `SELECT ${names.join(', ')} FROM (${sql}) WHERE gh_row = 1`
    },
    orderTerm: (value) => `gh_order${orderBy.findIndex((item) => item.value === value)}`,
  }
}
