/** From a statement to a plan: parsed, bound with the caller's rights and turned into SQL. Plans are cached. */
import {
  type BindOptions,
  type Bound,
  type BoundExpression,
  type BoundQuery,
  bind,
  DEFAULT_LIMITS,
  type Delete,
  type Insert,
  type IqlValue,
  type Limits,
  literalsOf,
  parse,
  type Shape,
  type Statement,
  shapeOf,
  type TableView,
  type Update,
  type Weighed,
} from 'gatehouse-iql'
import type { Principal, StepUpNeed } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'
import { type CatalogueSnapshot, viewFor } from '../catalogue/snapshot.ts'
import { AUDIT_LOG } from '../catalogue/system-tables.ts'
import { type BulkEmission, type Emission, emitExpression } from '../engines/emit/emission.ts'
import { returningGiven } from '../engines/emit/given-row.ts'
import type { EmittedSql, SplitPlan } from '../engines/emit/parameters.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import { emitSplitGroups } from '../engines/emit/split-groups.ts'
import { emitDelete, emitInsert, emitUpdate } from '../engines/emit/write.ts'
import type { Engine, PreparedRead } from '../engines/engine.ts'
import type { CostClass } from '../model/cost-class.ts'
import { TextEncoders } from '../results/encoders.ts'
import { type AutoParameter, autoParametersOf, readAutoParameters } from './auto-parameters.ts'
import { costOf, isBoundedWrite } from './cost.ts'
import { statementNeed } from './step-up.ts'

/**
 * A statement that is ready to run. It holds only the values of its own literals, so that callers with the same scopes can share it.
 */
export interface Planned {
  readonly text: string
  /** The scopes it was bound with. */
  readonly scopes: ReadonlySet<string>
  readonly snapshot: CatalogueSnapshot
  readonly bound: Bound
  /** Undefined for statements that no engine runs as they are: definitions, EXPLAIN, SHOW, writes to system tables. */
  readonly emitted: EmittedSql | undefined
  readonly cost: CostClass
  /** Set for queries. */
  readonly read: PreparedRead | undefined
  /** For the rows of every other statement. */
  readonly encoders: TextEncoders
  readonly readsAuditLog: boolean
  /** What the statement demands of the sign-in of its caller: undefined for almost every one. What runs the plan checks it. */
  readonly stepUp: StepUpNeed | undefined
  /** The literals of the text that the plan takes as parameters, and their values. */
  readonly autoParameters: readonly AutoParameter[]
  readonly literals: readonly IqlValue[]
}

type Unemitted = Pick<Planned, 'text' | 'scopes' | 'snapshot' | 'bound' | 'autoParameters' | 'literals'>

export interface KeyColumn {
  readonly name: string
  readonly expression: BoundExpression
}

/** A statement that was built from a request instead of parsed. */
export interface BuiltStatement {
  /** Equal keys must build equal statements. */
  readonly key: string
  readonly statement: () => Statement
  readonly keys?: (bound: Bound) => readonly KeyColumn[]
  /** Of a statement that has a text after all: errors point into it. */
  readonly text?: string
  readonly options?: BindOptions
  /** Set for a bulk insert. */
  readonly bulk?: BulkEmission | undefined
}

export class Planner {
  readonly #engine: Engine
  readonly #limits: Limits
  /** By text. */
  readonly #statements = new PlanCache()
  /** By shape. */
  readonly #shapes = new ShapeCache()
  /** By key. */
  readonly #built = new PlanCache()
  #version = 0

  constructor(engine: Engine, limits: Limits = DEFAULT_LIMITS) {
    this.#engine = engine
    this.#limits = limits
  }

  /** The number of statements with cached plans. */
  get size(): number {
    return this.#statements.size + this.#shapes.size + this.#built.size
  }

  /** `text` is empty for a built statement. */
  plan({ scopes }: Principal, snapshot: CatalogueSnapshot, text: string, built?: BuiltStatement): Planned {
    this.#follow(snapshot)
    if (built !== undefined) return this.#built.find(built.key, scopes) ?? this.#planBuilt(scopes, snapshot, built)
    const known = this.#statements.find(text, scopes)
    if (known !== undefined) return known
    const shape = this.#mayShare(text) ? shapeOf(text) : undefined
    return this.#shapes.find(shape, text, scopes) ?? this.#planText(scopes, snapshot, text, shape)
  }

  /** A plan with all literals in it: for live statements, which share results if their plans are equal. */
  planWithLiterals({ scopes }: Principal, snapshot: CatalogueSnapshot, text: string): Planned {
    this.#follow(snapshot)
    return this.#statements.find(text, scopes) ?? this.#planText(scopes, snapshot, text, undefined)
  }

  #follow({ version }: CatalogueSnapshot): void {
    if (version === this.#version) return
    this.#statements.clear()
    this.#shapes.clear()
    this.#built.clear()
    this.#version = version
  }

  /** A UTF-16 code unit takes at most three bytes, so no statement of this length exceeds the byte limit. */
  #mayShare(text: string): boolean {
    return text.length <= MAX_KEY_LENGTH && text.length * 3 <= this.#limits.statementBytes
  }

  #planText(scopes: ReadonlySet<string>, snapshot: CatalogueSnapshot, text: string, shape: Shape | undefined): Planned {
    const statement = parse(text, this.#limits)
    const written = shape === undefined ? undefined : literalsOf(statement, shape)
    const bound = bind(statement, text, viewFor(snapshot, scopes), written)
    const autoParameters = shape === undefined ? [] : autoParametersOf(bound, shape, snapshot)
    const literals = shape === undefined ? [] : (readAutoParameters(autoParameters, shape) ?? [])
    const planned = this.#emit({ text, scopes, snapshot, bound, autoParameters, literals }, [])
    if (shape === undefined || !this.#shapes.add(shape, planned)) this.#statements.add(text, planned)
    return planned
  }

  #planBuilt(scopes: ReadonlySet<string>, snapshot: CatalogueSnapshot, built: BuiltStatement): Planned {
    const { text = '', options } = built
    const bound = bind(built.statement(), text, viewFor(snapshot, scopes), undefined, options)
    const given = { text, scopes, snapshot, bound, autoParameters: [], literals: [] }
    const planned = this.#emit(given, built.keys?.(bound) ?? [], built.bulk)
    this.#built.add(built.key, planned)
    return planned
  }

  #emit(given: Unemitted, keyColumns: readonly KeyColumn[], bulk?: BulkEmission): Planned {
    const { bound, snapshot, autoParameters } = given
    const { statement } = bound
    const common = {
      ...given,
      encoders: new TextEncoders(bound.columns),
      read: undefined,
      stepUp: statementNeed(bound, snapshot),
      readsAuditLog: bound.tables.some(({ isSystem, name }) => isSystem && name === AUDIT_LOG),
    }
    switch (statement.kind) {
      case 'query': {
        const keys = keyColumns.map(({ expression }) => expression)
        const whole = this.#finish((emission) => emitQuery(statement, emission, keys), {
          snapshot,
          autoParameters,
          statement,
        })
        const split = keys.length === 0 ? this.#split(statement, autoParameters) : undefined
        const emitted = split === undefined ? whole : { ...whole, split }
        const cost = costOf(
          statement,
          (table) => snapshot.indexesOf(table),
          (table) => snapshot.ascendingIndexesOf(table),
        )
        const read = this.#engine.prepareRead({
          sql: emitted.sql,
          columns: bound.columns,
          keyColumns: keyColumns.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable })),
          cost,
        })
        return { ...common, emitted, cost, read }
      }
      case 'insert':
      case 'update':
      case 'delete': {
        if (statement.table.isSystem) return { ...common, emitted: undefined, cost: 'unbounded' }
        const isBounded = isBoundedWrite(statement)
        const finish = (write: Insert | Update | Delete): EmittedSql =>
          this.#finish((emission) => emitWrite(write, emission, snapshot, isBounded), {
            snapshot,
            autoParameters,
            statement: write,
            bulk,
          })
        const unread =
          statement.kind === 'insert' && bulk === undefined
            ? returningGiven(statement, this.#engine.dialect, finish)
            : undefined
        return { ...common, emitted: unread ?? finish(statement), cost: isBounded ? 'bounded' : 'unbounded' }
      }
      default:
        return { ...common, emitted: undefined, cost: 'unbounded' }
    }
  }

  /** A query that the service itself runs on behalf of a statement. */
  emitQuery(query: BoundQuery): EmittedSql {
    return this.#finish((emission) => emitQuery(query, emission))
  }

  /** An expression without columns, as a query with one row. */
  emitValue(expression: BoundExpression): EmittedSql {
    return this.#finish((emission) => `SELECT ${emitExpression(expression, emission)} AS c0`)
  }

  #split(query: BoundQuery, parameters: readonly AutoParameter[]): SplitPlan | undefined {
    const emission = createEmission(this.#engine.dialect, { autoParameters: slotsOf(parameters) })
    const split = emitSplitGroups(query, emission)
    if (split === undefined) return undefined
    const finish = (text: string): EmittedSql => this.#engine.finish(emission.placeholders, text)
    return { ...split, part: finish(split.part), whole: finish(split.whole) }
  }

  #finish(emit: (emission: Emission) => string, of?: Finished): EmittedSql {
    const autoParameters = slotsOf(of?.autoParameters ?? [])
    const indexesOf = (table: TableView) => of?.snapshot.indexesOf(table) ?? []
    const emission = createEmission(this.#engine.dialect, {
      autoParameters,
      indexesOf,
      statement: of?.statement,
      bulk: of?.bulk,
    })
    return this.#engine.finish(emission.placeholders, emit(emission))
  }
}

/** What is known about a caller's statement. */
interface Finished {
  readonly snapshot: CatalogueSnapshot
  readonly autoParameters: readonly AutoParameter[]
  readonly statement: Weighed
  readonly bulk?: BulkEmission | undefined
}

/** The indexes of the parameters, by those of the literals. */
function slotsOf(parameters: readonly AutoParameter[]): Emission['autoParameters'] {
  return new Map(parameters.map(({ index: written }, index) => [written, index]))
}

function emitWrite(
  statement: Insert | Update | Delete,
  emission: Emission,
  snapshot: CatalogueSnapshot,
  isBounded: boolean,
): string {
  switch (statement.kind) {
    case 'insert':
      return emitInsert(statement, emission, snapshot, isBounded)
    case 'update':
      return emitUpdate(statement, emission, snapshot, isBounded)
    case 'delete':
      return emitDelete(statement, emission, isBounded)
  }
}

/** Characters of the keys: a plan takes memory in proportion to its statement. */
const CACHED_CHARACTERS = 500_000
const MAX_KEY_LENGTH = 10_000
/** Plans of one statement, one for each set of scopes. */
const MAX_VARIANTS = 8

/** Plans by a key, each for the scopes that it was bound with. */
class PlanCache {
  readonly #plans = new LruMap<readonly Planned[]>(CACHED_CHARACTERS, (plans, key) => plans.length * (key.length + 100))

  /** The number of statements. */
  get size(): number {
    return this.#plans.size
  }

  find(key: string, scopes: ReadonlySet<string>): Planned | undefined {
    const plans = this.#plans.get(key)
    if (plans === undefined) return undefined
    for (const plan of plans) if (sameScopes(plan.scopes, scopes)) return plan
    return undefined
  }

  add(key: string, plan: Planned): void {
    if (key.length > MAX_KEY_LENGTH) return
    const others = this.#plans.get(key) ?? []
    this.#plans.set(key, [plan, ...others].slice(0, MAX_VARIANTS))
  }

  clear(): void {
    this.#plans.clear()
  }
}

/** Plans that serve every statement of a shape: the literals that became parameters may have any value. */
class ShapeCache {
  /** By shape: the indexes of the literals that did not become parameters, and so are part of the key of the plan. */
  readonly #fixed = new LruMap<readonly number[]>(CACHED_CHARACTERS, (fixed, key) => key.length + fixed.length + 100)
  readonly #plans = new PlanCache()

  /** The number of plans, of all scopes. */
  get size(): number {
    return this.#plans.size
  }

  /** The plan with the literals of the text. */
  find(shape: Shape | undefined, text: string, scopes: ReadonlySet<string>): Planned | undefined {
    if (shape === undefined) return undefined
    const fixed = this.#fixed.get(shape.key)
    if (fixed === undefined) return undefined
    const plan = this.#plans.find(keyOf(shape, fixed), scopes)
    const literals = plan && readAutoParameters(plan.autoParameters, shape)
    return literals && { ...plan, text, literals }
  }

  /**
   * False if the plan is not added: none of its literals became a parameter, its key is too long, or one of its fixed literals is a
   * parameter in the known plans of this shape.
   */
  add(shape: Shape, plan: Planned): boolean {
    if (plan.autoParameters.length === 0) return false
    const indexes = new Set(plan.autoParameters.map(({ index }) => index))
    const fixed = [...shape.literals.keys()].filter((index) => !indexes.has(index))
    const key = keyOf(shape, fixed)
    const known = this.#fixed.get(shape.key)
    if (key.length > MAX_KEY_LENGTH || (known !== undefined && !new Set(fixed).isSubsetOf(new Set(known)))) return false
    if (known === undefined || fixed.length < known.length) this.#fixed.set(shape.key, fixed)
    this.#plans.add(key, plan)
    return true
  }

  clear(): void {
    this.#fixed.clear()
    this.#plans.clear()
  }
}

/** NUL cannot be part of a literal, so different literals give different keys. */
function keyOf({ key, literals }: Shape, fixed: readonly number[]): string {
  return fixed.length === 0 ? key : fixed.reduce((whole, index) => `${whole}\0${index} ${literals[index]}`, key)
}

/** All scopes are compared, because a table may require any of them. */
function sameScopes(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  // Tokens with the same scope parameter share a set, so two sets are seldom compared name by name.
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const scope of a) if (!b.has(scope)) return false
  return true
}
