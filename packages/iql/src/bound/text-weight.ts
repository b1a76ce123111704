/**
 * How much text a statement makes a database hold for one row. PostgreSQL frees nothing before all expressions of a row are evaluated,
 * and both databases evaluate what a query in FROM computes again for each use. So each use counts, and lengths are added up.
 */

import { isLongType } from '../types/types.ts'
import type { Assignment, Delete, Insert, Update } from './bound.ts'
import type { Column } from './bound-leaf.ts'
import type { Aggregate, BoundBody, BoundCall, BoundExpression, BoundQuery, Source, WindowCall } from './bound-query.ts'
import { directOperands, orderAndLimitExpressions, selectExpressions, sourceExpressions } from './bound-walk.ts'
import type { TableView } from './catalogue-view.ts'
import { countEvaluations } from './copied-operands.ts'
import { findRowParameters, type RowParameters } from './row-parameters.ts'
import { concatOperands, isGrowing, isShrinking, isSmallText } from './text-bound.ts'

export interface TextWeight {
  /** Texts that functions and || create. */
  readonly created: number
  /** The bytes of literals. */
  readonly literalBytes: number
  /** How often the texts of parameters, by index, and of the columns of each source, by name, are held. */
  readonly parameters: ReadonlyMap<number, number>
  readonly columns: ReadonlyMap<number, ReadonlyMap<string, number>>
  /** The parameters of rows that have one several times. */
  readonly rows: readonly RowParameters[]
  /** min and max of texts of any length, of which each group holds one. */
  readonly inGroups: ReadonlySet<BoundExpression>
  /** IN (query) where the database joins the rows of the query, instead of holding a list of them. */
  readonly joined: ReadonlySet<BoundExpression>
  /** Whether the column is an expression of a query in FROM, which each use evaluates. */
  isComputed(column: Column): boolean
}

/** The columns of each index of a table. */
export type FindIndexes = (table: TableView) => readonly (readonly string[])[]

export type Weighed = BoundQuery | Insert | Update | Delete

export function weigh(statement: Weighed, findIndexes: FindIndexes = () => []): TextWeight {
  const weigher = new Weigher(findIndexes)
  const total = weigher.statement(statement)
  const parameters = new Map<number, number>()
  const columns = new Map<number, Map<string, number>>()
  for (const [{ kind, at = 0, name = '' }, times] of total) {
    if (kind === 'parameter') parameters.set(at, times)
    if (kind === 'column') columns.set(at, (columns.get(at) ?? new Map()).set(name, times))
  }
  return {
    created: total.get(CREATED) ?? 0,
    literalBytes: total.get(BYTES) ?? 0,
    parameters,
    columns,
    rows: findRowParameters(statement),
    inGroups: weigher.inGroups,
    joined: weigher.joined,
    isComputed: (column) => weigher.isComputed(column),
  }
}

/** The sources that bound the length of a text. */
interface Length {
  readonly kind: 'created' | 'bytes' | 'parameter' | 'column'
  /** The index of a parameter, or the source of a column. */
  readonly at?: number
  readonly name?: string
}

const CREATED: Length = { kind: 'created' }
const BYTES: Length = { kind: 'bytes' }

/** A sum of multiples of lengths. */
type Amount = ReadonlyMap<Length, number>

interface TextUse {
  /** What evaluating the expression holds, with its result. */
  readonly held: Amount
  /** The longest result. */
  readonly length: Amount
  readonly isComputed?: true
}

const NOTHING: Amount = new Map()
const ONE_CREATED: Amount = new Map([[CREATED, 1]])
const SHORT: TextUse = { held: NOTHING, length: NOTHING }

class Weigher {
  readonly #findIndexes: FindIndexes
  /** Of the columns of each source and of each WITH query, by id. */
  readonly #sources = new Map<number, (column: Column) => TextUse>()
  readonly #ctes = new Map<number, readonly TextUse[]>()
  readonly #parameters = new Map<number, Length>()
  readonly inGroups = new Set<BoundExpression>()
  readonly joined = new Set<BoundExpression>()
  #total: Amount = NOTHING
  /** The select has a GROUP BY. */
  #isGrouped = false

  constructor(findIndexes: FindIndexes) {
    this.#findIndexes = findIndexes
  }

  statement(statement: Weighed): Amount {
    if (statement.kind === 'query') this.#evaluate(this.#query(statement))
    else this.#write(statement)
    return this.#total
  }

  isComputed(column: Column): boolean {
    return this.#sources.get(column.source)?.(column).isComputed === true
  }

  #write(statement: Insert | Update | Delete): void {
    this.#table(statement)
    if (statement.kind === 'insert') {
      if (statement.rows.kind === 'query') this.#evaluate(this.#query(statement.rows.query))
      else for (const row of statement.rows.rows) this.#values(row)
      if (statement.onConflict?.kind === 'update') {
        this.#table({ table: statement.table, source: statement.onConflict.excluded })
        this.#assign(statement.onConflict.set, statement.onConflict.where)
      }
    } else this.#assign(statement.kind === 'update' ? statement.set : [], statement.where)
    for (const { expression } of statement.returning) this.#add(expression)
  }

  #assign(set: readonly Assignment[], where: BoundExpression | undefined): void {
    this.#values(set.map(({ value }) => value))
    this.#join(where)
    if (where !== undefined) this.#add(where)
  }

  #values(values: readonly (BoundExpression | { readonly kind: 'default' })[]): void {
    for (const value of values) if (value.kind !== 'default') this.#add(value)
  }

  /** Counts the query without its columns, and returns these. */
  #query(query: BoundQuery): readonly TextUse[] {
    for (const cte of query.with) this.#ctes.set(cte.id, this.#query(cte.query))
    const columns = this.#body(query.body)
    this.#isGrouped = query.body.kind === 'select' && query.body.groupBy.length > 0
    for (const expression of orderAndLimitExpressions(query)) this.#add(expression)
    return columns
  }

  #body(body: BoundBody): readonly TextUse[] {
    switch (body.kind) {
      case 'query':
        return this.#query(body)
      case 'set': {
        const [left, right] = [this.#body(body.left), this.#body(body.right)]
        return left.map((use, index) => longest([use, right[index] ?? SHORT]))
      }
      case 'select': {
        if (body.from !== undefined) this.#source(body.from)
        this.#isGrouped = body.groupBy.length > 0
        this.#join(body.where)
        for (const expression of selectExpressions({ ...body, outputs: [] })) this.#add(expression)
        const outputs = body.outputs.map(({ expression }) => this.#output(expression))
        // The rows of such a query are made before its columns are used.
        if (!body.grouped && !body.distinct && body.latest === undefined) return outputs
        this.#evaluate(outputs)
        return outputs.map(({ length }) => ({ held: length, length }))
      }
    }
  }

  /** Conditions that both must hold. */
  #join(condition: BoundExpression | undefined): void {
    if (condition?.kind === 'in-query' && !condition.negated) this.joined.add(condition)
    if (condition?.kind === 'logic' && condition.operator === 'and')
      for (const operand of condition.operands) this.#join(operand)
  }

  /** A plain column is passed on as it is. */
  #output(expression: BoundExpression): TextUse {
    const use = this.#use(expression)
    return expression.kind === 'column' ? use : { ...use, isComputed: true }
  }

  #source(source: Source): void {
    switch (source.kind) {
      case 'table':
        this.#table({ table: source.table, source: source.id })
        break
      case 'derived': {
        const columns = this.#query(source.query)
        this.#sources.set(source.id, ({ ordinal }) => columns[ordinal] ?? SHORT)
        break
      }
      case 'cte': {
        const columns = this.#ctes.get(source.cte) ?? []
        this.#sources.set(source.id, ({ ordinal }) => columns[ordinal] ?? SHORT)
        break
      }
      case 'join':
      case 'asof':
        this.#source(source.left)
        this.#source(source.right)
    }
    for (const expression of sourceExpressions(source)) {
      this.#join(expression)
      this.#add(expression)
    }
  }

  /** The texts of keys and indexes are short. */
  #table({ table, source }: Pick<Insert, 'table' | 'source'>): void {
    const short = new Set([table.primaryKey, ...table.uniques, ...this.#findIndexes(table)].flat())
    const uses = new Map<string, TextUse>()
    for (const { name, type } of table.columns) {
      if (!isLongType(type) || short.has(name)) continue
      const length: Amount = new Map([[{ kind: 'column', at: source, name }, 1]])
      uses.set(name, { held: length, length })
    }
    this.#sources.set(source, ({ name }) => uses.get(name) ?? SHORT)
  }

  #add(expression: BoundExpression): void {
    this.#evaluate([this.#output(expression)])
  }

  /** A column of a table is sent as it is stored. */
  #evaluate(uses: readonly TextUse[]): void {
    this.#total = sum([this.#total, ...uses.map(({ held, isComputed }) => (isComputed ? held : NOTHING))])
  }

  #use(node: BoundExpression): TextUse {
    const use = this.#plainUse(node)
    return node.type.kind === 'Text' && isSmallText(node) ? { ...use, length: NOTHING } : use
  }

  #plainUse(node: BoundExpression): TextUse {
    switch (node.kind) {
      case 'literal':
        return typeof node.value === 'string' || node.value instanceof Uint8Array
          ? { held: NOTHING, length: new Map([[BYTES, node.value.length]]) }
          : SHORT
      case 'parameter':
        return isLongType(node.type) ? { held: NOTHING, length: new Map([[this.#parameter(node.index), 1]]) } : SHORT
      case 'column':
        return this.#sources.get(node.source)?.(node) ?? SHORT
      case 'group-key': {
        const { length } = this.#use(node.expression)
        return { held: length, length }
      }
      case 'arithmetic':
        return node.operator === 'text||text' ? this.#concat(node, concatOperands(node)) : this.#operation(node)
      case 'call':
        if (node.function === 'concat') return this.#concat(node, node.arguments)
        return isCreating(node) ? this.#created(node) : this.#operation(node)
      case 'aggregate':
      case 'window':
        return node.function === 'string_agg' ? this.#created(node) : this.#operation(node)
      case 'scalar-query':
      case 'exists':
      case 'in-query':
        return this.#subquery(node)
      default:
        return this.#operation(node)
    }
  }

  /** A result of an unbounded type is as long as the longest operand at most. */
  #operation(node: BoundExpression): TextUse {
    const { held, length } = this.#operands(node)
    if (node.kind === 'like' && node.ignoreCase) return { held: sum([held, length]), length: NOTHING }
    if (!isLongType(node.type)) return { held, length: NOTHING }
    if (this.#isGrouped && isExtreme(node) && length.size > 0) this.inGroups.add(node)
    return { held: isPassedOn(node) ? held : sum([held, length]), length }
  }

  #created(node: BoundCall | Aggregate | WindowCall): TextUse {
    return { held: sum([this.#operands(node).held, ONE_CREATED]), length: ONE_CREATED }
  }

  #operands(node: BoundExpression): TextUse {
    const operands = directOperands(node)
    const uses = operands.map((operand) => this.#use(operand))
    const held = sum(uses.map((use, index) => times(use.held, countEvaluations(node, operands[index] ?? node))))
    return { held, length: longest(uses).length }
  }

  /** Values that cost nothing to read again are measured before they are joined; others are joined one by one. */
  #concat(node: BoundExpression, operands: readonly BoundExpression[]): TextUse {
    const held = operands.map((operand) => this.#use(operand).held)
    if (isSmallText(node)) return { held: sum(held), length: NOTHING }
    const isMeasured = operands.every((operand) => isPlain(operand, this))
    return { held: sum([...held, times(ONE_CREATED, isMeasured ? 1 : operands.length)]), length: ONE_CREATED }
  }

  /** What a query in an expression holds is a part of the expression. */
  #subquery(node: Extract<BoundExpression, { kind: 'scalar-query' | 'exists' | 'in-query' }>): TextUse {
    const [total, isGrouped] = [this.#total, this.#isGrouped]
    this.#total = NOTHING
    const columns = this.#query(node.query)
    this.#evaluate(columns)
    const inside = this.#total
    this.#total = total
    this.#isGrouped = isGrouped
    const operand = node.kind === 'in-query' ? this.#use(node.operand).held : NOTHING
    return { held: sum([inside, operand]), length: node.kind === 'scalar-query' ? longest(columns).length : NOTHING }
  }

  #parameter(index: number): Length {
    const known = this.#parameters.get(index) ?? { kind: 'parameter', at: index }
    this.#parameters.set(index, known)
    return known
  }
}

/** Whether it can be read several times at no cost. */
export function isPlain(operand: BoundExpression, weight: Pick<TextWeight, 'isComputed'> | undefined): boolean {
  if (operand.kind === 'column') return weight?.isComputed(operand) !== true
  return operand.kind === 'literal' || operand.kind === 'parameter' || operand.kind === 'claim'
}

/** Whether the result can be much longer than the arguments. */
export function isCreating(node: BoundCall): boolean {
  if (!isGrowing(node.function) || isSmallText(node)) return false
  return node.function !== 'replace' || !isShrinking(node.arguments)
}

function isExtreme(node: BoundExpression): boolean {
  return node.kind === 'aggregate' && (node.function === 'min' || node.function === 'max')
}

/** Whether the result is one of the operands, not a copy. */
function isPassedOn({ kind }: BoundExpression): boolean {
  return kind === 'case' || kind === 'coalesce' || kind === 'nullif' || kind === 'widen' || kind === 'fit'
}

function sum(amounts: readonly Amount[]): Amount {
  const [first = NOTHING, ...others] = amounts.filter(({ size }) => size > 0)
  if (others.length === 0) return first
  const total = new Map(first)
  for (const amount of others) for (const [length, count] of amount) total.set(length, (total.get(length) ?? 0) + count)
  return total
}

function times(amount: Amount, factor: number): Amount {
  return factor === 1 ? amount : new Map(Array.from(amount, ([length, count]) => [length, count * factor]))
}

function longest(uses: readonly TextUse[]): TextUse {
  const of = (amounts: readonly Amount[]): Amount => {
    const most = new Map<Length, number>()
    for (const amount of amounts)
      for (const [length, count] of amount) most.set(length, Math.max(most.get(length) ?? 0, count))
    return most
  }
  const joined = { held: of(uses.map(({ held }) => held)), length: of(uses.map(({ length }) => length)) }
  return uses.some(({ isComputed }) => isComputed) ? { ...joined, isComputed: true } : joined
}
