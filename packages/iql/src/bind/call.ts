/** Binds calls: finds the matching function, and checks where aggregates and window functions are allowed. */

import type { BoundExpression } from '../bound/bound-query.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { FOREIGN_FUNCTIONS } from '../functions/foreign-functions.ts'
import { type FunctionDefinition, functionNames, functionsNamed } from '../functions/functions.ts'
import type { Binding } from '../scope/binding.ts'
import { CLAUSES, type Scope } from '../scope/scope.ts'
import type { Call, Expression } from '../syntax/ast-query.ts'
import { INTEGER, type IqlType, isComparable, typeName } from '../types/types.ts'
import { type BoundArguments, matchArguments } from './arguments.ts'
import { bindCondition, bindOrder } from './clause.ts'
import { bindFrame } from './frame.ts'
import { isFlexible } from './literal.ts'
import { bindResults, combine, widenToCompare } from './operators.ts'
import { bindCurrentUser, bindDatabase, bindSchema, bindToTimestamp, bindVersion } from './session-forms.ts'

export function bindCall(binding: Binding, scope: Scope, call: Call, expected: IqlType | undefined): BoundExpression {
  const name = call.name.text.toLowerCase()
  const special = SPECIAL_BINDERS.get(name)
  if (special !== undefined) {
    refuseExtras(binding, call, 'takes plain arguments only')
    return special(binding, scope, call, expected)
  }
  const [first] = functionsNamed(name)
  if (first === undefined) {
    throw binding.fail('UnknownFunction', call.name.at, `There is no function ${call.name.text}`, {
      hint: FOREIGN_FUNCTIONS.get(name) ?? didYouMean(name, functionNames()),
    })
  }
  if (call.over !== undefined) return bindWindow(binding, scope, call, name)
  switch (first.kind) {
    case 'scalar':
      return bindScalar(binding, scope, call, name)
    case 'aggregate':
      return bindAggregate(binding, scope, call, name)
    case 'window':
      throw binding.fail('MisplacedWindow', call.name.at, `${name} needs a window`, {
        hint: `write ${name}(…) OVER (ORDER BY …)`,
      })
    case 'table':
      throw binding.fail('BadArguments', call.name.at, `${name} gives rows, not a value`, {
        hint: `write FROM ${name}(…) AS name`,
      })
  }
}

type BindSpecial = (binding: Binding, scope: Scope, call: Call, expected: IqlType | undefined) => BoundExpression

const SPECIAL_BINDERS: ReadonlyMap<string, BindSpecial> = new Map([
  ['coalesce', bindCoalesce],
  ['nullif', bindNullIf],
  ['mod', bindMod],
  ['time_bucket_gapfill', refuseGapfill],
  ['to_timestamp', bindToTimestamp],
  ['version', bindVersion],
  ['current_database', bindDatabase],
  ['current_schema', bindSchema],
  ['current_user', bindCurrentUser],
])

/** If it were allowed here, the statement would already have been rewritten. */
function refuseGapfill(binding: Binding, _scope: Scope, { name }: Call): never {
  throw binding.fail('BadArguments', name.at, 'time_bucket_gapfill must be a key of GROUP BY', {
    hint: 'group by it or by its alias; elsewhere use time_bucket',
  })
}

function bindCoalesce(binding: Binding, scope: Scope, call: Call, expected: IqlType | undefined): BoundExpression {
  if (call.arguments.length === 0)
    throw binding.fail('BadArguments', call.name.at, 'coalesce takes at least one argument')
  const { expressions, type } = bindResults(
    binding,
    scope,
    'coalesce',
    call.arguments,
    undefined,
    call.name.at,
    expected,
  )
  return { kind: 'coalesce', arguments: expressions, type, nullable: expressions.every(({ nullable }) => nullable) }
}

function bindNullIf(binding: Binding, scope: Scope, call: Call): BoundExpression {
  const [writtenValue, writtenOther] = twoArguments(binding, call)
  const before = binding.widenedNullIfs
  const [value, other] = bindTwo(binding, scope, writtenValue, writtenOther)
  const [left = value, right = other] = widenToCompare(binding, 'nullif', [value, other], call.name.at)
  // A NULL literal takes the type that it is compared with.
  const first = value.type.kind === 'Null' ? left : value
  const common = { kind: 'nullif', value: first, right, type: first.type, nullable: true } as const
  if (left === first) return { ...common, compared: 'value' }
  if (left.kind === 'literal') return { ...common, compared: left }
  // The SQL contains the value twice, so each such NULLIF nested in another doubles it.
  if (binding.widenedNullIfs++ - before >= MAX_WIDENED_NULLIFS) {
    throw binding.fail(
      'TooComplex',
      call.name.at,
      `A NULLIF with arguments of two types can contain at most ${MAX_WIDENED_NULLIFS} others`,
      { hint: 'cast the arguments to one type' },
    )
  }
  return { ...common, compared: { widenedTo: left.type } }
}

const MAX_WIDENED_NULLIFS = 6

function bindMod(binding: Binding, scope: Scope, call: Call): BoundExpression {
  const [left, right] = bindTwo(binding, scope, ...twoArguments(binding, call))
  return combine(binding, '%', left, right, call.name.at)
}

function bindTwo(
  binding: Binding,
  scope: Scope,
  left: Expression,
  right: Expression,
): [BoundExpression, BoundExpression] {
  if (isFlexible(left) && !isFlexible(right)) {
    const boundRight = binding.expression(scope, right)
    return [binding.expression(scope, left, boundRight.type), boundRight]
  }
  const boundLeft = binding.expression(scope, left)
  return [boundLeft, binding.expression(scope, right, boundLeft.type)]
}

function twoArguments(binding: Binding, { name, arguments: args }: Call): [Expression, Expression] {
  const [first, second, ...more] = args
  if (first !== undefined && second !== undefined && more.length === 0) return [first, second]
  throw binding.fail('BadArguments', name.at, `${name.text.toLowerCase()} takes two arguments, not ${args.length}`)
}

function bindScalar(binding: Binding, scope: Scope, call: Call, name: string): BoundExpression {
  refuseExtras(binding, call, 'is not an aggregate')
  const { definition, arguments: args, type } = matchArguments(binding, scope, call, functionsNamed(name))
  if (definition.kind !== 'scalar') throw new Error(`${definition.id} is not scalar`)
  return { kind: 'call', function: definition.id, arguments: args, type, nullable: isNullable(definition, args) }
}

function refuseExtras(binding: Binding, call: Call, why: string): void {
  const extra = call.star ? '*' : call.distinct ? 'DISTINCT' : call.orderBy.length > 0 ? 'ORDER BY' : undefined
  const after = call.filter !== undefined ? 'FILTER' : call.over !== undefined ? 'OVER' : undefined
  const what = extra ?? after
  if (what === undefined) return
  throw binding.fail('BadArguments', call.name.at, `${call.name.text.toLowerCase()} ${why}: it cannot have ${what}`)
}

function isNullable(definition: FunctionDefinition, args: readonly BoundExpression[]): boolean {
  switch (definition.nullable) {
    case 'strict':
      return args.some(({ nullable }) => nullable)
    case 'all':
      return args.every(({ nullable }) => nullable)
    case 'always':
      return true
    case 'never':
      return false
  }
}

function bindAggregate(binding: Binding, scope: Scope, call: Call, name: string): BoundExpression {
  if (!scope.clause.aggregates) {
    const hint = scope.clause === CLAUSES.where ? 'filter groups with HAVING' : undefined
    throw binding.fail('MisplacedAggregate', call.name.at, `${name} is not allowed in ${scope.clause.name}`, { hint })
  }
  const [hits, outerHits] = [scope.hits, binding.outerHits]
  const bound = scope.within(CLAUSES.aggregate, true, () => {
    const { definition, arguments: args, type } = bindAggregateArguments(binding, scope, call, name)
    if (definition.kind !== 'aggregate') throw new Error(`${definition.id} is not an aggregate`)
    if (call.orderBy.length > 0 && definition.ordered !== true) {
      throw binding.fail('BadArguments', call.name.at, `${name} does not depend on order: it cannot have ORDER BY`)
    }
    const orderBy = call.orderBy.map((item) => bindOrder(binding, scope, item))
    refuseDistinct(binding, call, args, orderBy.length > 0)
    const filter = call.filter === undefined ? undefined : bindCondition(binding, scope, call.filter)
    const nullable = isNullable(definition, args)
    return {
      kind: 'aggregate',
      function: definition.id,
      arguments: args,
      distinct: call.distinct,
      orderBy,
      filter,
      type,
      nullable,
    } as const
  })
  // Both engines would treat it as an aggregate of the enclosing query.
  if (scope.hits === hits && binding.outerHits > outerHits) {
    throw binding.fail('MisplacedAggregate', call.name.at, `${name} uses columns of the enclosing query only`, {
      hint: 'aggregate in the enclosing query',
    })
  }
  return bound
}

function bindAggregateArguments(binding: Binding, scope: Scope, call: Call, name: string): BoundArguments {
  const definitions = functionsNamed(name)
  const [first] = definitions
  if (!call.star) return matchArguments(binding, scope, call, definitions)
  if (first === undefined || name !== 'count') {
    throw binding.fail('BadArguments', call.name.at, `only count takes *, not ${name}`)
  }
  return { definition: first, arguments: [], type: INTEGER }
}

function refuseDistinct(binding: Binding, call: Call, args: readonly BoundExpression[], ordered: boolean): void {
  if (!call.distinct) return
  const [argument] = args
  if (argument !== undefined && !isComparable(argument.type)) {
    throw binding.fail('TypeMismatch', call.name.at, `DISTINCT cannot compare ${typeName(argument.type)}`)
  }
  const isJoin = call.name.text.toLowerCase() === 'string_agg'
  const [, separator] = args
  if (isJoin && separator !== undefined && separator.kind !== 'literal' && separator.kind !== 'parameter') {
    throw binding.fail(
      'BadArguments',
      call.name.at,
      `${call.name.text.toLowerCase()} with DISTINCT takes one separator`,
      { hint: 'give it as a literal or a parameter' },
    )
  }
  const isPairwise = args.length > 1 && !isJoin
  if (!isPairwise && !ordered) return
  throw binding.fail(
    'BadArguments',
    call.name.at,
    `${call.name.text.toLowerCase()} cannot have DISTINCT ${ordered ? 'and ORDER BY together' : 'here'}`,
  )
}

function bindWindow(binding: Binding, scope: Scope, call: Call, name: string): BoundExpression {
  const { over } = call
  if (over === undefined) throw new Error('A window function without OVER')
  if (!scope.clause.windows) {
    const hint =
      scope.clause === CLAUSES.where || scope.clause === CLAUSES.having
        ? 'filter its result with QUALIFY, which comes before ORDER BY'
        : undefined
    throw binding.fail('MisplacedWindow', call.name.at, `${name} OVER is not allowed in ${scope.clause.name}`, { hint })
  }
  return scope.within(CLAUSES.window, false, () => {
    const { definition, arguments: args, type } = bindAggregateArguments(binding, scope, call, name)
    if (
      definition.kind === 'scalar' ||
      definition.kind === 'table' ||
      (definition.kind === 'aggregate' && definition.overWindow !== true)
    ) {
      throw binding.fail('BadArguments', call.name.at, `${name} cannot be used with OVER`)
    }
    if (call.distinct || call.orderBy.length > 0) {
      throw binding.fail(
        'BadArguments',
        call.name.at,
        `${name} OVER cannot have ${call.distinct ? 'DISTINCT' : 'ORDER BY'} inside its parentheses`,
      )
    }
    if (call.filter !== undefined && definition.kind !== 'aggregate') {
      throw binding.fail('BadArguments', call.name.at, `${name} is not an aggregate: it cannot have FILTER`)
    }
    if (definition.kind === 'window' && over.orderBy.length === 0) {
      throw binding.fail('BadArguments', over.at, `${name} needs an order`, { hint: 'write OVER (ORDER BY …)' })
    }
    const filter = call.filter === undefined ? undefined : bindCondition(binding, scope, call.filter)
    const partitionBy = over.partitionBy.map((key) => comparable(binding, binding.expression(scope, key), over.at))
    const orderBy = over.orderBy.map((item) => bindOrder(binding, scope, item))
    const frame = bindFrame(binding, definition, over, orderBy)
    const nullable = definition.kind === 'window' ? isNullable(definition, args) : definition.id !== 'count'
    return {
      kind: 'window',
      function: definition.id,
      arguments: args,
      filter,
      partitionBy,
      orderBy,
      frame,
      type,
      nullable,
    }
  })
}

function comparable(binding: Binding, expression: BoundExpression, at: number): BoundExpression {
  if (isComparable(expression.type)) return expression
  throw binding.fail('TypeMismatch', at, `PARTITION BY cannot compare ${typeName(expression.type)}`)
}
