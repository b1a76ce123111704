/** Generates random well-typed statements over the two tables and their views: joins, groups, windows, set operations, sub-queries, writes. */
import type {
  Body,
  Cte,
  Expression,
  Frame,
  FrameBound,
  From,
  JoinKind,
  Latest,
  OrderItem,
  Query,
  Select,
  SelectItem,
  Statement,
  WindowSpec,
} from 'gatehouse-iql'
import { COLUMNS, VIEWS } from './data.ts'
import {
  AGGREGATE_USES,
  binary,
  buildCall,
  type ExpressionContext,
  type Expressions,
  findColumn,
  type Source,
} from './expressions.ts'
import { COLUMN_KINDS, COMPARABLE, type ColumnKind, FUNCTION_USES, isKind } from './kinds.ts'
import { number, text } from './literals.ts'

const at = 0
const TABLES = ['a', 'b'] as const
const VIEW_NAMES = [...VIEWS.keys()]
const WINDOW_USES = FUNCTION_USES.filter(
  ({ definition }) => definition.kind === 'window' || definition.overWindow === true,
)

const RANKS: ReadonlySet<string> = new Set(['rank', 'dense_rank', 'percent_rank', 'cume_dist'])

export class Queries {
  readonly #make: Expressions
  #aliases = 0

  constructor(expressions: Expressions) {
    this.#make = expressions
  }

  statement(): Statement {
    const { choice } = this.#make
    if (choice.oneIn(10)) return this.#write()
    return choice.oneIn(3) ? this.#plain() : this.query()
  }

  /** Expressions over all rows of one table, without anything that could skip an evaluation. */
  #plain(): Query {
    const { choice } = this.#make
    const { from, source } = this.#table(0)
    const items = choice.list(1, 4, (index) =>
      findItem(this.#make.make(choice.of(COLUMN_KINDS), { sources: [source] }, 2), index),
    )
    const rest = { distinct: false, where: undefined, groupBy: [], having: undefined, at } as const
    return plainQuery({ kind: 'select', items, from, ...rest })
  }

  query(): Query {
    const { choice } = this.#make
    const isLimited = choice.oneIn(4)
    const kinds = choice.list(1, 4, () => choice.of(isLimited ? COMPARABLE : COLUMN_KINDS))
    const ctes: Cte[] = []
    const body = choice.oneIn(5) ? this.#set(kinds) : this.#select(kinds, [], 2, ctes)
    return {
      kind: 'query',
      with: ctes,
      body,
      orderBy: isLimited ? this.#wholeOrder(kinds.length) : [],
      limit: isLimited ? number(choice.of(['0', '1', '3', '1000'])) : undefined,
      offset: isLimited && choice.oneIn(2) ? number(choice.of(['0', '1', '5'])) : undefined,
      at,
    }
  }

  /** For expressions over the rows of one source, with sub-queries. */
  createContext(source: Source): ExpressionContext {
    const subquery = this.#subquery([source], 1)
    return { sources: [source], ...(subquery === undefined ? {} : { subquery }) }
  }

  /** By every column of the result, so that LIMIT returns the same rows everywhere. */
  #wholeOrder(width: number): OrderItem[] {
    return Array.from({ length: width }, (_, index) => this.#ordered(number(String(index + 1))))
  }

  #ordered(expression: Expression): OrderItem {
    const { choice } = this.#make
    return {
      expression,
      descending: choice.oneIn(2),
      nulls: choice.oneIn(3) ? choice.of(['first', 'last'] as const) : undefined,
    }
  }

  #set(kinds: readonly ColumnKind[]): Body {
    const { choice } = this.#make
    const all = kinds.includes('Json') || choice.oneIn(2)
    const operator = kinds.includes('Json') ? 'union' : choice.of(['union', 'intersect', 'except'] as const)
    this.#make.used.add(`${operator}${all ? ' all' : ''}`)
    const left = choice.oneIn(4) ? this.#set(kinds) : this.#select(kinds, [], 1)
    return { kind: 'set', operator, all, left, right: this.#select(kinds, [], 1), at }
  }

  #select(kinds: readonly ColumnKind[], outer: readonly Source[], depth: number, ctes?: Cte[]): Select {
    const { choice } = this.#make
    const { from, sources, isKeyed } = choice.oneIn(12) ? NOTHING : this.#from(depth, ctes)
    const subquery = this.#subquery([...sources, ...outer], depth)
    const context: ExpressionContext = {
      sources: [...sources, ...outer],
      ...(subquery === undefined ? {} : { subquery }),
    }
    const where = choice.oneIn(2) ? this.#make.make('Boolean', context, 2) : undefined
    const latest = this.#latest(from, sources)
    const common = { kind: 'select', from, where, ...(latest === undefined ? {} : { latest }), at } as const
    if (sources.length > 0 && outer.length === 0 && choice.oneIn(3))
      return { ...common, ...this.#grouped(kinds, sources) }
    const canWindow = isKeyed && outer.length === 0
    const items = kinds.map((kind, index) =>
      findItem(
        canWindow && choice.oneIn(3)
          ? (this.#window(kind, sources) ?? this.#make.make(kind, context, 3))
          : this.#make.make(kind, context, 3),
        index,
      ),
    )
    const chosen = canWindow && !kinds.includes('Json') && choice.oneIn(4) ? this.#choice(sources) : undefined
    const distinct = chosen?.distinctOn === undefined && !kinds.includes('Json') && choice.oneIn(6)
    return { ...common, distinct, items, groupBy: [], having: undefined, ...chosen }
  }

  #choice(sources: readonly Source[]): Pick<Select, 'distinctOn' | 'qualify'> {
    const { choice, used } = this.#make
    const key = choice.oneIn(2) ? findColumn(choice.of(sources).alias, choice.of(['k', 'ok', 'u', 'dt'])) : undefined
    used.add(key === undefined ? 'qualify' : 'distinct on')
    if (key !== undefined) return { distinctOn: [key] }
    const rank = this.#window('Integer', sources)
    return { qualify: rank === undefined ? { kind: 'boolean', value: true, at } : binary('<=', rank, number('3')) }
  }

  /** The key breaks ties. */
  #latest(from: From | undefined, [source, another]: readonly Source[]): Latest | undefined {
    const { choice } = this.#make
    if (from?.kind !== 'table' || source?.key === undefined || another !== undefined || !choice.oneIn(8))
      return undefined
    this.#make.used.add('latest')
    const column = (names: readonly string[]) => findColumn(source.alias, choice.of(names))
    return { on: column(['ts', 'k', 'd', 't', 'id']), partitionBy: [column(['k', 'ok', 't', 'dt', 'id'])], at }
  }

  #grouped(kinds: readonly ColumnKind[], sources: readonly Source[]) {
    const { choice } = this.#make
    const keys = choice.list(0, 2, () => {
      const kind = choice.of(COMPARABLE)
      return { kind, expression: columnsOnly(this.#make.leaf(kind, { sources })) }
    })
    const groupedBy = keys.flatMap(({ kind, expression }) => (expression === undefined ? [] : [{ kind, expression }]))
    const context: ExpressionContext = { sources, groupedBy }
    return {
      distinct: false,
      items: kinds.map((kind, index) => findItem(this.#make.make(kind, context, 2), index)),
      groupBy: groupedBy.map(({ expression }) => expression),
      having: choice.oneIn(4) ? this.#make.make('Boolean', context, 1) : undefined,
    }
  }

  #from(depth: number, ctes?: Cte[]): { from: From; sources: readonly Source[]; isKeyed: boolean } {
    const { choice } = this.#make
    const left = this.#table(depth, ctes)
    if (!choice.oneIn(3)) return { from: left.from, sources: [left.source], isKeyed: left.source.key !== undefined }
    const right = this.#table(depth, ctes)
    const join = choice.of<JoinKind>(['inner', 'left', 'right', 'full', 'cross', 'asof', 'asof-left'])
    this.#make.used.add(`join ${join}`)
    const sources = [left.source, right.source]
    return {
      from: {
        kind: 'join',
        join,
        left: left.from,
        right: right.from,
        on: this.#condition(join, left.source, right.source),
        at,
      },
      sources,
      isKeyed: sources.every(({ key }) => key !== undefined),
    }
  }

  #condition(join: JoinKind, left: Source, right: Source): Expression | undefined {
    const { choice } = this.#make
    const pair = (kinds: readonly ColumnKind[]): [Expression, Expression] | undefined => {
      const kind = choice.of(kinds)
      const [a, b] = [left, right].map(({ alias, columns }) => {
        const fitting = columns.filter((column) => column.kind === kind)
        return fitting.length === 0 ? undefined : findColumn(alias, choice.of(fitting).name)
      })
      return a === undefined || b === undefined ? undefined : [a, b]
    }
    const constant: Expression = { kind: 'boolean', value: true, at }
    if (join === 'cross') return undefined
    const equal = pair(COMPARABLE)
    const keys = equal === undefined ? constant : binary('=', ...equal)
    if (join === 'asof' || join === 'asof-left') {
      const near = pair(['Timestamp', 'Integer', 'Decimal', 'Date', 'Text', 'Double']) ?? equal
      if (near === undefined) return keys
      const comparison = binary(choice.of(['>=', '>', '<=', '<'] as const), ...near)
      return equal === undefined || choice.oneIn(3) ? comparison : binary('and', keys, comparison)
    }
    if (join === 'full' || choice.oneIn(2)) return keys
    return binary('and', keys, this.#make.make('Boolean', { sources: [left, right] }, 1))
  }

  #table(depth: number, ctes?: Cte[]): { from: From; source: Source } {
    const { choice } = this.#make
    const alias = `t${++this.#aliases}`
    if (depth > 0 && choice.oneIn(5)) {
      const kinds = choice.list(2, 5, () => choice.of(COMPARABLE))
      const query = plainQuery(this.#select(kinds, [], depth - 1))
      const source = { alias, columns: kinds.map((kind, index) => ({ name: `c${index + 1}`, kind })) }
      if (ctes === undefined || choice.oneIn(2)) {
        return { from: { kind: 'derived', query, alias: { text: alias, at } }, source }
      }
      const name = `n${this.#aliases}`
      ctes.push({ name: { text: name, at }, columns: [], query })
      return { from: { kind: 'table', name: { text: name, at }, alias: { text: alias, at } }, source }
    }
    if (choice.oneIn(12)) {
      const isTime = choice.oneIn(2)
      const args = isTime
        ? [
            text('2026-01-30T10:00:00Z'),
            text('2026-01-30T13:00:00Z'),
            text(choice.of(['20 minutes', '1 hour', '1 month'])),
          ]
        : [number('0'), number(choice.of(['-1', '0', '7'])), number(choice.of(['1', '3']))]
      this.#make.used.add(isTime ? 'series of times' : 'series')
      const columns = [{ name: alias, kind: isTime ? 'Timestamp' : 'Integer' }] as const
      const name = { text: 'generate_series', at }
      const from: From = { kind: 'function', name, arguments: args, alias: { text: alias, at }, column: undefined }
      return { from, source: { alias, columns } }
    }
    const name = { text: this.#tableOrView(), at }
    return { from: { kind: 'table', name, alias: { text: alias, at } }, source: { alias, columns: COLUMNS, key: 'id' } }
  }

  #tableOrView(): string {
    const { choice } = this.#make
    if (!choice.oneIn(4)) return choice.of(TABLES)
    const view = choice.of(VIEW_NAMES)
    this.#make.used.add(`view ${view}`)
    return view
  }

  /** One column, and at most one row if it is used as a value. */
  #subquery(outer: readonly Source[], depth: number): ExpressionContext['subquery'] {
    const { choice } = this.#make
    if (depth <= 0) return undefined
    return (kind, isOneRow) => {
      if (!isOneRow) return plainQuery(this.#select([kind], choice.oneIn(2) ? outer : [], 0))
      const source: Source = { alias: `t${++this.#aliases}`, columns: COLUMNS, key: 'id' }
      const context = { sources: [source] }
      const uses = AGGREGATE_USES.filter(({ result }) => result === kind)
      const correlated = binary('=', findColumn(source.alias, 'k'), this.#make.leaf('Integer', { sources: outer }))
      const isGrouped = uses.length > 0 && choice.oneIn(2)
      const value = isGrouped ? this.#make.aggregate(choice.of(uses), context, 1) : this.#make.make(kind, context, 1)
      const where = isGrouped ? correlated : binary('=', findColumn(source.alias, 'id'), number('3'))
      const from: From = { kind: 'table', name: { text: this.#tableOrView(), at }, alias: { text: source.alias, at } }
      return plainQuery({
        kind: 'select',
        distinct: false,
        items: [findItem(value, 0)],
        from,
        where: choice.oneIn(3) && isGrouped ? undefined : where,
        groupBy: [],
        having: undefined,
        at,
      })
    }
  }

  /** Finally ordered by the keys, so that the order is total. */
  #window(kind: ColumnKind, sources: readonly Source[]): Expression | undefined {
    const { choice } = this.#make
    const uses = WINDOW_USES.filter(({ result, arguments: args }) => result === kind && args.every(isKind))
    if (uses.length === 0) return undefined
    // By function, since some have many signatures.
    const use = choice.of(choice.of([...Map.groupBy(uses, ({ definition }) => definition.id).values()]))
    this.#make.used.add(`${use.definition.id} over`)
    const context: ExpressionContext = { sources }
    const args = use.arguments.map((argument, index) => {
      if (use.definition.kind === 'window' && index === 1 && argument === 'Integer')
        return number(choice.of(use.definition.id === 'nth_value' ? ['1', '2', '5'] : ['0', '1', '2', '5']))
      if (use.definition.id === 'ntile') return number(choice.of(['1', '2', '3', '100']))
      return this.#make.make(isKind(argument) ? argument : 'Integer', context, 1)
    })
    // Others depend on the order of rows that tie.
    const isOfPeers = use.definition.kind === 'aggregate' || RANKS.has(use.definition.id)
    if (isOfPeers && choice.oneIn(3))
      return { ...buildCall(use.definition.name, args), over: this.#rangeWindow(sources) }
    const over: WindowSpec = {
      partitionBy: choice.list(0, 1, () => findColumn(choice.of(sources).alias, choice.of(['k', 'ok', 'u', 'dt']))),
      orderBy: [
        ...choice.list(0, 1, () =>
          this.#ordered(findColumn(choice.of(sources).alias, choice.of(['k', 'ts', 'x', 'd', 't']))),
        ),
        ...sources.map(({ alias, key = 'id' }) => this.#ordered(findColumn(alias, key))),
      ],
      frame: choice.oneIn(2) ? this.#frame() : undefined,
      at,
    }
    return { ...buildCall(use.definition.name, args), over }
  }

  /** A frame by distances along one key, whose rows tie. */
  #rangeWindow(sources: ExpressionContext['sources']): WindowSpec {
    const { choice } = this.#make
    const key = choice.of(['k', 'ts', 'dt'])
    const distances = { k: ['0', '1', '3'], ts: ['0 seconds', '5 minutes', '40 days'], dt: ['0 days', '40 days'] }[key]
    const bound = (kind: 'preceding' | 'following'): FrameBound => {
      const distance = choice.of(distances ?? [])
      return key === 'k' ? { kind, rows: Number(distance) } : { kind, interval: distance }
    }
    const start = choice.of<FrameBound>([{ kind: 'unbounded-preceding' }, bound('preceding'), { kind: 'current-row' }])
    const end = choice.of<FrameBound>([{ kind: 'current-row' }, bound('following'), { kind: 'unbounded-following' }])
    const orderBy = [this.#ordered(findColumn(choice.of(sources).alias, key))]
    return { partitionBy: [], orderBy, frame: { unit: 'range', start, end }, at }
  }

  #frame(): Frame {
    const { choice } = this.#make
    if (choice.oneIn(4)) return { unit: 'range', start: { kind: 'unbounded-preceding' }, end: { kind: 'current-row' } }
    const start = choice.of<FrameBound>([
      { kind: 'unbounded-preceding' },
      { kind: 'preceding', rows: 2 },
      { kind: 'current-row' },
    ])
    const end = choice.of<FrameBound>([
      { kind: 'current-row' },
      { kind: 'following', rows: 1 },
      { kind: 'unbounded-following' },
    ])
    return { unit: 'rows', start, end }
  }

  #write(): Statement {
    const { choice } = this.#make
    const table = { text: choice.of(TABLES), at }
    const context: ExpressionContext = { sources: [{ alias: table.text, columns: COLUMNS, key: 'id' }] }
    const where = this.#make.make('Boolean', context, 2)
    const returning: SelectItem[] = choice.oneIn(2)
      ? [{ kind: 'all', table: undefined, at }]
      : [findItem(this.#make.make(choice.of(COMPARABLE), context, 1), 0)]
    if (choice.oneIn(4)) {
      const some = binary('and', where, binary('>', findColumn(table.text, 'id'), number('8')))
      return { kind: 'delete', table, alias: undefined, where: some, returning, at }
    }
    const column = choice.of(COLUMNS.slice(1))
    const made = this.#make.make(column.kind, context, 2)
    const value: Expression = column.kind === 'Decimal' ? this.#fitted(column.type, made) : made
    return {
      kind: 'update',
      table,
      alias: undefined,
      set: [{ column: { text: column.name, at }, value }],
      where,
      returning,
      at,
    }
  }

  #fitted(type: string, operand: Expression): Expression {
    const [, precision, scale] = /\((\d+), (\d+)\)/.exec(type) ?? []
    return {
      kind: 'cast',
      operand,
      type: { name: { text: 'Decimal', at }, arguments: [Number(precision), Number(scale)] },
      at,
    }
  }
}

const NOTHING = { from: undefined, sources: [], isKeyed: false } as const

function findItem(expression: Expression, index: number): SelectItem {
  return { kind: 'item', expression, alias: { text: `c${index + 1}`, at } }
}

function plainQuery(body: Body): Query {
  return { kind: 'query', with: [], body, orderBy: [], limit: undefined, offset: undefined, at }
}

/** GROUP BY does not accept constants. */
function columnsOnly(expression: Expression): Expression | undefined {
  return expression.kind === 'column' ? expression : undefined
}
