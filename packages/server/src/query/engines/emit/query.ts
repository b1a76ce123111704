/** Emits bound queries as SQL. Sources are aliased s<id> and the columns of every query c0, c1, …, so that no names clash. */

import {
  type BoundBody,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  cannotFail,
  combineConditions,
  conjuncts,
  directOperands,
  type FindIndexes,
  isTotal,
  partsOfWrite,
  type SetOperation,
  type Source,
  type TableSource,
  type Weighed,
  walkQuery,
  weigh,
} from 'gatehouse-iql'
import { once } from '../../../lib/once.ts'
import { containsAggregate, emitOrder, emitSort } from './aggregate.ts'
import { emitAsof, type FromContext, sourceIds } from './asof.ts'
import type { Dialect, Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { emitNode } from './expression.ts'
import { findingConditions, restrictDerived } from './finding-conditions.ts'
import { emitLatest } from './latest.ts'
import { Placeholders } from './parameters.ts'
import { emitTextsFit } from './text-limits.ts'
import { emitZone } from './zone.ts'

export interface EmissionOptions extends Partial<Pick<Emission, 'isFormer' | 'autoParameters' | 'bulk'>> {
  /** Without it no indexes are known. */
  readonly findIndexes?: FindIndexes
  /** A statement of a caller, whose texts are bounded. */
  readonly statement?: Weighed | undefined
}

export function createEmission(dialect: Dialect, options: EmissionOptions = {}): Emission {
  const { isFormer = false, autoParameters = NONE, findIndexes = () => [], statement, bulk } = options
  const weight = once(() => statement && weigh(statement, findIndexes))
  const emission: Emission = {
    dialect,
    isFormer,
    bulk,
    autoParameters,
    findIndexes,
    weight,
    mayFail: once(() => statement !== undefined && mayFail(statement)),
    placeholders: new Placeholders(weight),
    sources: new Map(),
    node: emitNode,
    subquery: (query) => emitQuery(query, emission),
  }
  return emission
}

const NONE: Emission['autoParameters'] = new Map()

function mayFail(statement: Weighed): boolean {
  const parts = statement.kind === 'query' ? [statement] : [...partsOfWrite(statement)]
  return parts.some((part) => (part.kind === 'query' ? queryMayFail(part) : !cannotFail(part)))
}

function queryMayFail(query: BoundQuery): boolean {
  for (const part of walkQuery(query)) if (part.kind === 'expression' && !isTotal(part.expression)) return true
  return false
}

/** `extra` are expressions over the select's input that follow its outputs: the key columns of a cursor. */
export function emitQuery(query: BoundQuery, emission: Emission, extra: readonly BoundExpression[] = []): Sql {
  const ctes = query.with.map((cte) => {
    const columns = cte.columns.map((_column, ordinal) => `c${ordinal}`).join(', ')
    return `w${cte.id} (${columns}) AS (${emitQuery(cte.query, emission)})`
  })
  const used = once(() => usedColumns(query, extra))
  const parts = emitBody(query.body, emission, { extra, used })
  const all = [...ctes, ...parts.with]
  const clauses = [parts.sql, ...emitBounds(query, emission)]
  return `${all.length === 0 ? '' : `WITH ${all.join(', ')} `}${clauses.join(' ')}`
}

/** The ORDER BY, LIMIT and OFFSET of a query. */
export function emitBounds(query: BoundQuery, emission: Emission): Sql[] {
  const clauses: Sql[] = []
  // The sort keys of other queries are always outputs.
  const isOfRows = query.body.kind === 'select' && !query.body.distinct
  if (query.orderBy.length > 0) clauses.push(`ORDER BY ${(isOfRows ? emitSort : emitOrder)(query.orderBy, emission)}`)
  if (query.limit !== undefined) clauses.push(`LIMIT ${emitRowCount(query.limit, emission)}`)
  if (query.offset !== undefined) {
    if (query.limit === undefined) clauses.push('LIMIT 9223372036854775807')
    clauses.push(`OFFSET ${emitRowCount(query.offset, emission)}`)
  }
  return clauses
}

/** The columns of each source, by ordinal. */
export function usedColumns(query: BoundQuery, extra: readonly BoundExpression[]): ReturnType<FromContext['used']> {
  const used = new Map<number, Map<number, string>>()
  const add = (node: BoundExpression): void => {
    if (node.kind !== 'column') return
    const columns = used.get(node.source) ?? new Map<number, string>()
    used.set(node.source, columns.set(node.ordinal, node.name))
  }
  const addAll = (node: BoundExpression): void => {
    add(node)
    directOperands(node).forEach(addAll)
  }
  for (const part of walkQuery(query)) if (part.kind === 'expression') add(part.expression)
  extra.forEach(addAll)
  return used
}

interface BodyParts {
  readonly sql: Sql
  readonly with: readonly Sql[]
}

interface BodyContext extends Pick<FromContext, 'used'> {
  readonly extra: readonly BoundExpression[]
}

function emitBody(body: BoundBody, emission: Emission, context: BodyContext): BodyParts {
  switch (body.kind) {
    case 'select':
      return emitSelect(body, emission, context)
    case 'set':
      return { sql: emitSet(body, emission, context), with: [] }
    case 'query':
      return { sql: `SELECT * FROM (${emitQuery(body, emission)}) AS q`, with: [] }
  }
}

function emitSet(node: SetOperation, emission: Emission, context: BodyContext): Sql {
  const side = (body: BoundBody): Sql => {
    const { sql, with: ctes } = emitBody(body, emission, { ...context, extra: [] })
    return ctes.length === 0 ? sql : `WITH ${ctes.join(', ')} ${sql}`
  }
  return emission.dialect.setOperation(side(node.left), side(node.right), node)
}

function emitSelect(select: BoundSelect, emission: Emission, { extra, used }: BodyContext): BodyParts {
  const ctes: Sql[] = []
  const whole = select.latest === undefined ? select.where : undefined
  const conditions = [...conjuncts(whole)]
  const sources = select.from === undefined ? [] : sourceIds(select.from)
  const from =
    select.from === undefined ? undefined : emitFrom(select, select.from, emission, { ctes, sources, conditions, used })
  const where = conditions.length === conjuncts(whole).length ? whole : combineConditions(...conditions)
  const outputs = emitOutputs(select, emission)
  outputs.push(...extra.map((expression, index) => `${emitExpression(expression, emission)} AS k${index}`))
  const clauses = [`SELECT ${select.distinct ? 'DISTINCT ' : ''}${outputs.join(', ')}`]
  if (from !== undefined) clauses.push(`FROM ${from}`)
  if (where !== undefined) clauses.push(`WHERE ${emitExpression(where, emission)}`)
  if (select.groupBy.length > 0) {
    clauses.push(`GROUP BY ${select.groupBy.map((key) => emitExpression(key, emission)).join(', ')}`)
  }
  if (select.having !== undefined) clauses.push(`HAVING ${emitExpression(select.having, emission)}`)
  return { sql: clauses.join(' '), with: ctes }
}

/** A group of all rows is one row also where no output has an aggregate. */
export function emitOutputs({ outputs, grouped, groupBy }: BoundSelect, emission: Emission): Sql[] {
  const isLone = grouped && groupBy.length === 0 && !outputs.some(({ expression }) => containsAggregate(expression))
  return outputs.map(({ expression }, ordinal) => {
    const value = emitExpression(expression, emission)
    return `${isLone ? emission.dialect.loneGroup(value) : value} AS c${ordinal}`
  })
}

/** With LATEST ON, its WHERE is applied too. */
function emitFrom({ latest, ...select }: BoundSelect, source: Source, emission: Emission, context: FromContext): Sql {
  const rows = emitSource(source, emission, context)
  if (latest === undefined) return rows
  if (source.kind === 'join' || source.kind === 'asof') throw new Error('LATEST ON of a join')
  const parts = emitLatest({ ...select, latest }, latest, source.id, rows, emission)
  context.ctes.push(...parts.with)
  return parts.from
}

function emitSource(source: Source, emission: Emission, context: FromContext): Sql {
  switch (source.kind) {
    case 'table':
      return emitTable(source, emission, { conditions: context.conditions })
    case 'derived':
      nameByOrdinal(source.id, emission)
      return `(${emitQuery(restrictDerived(source, context.conditions), emission)}) AS s${source.id}`
    case 'series': {
      nameByOrdinal(source.id, emission)
      const [start, stop, step] = [source.start, source.stop, source.step].map((value) =>
        emitExpression(value, emission),
      )
      const zone = source.zone === undefined ? undefined : emitZone(source.zone, emission)
      return `${emission.dialect.series(source.function, start ?? '', stop ?? '', step ?? '', zone)} AS s${source.id}`
    }
    case 'cte':
      nameByOrdinal(source.id, emission)
      return `w${source.cte} AS s${source.id}`
    case 'join': {
      // The conditions must not be applied before rows without a match are added.
      const ofResult: FromContext = { ...context, conditions: [] }
      const { join } = source
      const left = emitSource(source.left, emission, join === 'right' || join === 'full' ? ofResult : context)
      const right = emitSource(source.right, emission, join === 'left' || join === 'full' ? ofResult : context)
      const inner = source.right.kind === 'join' || source.right.kind === 'asof' ? `(${right})` : right
      const on = source.on === undefined ? emission.dialect.truth(true) : emitExpression(source.on, emission)
      return `${left} ${JOIN_WORDS[join]} ${inner} ON ${on}`
    }
    case 'asof': {
      const left = emitSource(source.left, emission, context)
      // The closest row is found before a condition leaves it out.
      const right = emitSource(source.right, emission, { ...context, conditions: [] })
      return emitAsof(source, left, right, context, emission)
    }
  }
}

const JOIN_WORDS = { inner: 'JOIN', cross: 'JOIN', left: 'LEFT JOIN', right: 'RIGHT JOIN', full: 'FULL JOIN' } as const

export interface TableRows {
  /** A condition on the row identifier, for the rows that the row filter leaves. */
  readonly range?: Sql | undefined
  /** Conditions of the statement: some find the rows beside a row filter. They are applied to its result too. */
  readonly conditions?: readonly BoundExpression[]
}

export function emitTable(source: TableSource, emission: Emission, { range, conditions = [] }: TableRows = {}): Sql {
  const { filter, id } = source
  emission.sources.set(id, (_ordinal, name) => `s${id}.${emission.dialect.identifier(name)}`)
  const rows = emitRows(source, emission)
  const fits = emitTextsFit(id, emission)
  if (filter === undefined)
    return fits === undefined ? `${rows} AS s${id}` : `(SELECT * FROM ${rows} AS s${id} WHERE ${fits}) AS s${id}`
  const finding = conditions
    .flatMap((condition) => findingConditions(condition, id))
    .map((condition) => emitExpression(condition, emission))
  const all = [range, ...finding, fits, emitExpression(filter, emission)].filter((condition) => condition !== undefined)
  // Fenced: a condition of the statement that fails on a hidden row would reveal it.
  return `(SELECT * FROM ${rows} AS s${id} WHERE ${all.join(' AND ')} ${emission.dialect.fence}) AS s${id}`
}

/** Changed rows are behind an optimization fence, so that they are always found by their keys. */
function emitRows({ id, table, changedOnly }: TableSource, { dialect, placeholders, isFormer }: Emission): Sql {
  if (table.isSystem) return dialect.systemTable(table, placeholders)
  if (changedOnly === 'as they were') return `(${dialect.formerRows(table, placeholders)})`
  if (changedOnly === 'before each change') return `(${dialect.loggedRows(table, placeholders)})`
  const rows = dialect.tableName(table)
  if (changedOnly === undefined && !isFormer) return rows
  const key = table.primaryKey.map((name) => `s${id}.${dialect.identifier(name)}`)
  const changedKeys = dialect.changedKeys(table, placeholders)
  if (isFormer) {
    const columns = table.columns.map(({ name }) => `s${id}.${dialect.identifier(name)}`).join(', ')
    const unchanged = `SELECT ${columns} FROM ${rows} AS s${id} WHERE ${dialect.isUnchanged(key, changedKeys)}`
    return `(${unchanged} UNION ALL ${dialect.formerRows(table, placeholders)})`
  }
  const operand = key.length === 1 ? key.join('') : `(${key.join(', ')})`
  return `(SELECT * FROM ${rows} AS s${id} WHERE ${operand} IN (${changedKeys}) ${dialect.fence})`
}

function emitRowCount(expression: BoundExpression, emission: Emission): Sql {
  if (expression.kind !== 'parameter') return emitExpression(expression, emission)
  const { index, type } = expression
  return emission.dialect.value(emission.placeholders.of({ kind: 'row-count', index }, type), type)
}

function nameByOrdinal(id: number, emission: Emission): void {
  emission.sources.set(id, (ordinal) => `s${id}.c${ordinal}`)
}
