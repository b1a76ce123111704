/**
 * Databases copy expressions before they run a statement. PostgreSQL copies what BETWEEN tests, and what IN tests for each item that is
 * not a constant; both put the outputs of a query in FROM in the place of its columns. Nested, a few kilobytes of text would take all
 * memory, in a phase that no time limit ends. This counts the expressions as if all were copied.
 */

import type { Assignment, BoundStatement } from './bound.ts'
import type { BoundBody, BoundExpression, BoundQuery, Source } from './bound-query.ts'
import { directOperands, orderAndLimitExpressions, selectExpressions, sourceExpressions } from './bound-walk.ts'

export type Runnable = Extract<BoundStatement, { kind: 'query' | 'insert' | 'update' | 'delete' }>

/** The expressions of a statement with all copies. */
export function copiedSize(statement: Runnable): number {
  return new CopiedSizes().statement(statement)
}

/** Whether it can be copied at no cost. */
export function isPlain({ kind }: BoundExpression): boolean {
  return kind === 'column' || kind === 'output' || kind === 'literal' || kind === 'parameter' || kind === 'claim'
}

class CopiedSizes {
  /** Of the columns of each source and of each WITH query, by id. Those of tables are 1. */
  readonly #sources = new Map<number, readonly number[]>()
  readonly #ctes = new Map<number, readonly number[]>()
  #total = 0
  #hasWindow = false

  statement(statement: Runnable): number {
    if (statement.kind === 'query') this.#query(statement)
    else
      for (const part of partsOfWrite(statement)) {
        if (part.kind === 'query') this.#query(part)
        else this.#add(part)
      }
    return this.#total
  }

  /** Counts the query, and returns the sizes of its columns. */
  #query(query: BoundQuery): readonly number[] {
    for (const cte of query.with) this.#ctes.set(cte.id, this.#query(cte.query))
    const columns = this.#body(query.body)
    for (const expression of orderAndLimitExpressions(query)) this.#add(expression)
    return columns
  }

  #body(body: BoundBody): readonly number[] {
    switch (body.kind) {
      case 'query':
        return this.#query(body)
      case 'set': {
        const [left, right] = [this.#body(body.left), this.#body(body.right)]
        return left.map((size, index) => Math.max(size, right[index] ?? 1))
      }
      case 'select': {
        if (body.from !== undefined) this.#source(body.from)
        this.#hasWindow = false
        const sizes = selectExpressions(body).map((expression) => this.#add(expression))
        // The rows of such a query are made before its columns are used.
        const isWhole = body.grouped || body.distinct || body.latest !== undefined || this.#hasWindow
        return body.outputs.map((_output, index) => (isWhole ? 1 : (sizes[index] ?? 1)))
      }
    }
  }

  #source(source: Source): void {
    if (source.kind === 'derived') this.#sources.set(source.id, this.#query(source.query))
    if (source.kind === 'cte') this.#sources.set(source.id, this.#ctes.get(source.cte) ?? [])
    if (source.kind === 'join' || source.kind === 'asof') {
      this.#source(source.left)
      this.#source(source.right)
    }
    for (const expression of sourceExpressions(source)) this.#add(expression)
  }

  #add(expression: BoundExpression): number {
    const size = this.#size(expression)
    this.#total += size
    return size
  }

  #size(node: BoundExpression): number {
    if (node.kind === 'column') return this.#sources.get(node.source)?.[node.ordinal] ?? 1
    let size = 1
    for (const operand of directOperands(node)) size += this.#size(operand) * countEvaluations(node, operand)
    if (node.kind === 'exists' || node.kind === 'scalar-query' || node.kind === 'in-query')
      size += this.#inside(node.query)
    this.#hasWindow ||= node.kind === 'window'
    return size
  }

  /** The size of a query in an expression, which is a part of the expression. */
  #inside(query: BoundQuery): number {
    const [total, hasWindow] = [this.#total, this.#hasWindow]
    this.#query(query)
    const size = this.#total - total
    this.#total = total
    this.#hasWindow = hasWindow
    return size
  }
}

/** How often a database evaluates the operand. */
export function countEvaluations(node: BoundExpression, operand: BoundExpression): number {
  if (node.kind === 'between') return operand === node.operand ? 2 : 1
  // The SQL itself holds it twice.
  if (node.kind === 'nullif') return operand === node.value && node.compared !== 'value' ? 2 : 1
  if (node.kind !== 'in-list' || operand !== node.operand) return 1
  return 1 + node.items.filter(({ kind }) => kind !== 'literal' && kind !== 'parameter').length
}

/** The expressions and queries of a write. */
export function* partsOfWrite(statement: Exclude<Runnable, BoundQuery>): Generator<BoundExpression | BoundQuery, void> {
  for (const { expression } of statement.returning) yield expression
  if (statement.kind !== 'insert') {
    if (statement.where !== undefined) yield statement.where
    if (statement.kind === 'update') yield* assignedValues(statement.set)
    return
  }
  if (statement.rows.kind === 'query') yield statement.rows.query
  else for (const row of statement.rows.rows) for (const value of row) if (value.kind !== 'default') yield value
  if (statement.onConflict?.kind !== 'update') return
  yield* assignedValues(statement.onConflict.set)
  if (statement.onConflict.where !== undefined) yield statement.onConflict.where
}

function* assignedValues(set: readonly Assignment[]): Generator<BoundExpression, void> {
  for (const { value } of set) if (value.kind !== 'default') yield value
}
