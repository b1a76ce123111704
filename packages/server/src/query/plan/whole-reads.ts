/** Which tables a statement reads whole, and which indexes its ASOF JOINs lack: what the error of a time limit says about its cause. */

import {
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  type BoundStatement,
  conjuncts,
  directOperands,
  type FindIndexes,
  type Source,
  type TableSource,
  walkQuery,
} from 'gatehouse-iql'
import { asofIndexColumns, asofMethod, sourceIds } from '../engines/emit/asof.ts'
import { latestIndex } from '../engines/emit/latest.ts'
import { targetSource } from './cost.ts'

/** More tables are not named. */
const MAX_NAMED = 5

/** A sentence for people, or undefined if every table is searched by a key or an index. */
export function describeWholeReads(statement: BoundStatement, findIndexes: FindIndexes): string | undefined {
  const found = new WholeReads(findIndexes)
  found.addStatement(statement)
  const { tables, missing } = found
  if (tables.size === 0) return undefined
  const names = [...tables].slice(0, MAX_NAMED)
  const all = tables.size > MAX_NAMED ? [...names, 'other tables'] : names
  const advice = [...missing].slice(0, MAX_NAMED).map((index) => `; its ASOF JOIN has no index on ${index}`)
  return `It reads all rows of ${listed(all)}${advice.join('')}`
}

/** The tables that are read whole. */
export function findWholeReads(statement: BoundStatement, findIndexes: FindIndexes): readonly string[] {
  const found = new WholeReads(findIndexes)
  found.addStatement(statement)
  return [...found.tables]
}

class WholeReads {
  readonly tables = new Set<string>()
  readonly missing = new Set<string>()
  readonly #findIndexes: FindIndexes

  constructor(findIndexes: FindIndexes) {
    this.#findIndexes = findIndexes
  }

  addStatement(statement: BoundStatement): void {
    switch (statement.kind) {
      case 'query':
        this.#addQuery(statement)
        return
      case 'insert':
        if (statement.rows.kind === 'query') this.#addQuery(statement.rows.query)
        return
      case 'update':
      case 'delete':
        this.#addTable(targetSource(statement), conjuncts(statement.where))
        return
      case 'explain':
        if (statement.analyzed !== undefined) this.addStatement(statement.statement)
    }
  }

  #addQuery(query: BoundQuery): void {
    for (const part of walkQuery(query)) {
      if (part.kind !== 'query') continue
      const bodies = [part.query.body]
      for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
        if (body.kind === 'set') bodies.push(body.left, body.right)
        else if (body.kind === 'select') this.#addSelect(body)
      }
    }
  }

  #addSelect(select: BoundSelect): void {
    const { from, where } = select
    if (from === undefined || latestIndex(select, this.#findIndexes) !== undefined) return
    this.#addSource(from, conjuncts(where), sourceIds(from))
  }

  #addSource(source: Source, conditions: readonly BoundExpression[], sources: readonly number[]): void {
    switch (source.kind) {
      case 'table':
        this.#addTable(source, conditions)
        return
      case 'join':
        this.#addSource(source.left, conditions, sources)
        this.#addSource(source.right, [...conditions, ...conjuncts(source.on)], sources)
        return
      case 'asof': {
        this.#addSource(source.left, conditions, sources)
        const context = { conditions: [...conditions], sources }
        if (asofMethod(source, context, { findIndexes: this.#findIndexes, isFormer: false }).kind === 'index') return
        this.#addSource(source.right, [], sources)
        const columns = asofIndexColumns(source)
        if (columns !== undefined && source.right.kind === 'table')
          this.missing.add(`${source.right.table.name} (${columns.join(', ')})`)
      }
    }
  }

  #addTable(source: TableSource, conditions: readonly BoundExpression[]): void {
    const { id, table, filter } = source
    const keys = [table.primaryKey, ...table.uniques, ...this.#findIndexes(table)]
    const isSearched = keys.some(([first]) => conditions.some((condition) => isAbout(condition, id, first)))
    // The database evaluates the conditions of the statement after the row filter.
    if (!isSearched || filter !== undefined) this.tables.add(table.name)
  }
}

/** Whether the condition compares the column with values that do not depend on the row. */
function isAbout(condition: BoundExpression, source: number, name: string | undefined): boolean {
  const isColumn = (node: BoundExpression) => node.kind === 'column' && node.source === source && node.name === name
  const uses = (node: BoundExpression): boolean =>
    node.kind === 'column' ? node.source === source : directOperands(node).some(uses)
  switch (condition.kind) {
    case 'compare': {
      const { operator, left, right } = condition
      return operator !== '<>' && ((isColumn(left) && !uses(right)) || (isColumn(right) && !uses(left)))
    }
    case 'between':
    case 'in-list':
    case 'in-query':
      return !condition.negated && isColumn(condition.operand)
    default:
      return false
  }
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
