/** Arbitrary syntax trees for fast-check: everything that the parser can produce, with all positions zero. */
import fc from 'fast-check'
import type { CheckDefinition, ColumnDefinition, Statement } from '../../../packages/iql/src/syntax/ast.ts'
import type {
  Body,
  Expression,
  FrameBound,
  From,
  Name,
  OrderItem,
  Query,
  Select,
  SelectItem,
  TypeRef,
} from '../../../packages/iql/src/syntax/ast-query.ts'
import { anyText } from '../../support/any-text.ts'

const at = 0

const wellFormed = (text: string) => text.isWellFormed() && !text.includes('\0')
const someText = anyText({ maxLength: 12 }).filter(wellFormed)
const words = fc.constantFrom(
  'trades',
  'orders',
  'symbol',
  'id',
  'price',
  'Qty',
  'ts',
  'select',
  'date',
  'current_date',
  'primary',
  'unique',
  'filter',
  'x',
  'if',
  'größe',
  'a b',
  'say "hi"',
  'first',
  'over',
  'escape',
  'row',
  'end',
  'qualify',
  'fetch',
)
const name: fc.Arbitrary<Name> = fc
  .oneof({ weight: 5, arbitrary: words }, { weight: 1, arbitrary: someText.filter((text) => text !== '') })
  .map((text) => ({ text, at }))
const functionName: fc.Arbitrary<Name> = fc
  .constantFrom('abs', 'count', 'left', 'right', 'coalesce', 'no_such', 'date', 'filter')
  .map((text) => ({ text, at }))
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const some = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 })
const few = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { maxLength: 2 })

const numberText = fc.oneof(
  fc.nat().map(String),
  fc.tuple(fc.nat(), fc.nat()).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(fc.nat(99), fc.integer({ min: -30, max: 30 })).map(([digits, power]) => `${digits}e${power}`),
)

const typeRef: fc.Arbitrary<TypeRef> = fc.record({ name, arguments: fc.array(fc.nat(38), { maxLength: 2 }) })

const literal: fc.Arbitrary<Expression> = fc.oneof(
  fc.record({ kind: fc.constant('number' as const), text: numberText, at: fc.constant(at) }),
  fc.record({ kind: fc.constant('text' as const), value: someText, at: fc.constant(at) }),
  fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean(), at: fc.constant(at) }),
  fc.constant({ kind: 'null' as const, at }),
  fc.record({
    kind: fc.constant('typed' as const),
    type: fc.constantFrom('Timestamp', 'Date', 'Time', 'Interval', 'Uuid', 'Json'),
    value: someText,
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constant('bytes' as const), hex: fc.constantFrom('', '00', '0aff'), at: fc.constant(at) }),
  fc.record({
    kind: fc.constant('parameter' as const),
    name: fc.constantFrom('a', 'sub', '1', '12'),
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constant('column' as const), table: maybe(name), name }),
)

const frameBound: fc.Arbitrary<FrameBound> = fc.oneof(
  fc.record({ kind: fc.constantFrom('unbounded-preceding', 'current-row', 'unbounded-following') }),
  fc.record({ kind: fc.constantFrom('preceding', 'following'), rows: fc.nat(99) }),
  fc.record({ kind: fc.constantFrom('preceding', 'following'), interval: fc.constantFrom('5 minutes', '1 day') }),
)

interface Trees {
  expression: Expression
  orderItem: OrderItem
  query: Query
  body: Body
  select: Select
  item: SelectItem
  from: From
}

const trees = fc.letrec((tie: fc.LetrecTypedTie<Trees>) => {
  const expression = tie('expression')
  const query = tie('query')
  const flags = { negated: fc.boolean(), at: fc.constant(at) }
  return {
    expression: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'tree' },
      { weight: 3, arbitrary: literal },
      fc.record({
        kind: fc.constant('unary' as const),
        operator: fc.constantFrom('-', '+', 'not'),
        operand: expression,
        at: fc.constant(at),
      }),
      fc.record({
        kind: fc.constant('binary' as const),
        operator: fc.constantFrom(
          'or',
          'and',
          '=',
          '<>',
          '<',
          '<=',
          '>',
          '>=',
          'is distinct from',
          'is not distinct from',
          '||',
          '+',
          '-',
          '*',
          '/',
          '%',
        ),
        left: expression,
        right: expression,
        at: fc.constant(at),
      }),
      fc.record({
        kind: fc.constant('like' as const),
        ignoreCase: fc.boolean(),
        operand: expression,
        pattern: expression,
        escape: maybe(expression),
        ...flags,
      }),
      fc.record({
        kind: fc.constant('between' as const),
        operand: expression,
        low: expression,
        high: expression,
        ...flags,
      }),
      // IN with a single sub-query would be parsed as IN (query).
      fc
        .record({ kind: fc.constant('in-list' as const), operand: expression, items: some(expression), ...flags })
        .filter(({ items }) => !(items.length === 1 && items[0]?.kind === 'subquery')),
      fc.record({ kind: fc.constant('in-query' as const), operand: expression, query, ...flags }),
      fc.record({ kind: fc.constant('is-null' as const), operand: expression, ...flags }),
      fc.record({ kind: fc.constant('is-truth' as const), operand: expression, value: fc.boolean(), ...flags }),
      fc.record({
        kind: fc.constant('case' as const),
        operand: maybe(expression),
        branches: some(fc.record({ when: expression, result: expression })),
        otherwise: maybe(expression),
        at: fc.constant(at),
      }),
      fc.record({ kind: fc.constant('cast' as const), operand: expression, type: typeRef, at: fc.constant(at) }),
      fc.record({
        kind: fc.constant('call' as const),
        name: functionName,
        star: fc.constant(false),
        distinct: fc.boolean(),
        arguments: some(expression),
        orderBy: few(tie('orderItem')),
        filter: maybe(expression),
        over: maybe(
          fc.record({
            partitionBy: few(expression),
            orderBy: few(tie('orderItem')),
            frame: maybe(fc.record({ unit: fc.constantFrom('rows', 'range'), start: frameBound, end: frameBound })),
            at: fc.constant(at),
          }),
        ),
      }),
      fc.record({ kind: fc.constant('subquery' as const), query, at: fc.constant(at) }),
      fc.record({ kind: fc.constant('exists' as const), query, at: fc.constant(at) }),
    ),
    orderItem: fc.record({ expression, descending: fc.boolean(), nulls: fc.constantFrom(undefined, 'first', 'last') }),
    query: fc
      .record({
        kind: fc.constant('query' as const),
        with: fc.oneof(
          { maxDepth: 1, depthIdentifier: 'with' },
          fc.constant([]),
          some(fc.record({ name, columns: few(name), query })),
        ),
        body: tie('body'),
        orderBy: few(tie('orderItem')),
        limit: maybe(expression),
        offset: maybe(expression),
        at: fc.constant(at),
      })
      .map((made) => (isBare(made) && made.body.kind === 'query' ? made.body : made)),
    body: fc.oneof(
      { maxDepth: 2, depthIdentifier: 'tree' },
      { weight: 4, arbitrary: tie('select') },
      fc.record({
        kind: fc.constant('set' as const),
        operator: fc.constantFrom('union', 'intersect', 'except'),
        all: fc.boolean(),
        left: tie('body'),
        right: tie('body'),
        at: fc.constant(at),
      }),
      query.filter((made) => !isBare(made)),
    ),
    select: fc
      .record({
        kind: fc.constant('select' as const),
        distinct: fc.boolean(),
        items: some(tie('item')),
        from: maybe(tie('from')),
        where: maybe(expression),
        latest: maybe(fc.record({ on: expression, partitionBy: some(expression), at: fc.constant(at) })),
        groupBy: few(expression),
        having: maybe(expression),
        distinctOn: maybe(some(expression)),
        groupByAll: fc.boolean(),
        qualify: maybe(expression),
        at: fc.constant(at),
      })
      .map(({ distinctOn, groupByAll, qualify, ...select }) => ({
        ...select,
        ...(distinctOn === undefined ? {} : { distinctOn, distinct: false }),
        ...(groupByAll && select.groupBy.length === 0 ? { groupByAll } : {}),
        ...(qualify === undefined ? {} : { qualify }),
      }))
      // The binder refuses LATEST ON without a table and of a join.
      .map(({ latest, ...select }) =>
        latest === undefined || select.from === undefined || select.from.kind === 'join'
          ? select
          : { ...select, latest },
      ),
    item: fc.oneof(
      fc.record({ kind: fc.constant('all' as const), table: maybe(name), at: fc.constant(at) }),
      fc.record({ kind: fc.constant('item' as const), expression, alias: maybe(name) }),
    ),
    from: fc.oneof(
      { maxDepth: 2, depthIdentifier: 'from' },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('table' as const), name, alias: maybe(name) }) },
      fc.record({ kind: fc.constant('derived' as const), query, alias: name }),
      fc
        .record({
          kind: fc.constant('function' as const),
          name: fc.constant({ text: 'generate_series', at }),
          arguments: some(expression),
          alias: maybe(name),
          column: maybe(name),
        })
        .map((made) => (made.alias === undefined ? { ...made, column: undefined } : made)),
      fc
        .record({
          kind: fc.constant('join' as const),
          join: fc.constantFrom('inner', 'left', 'right', 'full', 'cross', 'asof', 'asof-left'),
          left: tie('from'),
          right: tie('from'),
          on: expression,
          using: maybe(some(name)),
          at: fc.constant(at),
        })
        .map(({ using, ...join }) => {
          if (join.join === 'cross') return { ...join, on: undefined }
          return using === undefined ? join : { ...join, on: undefined, using }
        }),
    ),
  }
})

function isBare({ with: ctes, orderBy, limit, offset }: Query): boolean {
  return ctes.length === 0 && orderBy.length === 0 && limit === undefined && offset === undefined
}

const value = fc.oneof(trees.expression, fc.constant({ kind: 'default' as const, at }))
const assignment = fc.record({ column: name, value })
const columnDefinition: fc.Arbitrary<ColumnDefinition> = fc.record({
  name,
  type: typeRef,
  primaryKey: fc.boolean(),
  notNull: fc.boolean(),
  unique: fc.boolean(),
  default: maybe(trees.expression),
})

const check: fc.Arbitrary<CheckDefinition> = fc.record({
  name: maybe(name),
  column: fc.constant(undefined),
  condition: trees.expression,
  at: fc.constant(at),
})
const acr = fc.record({ acr: fc.constantFrom(1 as const, 2 as const) })
const age = fc.record({ age: fc.integer({ min: 1, max: 31_536_000 }) })
const need = fc.oneof(
  acr,
  age,
  fc.tuple(acr, age).map(([level, seconds]) => ({ ...level, ...seconds })),
)

const retention = fc.record({ time: someText, on: name, at: fc.constant(at) })

const insert = fc.record({
  kind: fc.constant('insert' as const),
  table: name,
  columns: few(name),
  source: fc.oneof(
    fc.record({
      kind: fc.constant('values' as const),
      rows: some(fc.record({ values: some(value), at: fc.constant(at) })),
    }),
    fc.record({ kind: fc.constant('query' as const), query: trees.query }),
  ),
  onConflict: maybe(
    fc.record({
      target: few(name),
      action: fc.oneof(
        fc.constant({ kind: 'nothing' as const }),
        fc.record({ kind: fc.constant('update' as const), set: some(assignment), where: maybe(trees.expression) }),
      ),
      at: fc.constant(at),
    }),
  ),
  returning: few(trees.item),
  at: fc.constant(at),
})

export const statements: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 5, arbitrary: trees.query },
  insert,
  fc.record({
    kind: fc.constant('update' as const),
    table: name,
    alias: maybe(name),
    set: some(assignment),
    where: maybe(trees.expression),
    returning: few(trees.item),
    at: fc.constant(at),
  }),
  fc.record({
    kind: fc.constant('delete' as const),
    table: name,
    alias: maybe(name),
    where: maybe(trees.expression),
    returning: few(trees.item),
    at: fc.constant(at),
  }),
  fc
    .record({
      kind: fc.constant('create-table' as const),
      ifNotExists: fc.boolean(),
      name,
      columns: some(columnDefinition),
      keys: few(
        fc.record({ kind: fc.constantFrom('primary-key', 'unique'), columns: some(name), at: fc.constant(at) }),
      ),
      readScope: maybe(someText),
      writeScope: maybe(someText),
      rowFilter: maybe(trees.expression),
      readNeed: maybe(need),
      writeNeed: maybe(need),
      comment: maybe(someText),
      live: maybe(fc.boolean()),
      columnar: maybe(fc.boolean()),
      retention: maybe(fc.option(retention)),
      hold: maybe(fc.boolean()),
      checks: maybe(some(check)),
      query: maybe(trees.query),
      at: fc.constant(at),
    })
    .map(({ checks, query, ...table }) => ({
      ...table,
      ...(checks === undefined ? {} : { checks }),
      ...(query === undefined ? {} : { query, columns: [] }),
    })),
  fc.record({
    kind: fc.constant('alter-table' as const),
    table: name,
    action: fc.oneof(
      fc.record({ kind: fc.constant('add' as const), column: columnDefinition }),
      fc.record({ kind: fc.constant('drop' as const), column: name }),
      fc.record({ kind: fc.constant('add-check' as const), check }),
      fc.record({ kind: fc.constant('drop-check' as const), name }),
      fc.record({ kind: fc.constant('rename' as const), column: name, to: name }),
      fc
        .record({
          kind: fc.constant('set' as const),
          readScope: maybe(fc.option(someText)),
          writeScope: maybe(fc.option(someText)),
          rowFilter: maybe(fc.option(trees.expression)),
          readNeed: maybe(fc.option(need)),
          writeNeed: maybe(fc.option(need)),
          comment: maybe(fc.option(someText)),
          live: maybe(fc.boolean()),
          columnar: maybe(fc.boolean()),
          retention: maybe(fc.option(retention)),
          hold: maybe(fc.boolean()),
        })
        .filter(({ kind: _kind, ...said }) => Object.values(said).some((change) => change !== undefined)),
    ),
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constantFrom('drop-table', 'drop-index'), ifExists: fc.boolean(), name, at: fc.constant(at) }),
  fc.record({
    kind: fc.constant('create-index' as const),
    unique: fc.boolean(),
    ifNotExists: fc.boolean(),
    name,
    table: name,
    columns: some(fc.record({ name, descending: fc.boolean() })),
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constant('explain' as const), statement: trees.query, at: fc.constant(at) }),
  fc.record({
    kind: fc.constant('explain' as const),
    analyze: fc.constant(true as const),
    statement: trees.query,
    at: fc.constant(at),
  }),
  fc.record({ kind: fc.constant('explain-live' as const), query: trees.query, at: fc.constant(at) }),
  fc.record({ kind: fc.constant('describe'), table: name, at: fc.constant(at) }),
  fc.constant({ kind: 'show-tables' as const, at }),
)

/** Fragments of statements in random order: mostly nonsense, sometimes almost valid. */
export const soup: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom(
          ...'SELECT FROM WHERE GROUP ORDER BY JOIN ON ( ) , . ; * = <> < || + - / % NOT AND OR IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END CAST AS WITH UNION LIMIT INSERT INTO VALUES UPDATE SET DELETE ALL CREATE TABLE INDEX ALTER DROP EXISTS OVER FILTER PARTITION ROWS count abs t a b 1 2.5 1e9 :p $1 TRUE DATE INTERVAL EXTRACT USING ANY FETCH QUALIFY DISTINCT'.split(
            ' ',
          ),
        ),
      },
      fc.constantFrom("'x'", '"q"', "x'00'", '--', '/*', '*/', "'", '"', '\n', '\0', '\ud800', '😀'),
      someText,
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(' '))
