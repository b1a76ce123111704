/**
 * Rewrites a grouped SELECT with time_bucket_gapfill before it is bound: its groups become a WITH query, which is joined to a grid of
 * all buckets for each combination of the other keys. Aggregates are NULL where a group is missing, unless locf or interpolate fills them.
 */

import { functionsNamed } from '../functions/functions.ts'
import { BUCKET_SERIES } from '../functions/series.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import {
  columnsSeenIn,
  type FindColumns,
  hasColumn,
  type NamedSource,
  namedSources,
  outerColumn,
} from '../scope/from-names.ts'
import type { Scope } from '../scope/scope.ts'
import { binary, buildName, number, text } from '../syntax/ast-build.ts'
import { childExpressions, expressionSize, withChildren } from '../syntax/ast-children.ts'
import type { Call, Expression, From, Name, OrderItem, Query, Select, SelectItem } from '../syntax/ast-query.ts'
import { sameName } from '../syntax/names.ts'
import { printExpression } from '../syntax/print-query.ts'
import { replaceOutputNames, type WrittenOutputs } from './output-names.ts'

const GAPFILL = 'time_bucket_gapfill'

// With spaces: a statement that has these names itself would have to quote them.
const GROUPS = buildName('gapfill groups')
const KEYS = buildName('gapfill keys')
const BUCKET = buildName('gapfill bucket')

/** An expression of GROUP BY, and the name of its column in the groups. */
interface Key {
  readonly expression: Expression
  readonly item: SelectItem
  readonly column: Name
}

/** What FROM introduces, and where the columns of tables in sub-queries are found. */
interface Names {
  readonly sources: readonly NamedSource[]
  readonly findColumns: FindColumns
}

/** The WITH names of the query are in `scope`; new names are appended to them. */
export function fillGaps(binding: Binding, scope: Scope, query: Query): Query {
  const { body: select } = query
  if (select.kind !== 'select' || select.groupBy.length === 0) return query
  // Names are looked up only where there is something to fill.
  if (![...select.groupBy, ...select.items.map(itemExpression)].some((each) => each !== undefined && isGapfill(each)))
    return query
  const findColumns = columnsSeenIn(binding, scope)
  const sources = namedSources(select.from, findColumns)
  const written = select.groupBy.map((key) => resolveKey(select, key, sources))
  const [bucket, second] = written.flatMap(({ expression }) => (isGapfill(expression) ? [expression] : []))
  if (bucket === undefined) return query
  if (second !== undefined) throw binding.fail('BadArguments', second.name.at, `A SELECT can have one ${GAPFILL} only`)
  const texts = new Set<string>()
  const keys = written
    .filter(({ expression }) => !isGapfill(expression))
    // A key that is written twice is one column.
    .filter(({ expression }) => texts.size < texts.add(printInLowerCase(expression)).size)
    .map(nameKey)
  return new Filling(binding, query, select, bucket, keys, { sources, findColumns }).query()
}

function itemExpression(item: SelectItem): Expression | undefined {
  return item.kind === 'item' ? item.expression : undefined
}

/**
 * GROUP BY 1 refers to an output, and so does a name that is not a column of the sources, as in every GROUP BY. The WITH query has that
 * output too, so that the name means the same there.
 */
function resolveKey(
  { items }: Select,
  key: Expression,
  sources: readonly NamedSource[],
): { expression: Expression; alias: Name | undefined } {
  if (key.kind === 'number') {
    const item = items[Number(key.text) - 1]
    if (item?.kind === 'item') return item
  }
  if (key.kind === 'column' && key.table === undefined && !hasColumn(sources, key)) {
    for (const item of items)
      if (item.kind === 'item' && item.alias !== undefined && sameName(item.alias.text, key.name.text)) return item
  }
  return { expression: key, alias: undefined }
}

/** A column keeps its name, and with it the spelling of its definition, unless another key has the same. */
function nameKey(
  { expression, alias }: { expression: Expression; alias: Name | undefined },
  index: number,
  all: readonly { expression: Expression }[],
): Key {
  const isOnly = (name: Name): boolean =>
    all.filter(({ expression: other }) => other.kind === 'column' && sameName(other.name.text, name.text)).length <= 1
  if (alias === undefined && expression.kind === 'column' && isOnly(expression.name))
    return { expression, item: { kind: 'item', expression, alias: undefined }, column: expression.name }
  const column = alias ?? buildName(`gapfill key ${index}`)
  return { expression, item: { kind: 'item', expression, alias: column }, column }
}

class Filling {
  readonly #binding: Binding
  readonly #query: Query
  readonly #select: Select
  readonly #keys: readonly Key[]
  readonly #bucket: Call
  /** What the columns of the groups hold, by its text. */
  readonly #columns = new Map<string, Expression>()
  /** Only expressions of these sizes are looked up. */
  readonly #sizes = new Set<number>()
  readonly #aggregates: SelectItem[] = []
  readonly #names: Names

  constructor(binding: Binding, query: Query, select: Select, bucket: Call, keys: readonly Key[], names: Names) {
    this.#names = names
    this.#binding = binding
    this.#query = query
    this.#select = select
    this.#bucket = bucket
    this.#keys = keys
    this.#setColumn(bucket, buildColumn(BUCKET, BUCKET))
    for (const { expression, column } of keys) this.#setColumn(expression, buildColumn(KEYS, column))
  }

  query(): Query {
    const { at } = this.#select
    const { width, time, start, end, zone } = this.#arguments()
    const items = this.#select.items.map((item) => this.#item(item))
    const orderBy = this.#query.orderBy.map((item) => this.#order(item))
    const plain = { distinct: false, where: undefined, groupBy: [], having: undefined, at }
    const grid: From = {
      kind: 'function',
      name: { text: zone === undefined ? 'generate_series' : BUCKET_SERIES, at: this.#bucket.name.at },
      arguments:
        zone === undefined ? [this.#call('time_bucket', [width, start]), end, width] : [start, end, width, zone],
      alias: BUCKET,
      column: undefined,
    }
    const bucketItem: SelectItem = {
      kind: 'item',
      expression: this.#call('time_bucket', zone === undefined ? [width, time] : [width, time, zone]),
      alias: BUCKET,
    }
    const groups: Select = {
      ...this.#select,
      distinct: false,
      distinctOn: undefined,
      qualify: undefined,
      items: [bucketItem, ...this.#keys.map(({ item }) => item), ...this.#aggregates],
      groupBy: [bucketItem, ...this.#keys.map(({ item }) => item)].map((_item, index) => number(String(index + 1))),
    }
    const body: Select = {
      ...plain,
      kind: 'select',
      distinct: this.#select.distinct,
      distinctOn: this.#select.distinctOn?.map((key) => this.#chosen(key)),
      qualify: this.#select.qualify && this.#chosen(this.#select.qualify),
      items,
      from: { kind: 'join', join: 'left', left: this.#grid(grid), right: buildTable(GROUPS), on: this.#on(), at },
      // The grid ends before `end`.
      where: binary('>', this.#call('date_diff', [text('microsecond'), buildColumn(BUCKET, BUCKET), end]), number('0')),
    }
    const cte = { name: GROUPS, columns: [], query: buildQuery(groups) }
    return { ...this.#query, with: [...this.#query.with, cte], body, orderBy }
  }

  /** Every bucket for every combination of the other keys. */
  #grid(buckets: From): From {
    if (this.#keys.length === 0) return buckets
    const { at } = this.#select
    const items = this.#keys.map(({ column }): SelectItem => {
      return { kind: 'item', expression: buildColumn(undefined, column), alias: undefined }
    })
    const keys = buildQuery({
      kind: 'select',
      distinct: true,
      items,
      from: buildTable(GROUPS),
      where: undefined,
      groupBy: [],
      having: undefined,
      at,
    })
    const left: From = { kind: 'derived', query: keys, alias: KEYS }
    return { kind: 'join', join: 'cross', left, right: buckets, on: undefined, at }
  }

  #on(): Expression {
    const sameBucket = binary('=', buildColumn(GROUPS, BUCKET), buildColumn(BUCKET, BUCKET))
    return this.#keys.reduce<Expression>((condition, { column }) => {
      const same = binary('is not distinct from', buildColumn(GROUPS, column), buildColumn(KEYS, column))
      return binary('and', condition, same)
    }, sameBucket)
  }

  #arguments() {
    const { arguments: args, name } = this.#bucket
    const [width, time, start, end, zone] = args
    if (args.length <= 5 && width && time && start && end) {
      for (const value of [width, start, end]) this.#refuseColumns(value)
      return { width, time, start, end, zone }
    }
    throw this.#binding.fail(
      'BadArguments',
      name.at,
      `${GAPFILL} takes four arguments: the width of a bucket, the time, and the start and the end of the grid; and perhaps a time zone`,
      { hint: `write ${GAPFILL}('1 hour', executed_at, :start, :end)` },
    )
  }

  /** The grid is made before any row is read. */
  #refuseColumns(value: Expression): void {
    const isAggregate = value.kind === 'call' && functionsNamed(value.name.text.toLowerCase())[0]?.kind === 'aggregate'
    if (value.kind !== 'column' && !isAggregate) {
      for (const child of childExpressions(value)) this.#refuseColumns(child)
      return
    }
    throw this.#binding.fail(
      'BadArguments',
      startPosition(value),
      `The width, start and end of ${GAPFILL} cannot use columns`,
      { hint: 'write a literal, a parameter, or a sub-query such as (SELECT min(executed_at) FROM trades)' },
    )
  }

  #item(item: SelectItem): SelectItem {
    if (item.kind === 'all') throw this.#binding.fail('NotGrouped', item.at, '* cannot be grouped: name the columns')
    const { expression, alias } = item
    const rewritten = this.#rewrite(expression)
    return {
      kind: 'item',
      expression: rewritten,
      alias: alias ?? ownName(expression) ?? formerName(expression, rewritten),
    }
  }

  /** A number or the name of an output stays. */
  #order(item: OrderItem): OrderItem {
    const { expression } = item
    if (expression.kind === 'number') return item
    if (expression.kind === 'column' && expression.table === undefined) {
      const { text: name } = expression.name
      const isOutput = this.#select.items.some((output) => output.kind === 'item' && isNamed(output, name))
      if (isOutput) return item
    }
    return { ...item, expression: this.#chosen(expression) }
  }

  /** An expression over the sources and the names of the outputs. */
  #chosen(expression: Expression): Expression {
    const isColumn = (name: Name) => hasColumn(this.#names.sources, { table: undefined, name })
    return this.#rewrite(replaceOutputNames(this.#binding, isColumn, this.#outputs(), expression))
  }

  #outputs(): WrittenOutputs {
    const outputs = new Map<string, Expression>()
    for (const item of this.#select.items) {
      const name = item.kind === 'item' ? (item.alias ?? ownName(item.expression)) : undefined
      if (item.kind === 'item' && name !== undefined) outputs.set(name.text.toLowerCase(), item.expression)
    }
    return outputs
  }

  /** The expression over the columns of the groups and of the grid. */
  #rewrite(expression: Expression): Expression {
    const column = this.#sizes.has(this.#expressionSize(expression))
      ? this.#columns.get(printInLowerCase(expression))
      : undefined
    if (column !== undefined) return column
    if (expression.kind === 'column') {
      const { text: name } = expression.name
      throw this.#binding.fail(
        'NotGrouped',
        startPosition(expression),
        `${name} is neither in GROUP BY nor in an aggregate`,
        { hint: `write it as in GROUP BY, or max(${name})` },
      )
    }
    if (expression.kind === 'call' && expression.over === undefined) {
      const name = expression.name.text.toLowerCase()
      if (name === 'locf' || name === 'interpolate') return this.#fill(expression, name)
      if (functionsNamed(name)[0]?.kind === 'aggregate') return this.#aggregate(expression)
    }
    if (expression.kind === 'subquery' || expression.kind === 'exists' || expression.kind === 'in-query')
      this.#refuseCorrelated(expression.query)
    return withChildren(expression, (child) => this.#rewrite(child))
  }

  /** Its outputs are computed over the grid, where the sources are no longer visible. */
  #refuseCorrelated(query: Query): void {
    const column = outerColumn(query, this.#names.sources, this.#names.findColumns)
    if (column === undefined) return
    throw this.#binding.fail(
      'NotGrouped',
      startPosition(column),
      `A sub-query in a query with ${GAPFILL} cannot use the columns of that query, such as ${column.name.text}`,
      { hint: 'select the buckets in a WITH query, and write the sub-query in a select from it' },
    )
  }

  #setColumn(expression: Expression, column: Expression): void {
    this.#columns.set(printInLowerCase(expression), column)
    this.#sizes.add(this.#expressionSize(expression))
  }

  #expressionSize(expression: Expression): number {
    return expressionSize(expression, this.#binding.sizes)
  }

  #aggregate(call: Call): Expression {
    const known = this.#columns.get(printInLowerCase(call))
    if (known !== undefined) return known
    const alias = buildName(`gapfill aggregate ${this.#aggregates.length}`)
    this.#aggregates.push({ kind: 'item', expression: call, alias })
    const column = buildColumn(GROUPS, alias)
    this.#columns.set(printInLowerCase(call), column)
    return column
  }

  /** locf(x) and interpolate(x) without OVER go along the buckets. */
  #fill(call: Call, name: 'locf' | 'interpolate'): Expression {
    const bucket = buildColumn(BUCKET, BUCKET)
    const args = call.arguments.map((argument) => this.#rewrite(argument))
    if (name === 'interpolate' && args.length === 1) args.push(bucket)
    const partitionBy = this.#keys.map(({ column }) => buildColumn(KEYS, column))
    const orderBy = [{ expression: bucket, descending: false, nulls: undefined }]
    return { ...call, arguments: args, over: { partitionBy, orderBy, frame: undefined, at: call.name.at } }
  }

  #call(name: string, args: readonly Expression[]): Expression {
    const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
    return { kind: 'call', name: { text: name, at: this.#bucket.name.at }, arguments: args, ...plain }
  }
}

export function isGapfill(expression: Expression): expression is Call {
  return expression.kind === 'call' && sameName(expression.name.text, GAPFILL)
}

function isNamed({ expression, alias }: Extract<SelectItem, { kind: 'item' }>, name: string): boolean {
  const own = alias ?? ownName(expression) ?? (expression.kind === 'column' ? expression.name : undefined)
  return own !== undefined && sameName(own.text, name)
}

/** The name that the result would have without the rewriting; a column always keeps its name. */
function ownName(expression: Expression): Name | undefined {
  switch (expression.kind) {
    case 'call':
      return { text: expression.name.text.toLowerCase(), at: expression.name.at }
    case 'case':
      return { text: 'case', at: expression.at }
    case 'cast':
      return expression.operand.kind === 'column' ? expression.operand.name : undefined
    default:
      return undefined
  }
}

/** The name of a column that has another name in the groups. */
function formerName(expression: Expression, rewritten: Expression): Name | undefined {
  if (expression.kind !== 'column' || rewritten.kind !== 'column') return undefined
  return sameName(expression.name.text, rewritten.name.text) ? undefined : expression.name
}

/** Equal for expressions that differ only in the case of names. */
function printInLowerCase(expression: Expression): string {
  return printExpression(inLowerCase(expression))
}

function inLowerCase(expression: Expression): Expression {
  const lower = (name: Name): Name => ({ ...name, text: name.text.toLowerCase() })
  if (expression.kind === 'column')
    return { ...expression, table: expression.table && lower(expression.table), name: lower(expression.name) }
  const inside = withChildren(expression, inLowerCase)
  return inside.kind === 'call' ? { ...inside, name: lower(inside.name) } : inside
}

function buildColumn(table: Name | undefined, name: Name): Expression {
  return { kind: 'column', table, name }
}

function buildTable(name: Name): From {
  return { kind: 'table', name, alias: undefined }
}

function buildQuery(body: Select): Query {
  return { kind: 'query', with: [], body, orderBy: [], limit: undefined, offset: undefined, at: body.at }
}
