/** Generates random well-typed expressions that cover every operator, function, cast and predicate of IQL. */
import { type BinaryOperator, type Call, type Expression, OPERATORS, type Query } from 'gatehouse-iql'
import type { Choice } from './choice.ts'
import {
  type ArgumentOf,
  CAST_USES,
  COMPARABLE,
  type ColumnKind,
  FUNCTION_USES,
  type FunctionUse,
  isKind,
  type Kind,
  OPERATOR_USES,
} from './kinds.ts'
import { number, readTypeName, text, writeLiteral } from './literals.ts'

const at = 0

/** A table or sub-query whose columns an expression can use. */
export interface Source {
  readonly alias: string
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[]
  /** A unique column. */
  readonly key?: string
}

/** What an expression can refer to. */
export interface ExpressionContext {
  readonly sources: readonly Source[]
  /** In a grouped select: columns are allowed only here and in aggregates. */
  readonly groupedBy?: readonly { readonly expression: Expression; readonly kind: ColumnKind }[]
  /** Generates a sub-query with one column; absent if sub-queries are not allowed. */
  readonly subquery?: (kind: ColumnKind, isOneRow: boolean) => Query
}

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>=', 'is distinct from', 'is not distinct from'] as const
const OPERATORS_BY_KIND = Map.groupBy(OPERATOR_USES, ({ result }) => result)
const CASTS_BY_KIND = Map.groupBy(CAST_USES, ({ to }) => to)
/** Grouped by function, since some functions have many signatures. */
const SCALARS_BY_KIND: ReadonlyMap<Kind, readonly (readonly FunctionUse[])[]> = new Map(
  [
    ...Map.groupBy(
      FUNCTION_USES.filter(({ definition }) => definition.kind === 'scalar'),
      ({ result }) => result,
    ),
  ].map(([kind, uses]) => [kind, [...Map.groupBy(uses, ({ definition }) => definition.id).values()]]),
)
export const AGGREGATE_USES = FUNCTION_USES.filter(({ definition }) => definition.kind === 'aggregate')

export class Expressions {
  readonly choice: Choice
  readonly isTame: boolean
  /** Ids of the functions, operators, casts and forms used so far. */
  readonly used = new Set<string>()

  constructor(choice: Choice, isTame: boolean) {
    this.choice = choice
    this.isTame = isTame
  }

  make(kind: Kind, context: ExpressionContext, depth: number): Expression {
    const { choice } = this
    if (depth <= 0 || choice.oneIn(5)) return this.leaf(kind, context)
    const makers = this.#listMakers(kind, context, depth - 1)
    return choice.of(makers)()
  }

  leaf(kind: Kind, context: ExpressionContext): Expression {
    const { choice } = this
    if (context.groupedBy !== undefined) return this.#groupedLeaf(kind, context)
    const columns = context.sources.flatMap(({ alias, columns: all }) =>
      all.filter((column) => column.kind === kind).map(({ name }) => findColumn(alias, name)),
    )
    if (columns.length > 0 && !choice.oneIn(4)) return choice.of(columns)
    return this.literal(kind)
  }

  literal(kind: ArgumentOf): Expression {
    if (isKind(kind) && kind !== 'Fixed' && kind !== 'Months' && this.choice.oneIn(15)) {
      return this.#castTo(kind, { kind: 'null', at })
    }
    return writeLiteral(this.choice, kind, this.isTame)
  }

  /** What a grouped select may contain: keys, aggregates and constants. */
  #groupedLeaf(kind: Kind, context: ExpressionContext): Expression {
    const keys = context.groupedBy?.filter((key) => key.kind === kind) ?? []
    if (keys.length > 0 && this.choice.oneIn(2)) return this.choice.of(keys).expression
    const uses = AGGREGATE_USES.filter(({ result }) => result === kind)
    if (uses.length === 0 || this.choice.oneIn(6)) return this.literal(kind)
    return this.aggregate(this.choice.of(uses), { sources: context.sources }, 1)
  }

  aggregate(use: FunctionUse, context: ExpressionContext, depth: number): Call {
    const { choice } = this
    const made = this.#call(use, context, depth)
    const { id, ordered } = use.definition
    const [first] = use.arguments
    const isAlone = use.arguments.length === 1 && first !== 'Json'
    if (id === 'count' && choice.oneIn(3)) return { ...made, arguments: [], star: true, filter: this.#filter(context) }
    return {
      ...made,
      distinct: isAlone && choice.oneIn(4),
      orderBy:
        ordered === true && choice.oneIn(2)
          ? [{ expression: this.make('Integer', context, 1), descending: choice.oneIn(2), nulls: undefined }]
          : [],
      filter: this.#filter(context),
    }
  }

  #filter(context: ExpressionContext): Expression | undefined {
    return this.choice.oneIn(5) ? this.make('Boolean', context, 1) : undefined
  }

  #listMakers(kind: Kind, context: ExpressionContext, depth: number): (() => Expression)[] {
    const next = (wanted: Kind): Expression => this.make(wanted, context, depth)
    const operators = OPERATORS_BY_KIND.get(kind) ?? []
    const functions = SCALARS_BY_KIND.get(kind) ?? []
    const casts = isColumnKind(kind) ? (CASTS_BY_KIND.get(kind) ?? []) : []
    const makers: (() => Expression)[] = []
    if (operators.length > 0) {
      makers.push(() => {
        const use = this.choice.of(operators)
        this.used.add(use.id)
        return binary(OPERATORS[use.id].symbol, next(use.left), next(use.right))
      })
    }
    if (functions.length > 0) {
      const make = () => this.#call(this.choice.of(this.choice.of(functions)), context, depth)
      makers.push(make, make)
    }
    if (casts.length > 0) {
      makers.push(() => {
        const { from, to } = this.choice.of(casts)
        this.used.add(`cast ${from} to ${to}`)
        return this.#castTo(to, from === 'Text' ? this.#readable(to, context, depth) : next(from))
      })
    }
    if (kind === 'Boolean') makers.push(...this.#tests(context, depth))
    if (isColumnKind(kind)) makers.push(...this.#forms(kind, context, depth))
    if (['Integer', 'Decimal', 'Double', 'Fixed'].includes(kind)) {
      makers.push(() => this.#note('negate', { kind: 'unary', operator: '-', operand: next(kind), at }))
    }
    return makers
  }

  /** CASE, COALESCE, NULLIF and sub-queries, which can have any kind. */
  #forms(kind: ColumnKind, context: ExpressionContext, depth: number): (() => Expression)[] {
    const { choice } = this
    const next = (): Expression => this.make(kind, context, depth)
    const { subquery } = context
    return [
      () => {
        const isSimple = choice.oneIn(3)
        const operandKind = choice.of(COMPARABLE)
        const when = () => this.make(isSimple ? operandKind : 'Boolean', context, depth - 1)
        return this.#note(isSimple ? 'simple case' : 'case', {
          kind: 'case',
          operand: isSimple ? this.make(operandKind, context, depth - 1) : undefined,
          branches: choice.list(1, 2, () => ({ when: when(), result: next() })),
          otherwise: choice.oneIn(3) ? undefined : next(),
          at,
        })
      },
      () => this.#note('coalesce', buildCall('coalesce', choice.list(1, 3, next))),
      ...(kind === 'Json' ? [] : [() => this.#note('nullif', buildCall('nullif', [next(), next()]))]),
      ...(subquery === undefined
        ? []
        : [() => this.#note('scalar query', { kind: 'subquery', query: subquery(kind, !choice.oneIn(30)), at })]),
    ]
  }

  #tests(context: ExpressionContext, depth: number): (() => Expression)[] {
    const { choice } = this
    const next = (kind: Kind): Expression => this.make(kind, context, depth)
    const { subquery } = context
    const negated = choice.oneIn(2)
    const compared = (): Kind => choice.of([...COMPARABLE, 'Fixed'])
    return [
      () => {
        const kind = compared()
        const operator = choice.of(COMPARISONS)
        this.used.add(`${operator} ${kind}`)
        return binary(operator, next(kind), next(kind))
      },
      () => {
        const kind = compared()
        return this.#note('between', {
          kind: 'between',
          negated,
          operand: next(kind),
          low: next(kind),
          high: next(kind),
          at,
        })
      },
      () => {
        const kind = choice.of(COMPARABLE)
        const items = choice.list(1, 4, () => this.make(kind, context, 0))
        return this.#note('in list', { kind: 'in-list', negated, operand: next(kind), items, at })
      },
      () => {
        const ignoreCase = choice.oneIn(2)
        return this.#note(ignoreCase ? 'ilike' : 'like', {
          kind: 'like',
          negated,
          ignoreCase,
          operand: next('Text'),
          pattern: choice.oneIn(3) ? next('Text') : text(choice.of(PATTERNS)),
          escape: choice.oneIn(3) ? text(choice.of(['\\', '!', '%', '😀'])) : undefined,
          at,
        })
      },
      () => this.#note('is null', { kind: 'is-null', negated, operand: next(choice.of([...COMPARABLE, 'Json'])), at }),
      () => this.#note('is truth', { kind: 'is-truth', negated, value: choice.oneIn(2), operand: next('Boolean'), at }),
      () => this.#note('not', { kind: 'unary', operator: 'not', operand: next('Boolean'), at }),
      () => this.#note('and', binary('and', next('Boolean'), next('Boolean'))),
      () => this.#note('or', binary('or', next('Boolean'), next('Boolean'))),
      ...(subquery === undefined
        ? []
        : [
            () => this.#note('exists', { kind: 'exists', query: subquery('Integer', false), at }),
            () => {
              const kind = choice.of(COMPARABLE)
              return this.#note('in query', {
                kind: 'in-query',
                negated,
                operand: next(kind),
                query: subquery(kind, false),
                at,
              })
            },
          ]),
    ]
  }

  #call({ definition, arguments: args }: FunctionUse, context: ExpressionContext, depth: number): Call {
    this.used.add(definition.id)
    const { optional = 0, variadic } = definition
    const kept = args.slice(0, args.length - this.choice.below(optional + 1))
    const [last] = kept
    const more = variadic === true && last !== undefined ? this.choice.list(0, 2, () => last) : []
    const made = [...kept, ...more].map((kind, index) => this.#argument(definition.id, kind, index, context, depth))
    return buildCall(definition.name, made)
  }

  #argument(id: string, kind: ArgumentOf, index: number, context: ExpressionContext, depth: number): Expression {
    // Long texts are tested elsewhere. Here they would only take time.
    if (index === 1 && ['repeat', 'lpad', 'rpad'].includes(id)) {
      return number(this.choice.of(['0', '1', '3', '-1', '12']))
    }
    return isKind(kind) ? this.make(kind, context, depth) : this.literal(kind)
  }

  #castTo(kind: Kind, operand: Expression): Expression {
    const { name, arguments: args } = readTypeName(this.choice, kind)
    return { kind: 'cast', operand, type: { name: { text: name, at }, arguments: args }, at }
  }

  /** A text that can usually be cast to the kind, because it was cast from it. */
  #readable(kind: ColumnKind, context: ExpressionContext, depth: number): Expression {
    const isFree = this.choice.oneIn(this.isTame ? 30 : 3)
    return isFree ? this.make('Text', context, depth) : this.#castTo('Text', this.make(kind, context, depth))
  }

  #note(form: string, expression: Expression): Expression {
    this.used.add(form)
    return expression
  }
}

const PATTERNS = [
  '%',
  '_',
  'a%',
  '%b',
  '_H%',
  'é',
  '%😀%',
  '!%%',
  'A\\%',
  '',
  '__',
  '%ß%',
  'İ',
  'ΑΣ',
  '%\n%',
  'b_p',
  '!_',
]

export function findColumn(table: string, name: string): Expression {
  return { kind: 'column', table: { text: table, at }, name: { text: name, at } }
}

export function buildCall(name: string, args: readonly Expression[]): Call {
  return {
    kind: 'call',
    name: { text: name, at },
    star: false,
    distinct: false,
    arguments: args,
    orderBy: [],
    filter: undefined,
    over: undefined,
  }
}

export function binary(operator: BinaryOperator, left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator, left, right, at }
}

function isColumnKind(kind: Kind): kind is ColumnKind {
  return kind !== 'Fixed' && kind !== 'Months'
}
