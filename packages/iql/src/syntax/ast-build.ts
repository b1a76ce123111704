/** Builds syntax trees of statements that were not parsed. Their positions are zero. */
import type { Insert } from './ast.ts'
import type { BinaryOperator, Expression, Name, Query, SelectItem } from './ast-query.ts'

export const AT = { at: 0 }

export function buildName(text: string): Name {
  return { text, ...AT }
}

export function columnRef(column: string): Expression {
  return { kind: 'column', table: undefined, name: buildName(column) }
}

export function parameterRef(name: string): Expression {
  return { kind: 'parameter', name, ...AT }
}

export function boolean(value: boolean): Expression {
  return { kind: 'boolean', value, ...AT }
}

export function number(text: string): Expression {
  return { kind: 'number', text, ...AT }
}

export function text(value: string): Expression {
  return { kind: 'text', value, ...AT }
}

export function binary(operator: BinaryOperator, left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator, left, right, ...AT }
}

export function isNull(operand: Expression, negated: boolean): Expression {
  return { kind: 'is-null', operand, negated, ...AT }
}

/** INSERT INTO table query */
export function insertQuery(table: string, query: Query): Insert {
  const source = { kind: 'query', query } as const
  return { kind: 'insert', table: buildName(table), columns: [], source, onConflict: undefined, returning: [], ...AT }
}

/** INSERT … VALUES whose values are the parameters v0, v1, …, row by row. */
export function buildInsert(
  table: string,
  columns: readonly string[],
  rowCount: number,
  returning: readonly SelectItem[],
): Insert {
  const rows = Array.from({ length: rowCount }, (_row, row) => ({
    values: columns.map((_column, index) => parameterRef(`v${row * columns.length + index}`)),
    ...AT,
  }))
  return {
    kind: 'insert',
    table: buildName(table),
    columns: columns.map(buildName),
    source: { kind: 'values', rows },
    onConflict: undefined,
    returning,
    ...AT,
  }
}
