/** Inserts that return the values they were given: the row is not read back, which SQLite would do through a temporary table. */
import { type BoundExpression, type Insert, typeName } from 'gatehouse-iql'
import type { Dialect } from './dialect.ts'
import type { EmittedSql } from './parameters.ts'
import { isChecked } from './write.ts'

/** The plan of the insert without RETURNING, with the parameters that it returns; undefined if it has to be read back, or binds a value by its name. */
export function returningGiven(
  insert: Insert,
  dialect: Dialect,
  finish: (insert: Insert) => EmittedSql,
): EmittedSql | undefined {
  const given = givenRow(insert, dialect)
  if (given === undefined) return undefined
  const emitted = finish({ ...insert, returning: [] })
  const returned = given.map((value) =>
    emitted.parameters.findIndex(
      ({ source, type }) =>
        value.kind === 'parameter' &&
        source.kind === 'parameter' &&
        source.index === value.index &&
        typeName(type) === typeName(value.type),
    ),
  )
  return returned.includes(-1) ? undefined : { ...emitted, returned }
}

/** The parameter that each returned column holds; undefined if one holds something else, or if the row may not be inserted. */
function givenRow(insert: Insert, dialect: Dialect): readonly BoundExpression[] | undefined {
  const { rows, returning, onConflict, source, table, columns } = insert
  if (!dialect.keepsParameters || returning.length === 0 || onConflict !== undefined || isChecked(insert))
    return undefined
  const [row, ...others] = rows.kind === 'values' ? rows.rows : []
  if (row === undefined || others.length > 0) return undefined
  const given: BoundExpression[] = []
  for (const { expression } of returning) {
    if (expression.kind !== 'column' || expression.source !== source) return undefined
    const column = table.columns[expression.ordinal]
    const value = row[columns.findIndex(({ name }) => name === column?.name)]
    if (column === undefined || value?.kind !== 'parameter') return undefined
    if (typeName(value.type) !== typeName(column.type)) return undefined
    given.push(value)
  }
  return given
}
