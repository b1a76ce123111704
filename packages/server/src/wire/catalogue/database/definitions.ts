/** Objects as the text that would create them, as pg_get_indexdef and the like show them. */
import type { CatalogueModel } from './catalogue-model.ts'
import { quoteIdentifier } from './catalogue-model.ts'
import type { ConstraintObject, IndexObject } from './objects.ts'

/** The whole, or the column at a position from 1; `isPretty` leaves out the schema. */
export function indexDefinition(
  model: Pick<CatalogueModel, 'index'>,
  oid: number,
  position = 0,
  isPretty = false,
): string | null {
  const found = model.index(oid)
  if (found === undefined) return null
  const { index, table } = found
  if (position > 0) {
    const part = index.columns[position - 1]
    return part === undefined ? '' : quoteIdentifier(part.column.name)
  }
  const [unique, name] = [index.isUnique ? 'UNIQUE ' : '', quoteIdentifier(index.name)]
  return `CREATE ${unique}INDEX ${name} ON ${isPretty ? '' : 'public.'}${quoteIdentifier(table.name)} USING btree (${indexColumns(index)})`
}

function indexColumns({ columns }: IndexObject): string {
  return columns
    .map(({ column, isDescending }) => `${quoteIdentifier(column.name)}${isDescending ? ' DESC' : ''}`)
    .join(', ')
}

export function constraintDefinition({ kind, columns, condition }: ConstraintObject): string {
  if (kind === 'c') return `CHECK (${condition ?? ''})`
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  return `${kind === 'p' ? 'PRIMARY KEY' : 'UNIQUE'} (${names})`
}

export function viewDefinition(text: string): string {
  return ` ${text.trim().replace(/;$/, '')};`
}

/** `numeric(18,4)`: a type with its modifier. */
export function formatType(model: CatalogueModel, type: number, modifier: number | null): string {
  const name = model.typeName(type)
  if (modifier === null || modifier < 0) {
    if (type === 1042 && modifier === null) return name
    return type === 1042 ? 'bpchar' : name
  }
  switch (type) {
    case 1700:
      return `${name}(${(modifier - 4) >> 16},${(modifier - 4) & 0xffff})`
    case 1042:
    case 1043:
      return `${name}(${modifier - 4})`
    case 1083:
    case 1114:
    case 1184:
    case 1266:
      return name.replace(/^(time|timestamp)/, `$1(${modifier})`)
    default:
      return name
  }
}
