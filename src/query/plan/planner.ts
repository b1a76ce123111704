/** From a statement to a plan: parsed, bound with the caller's rights and turned into SQL. Plans are cached. */
import { LruMap } from '../../lib/lru-map.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Snapshot } from '../catalogue/snapshot.ts'
import { AUDIT_LOG } from '../catalogue/system-tables.ts'
import type { CostClass } from '../engines/cost-class.ts'
import { type Emission, emitExpression } from '../engines/emit/expression.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import type { Plan } from '../engines/emit/slots.ts'
import { emitDelete, emitInsert, emitUpdate } from '../engines/emit/write.ts'
import type { Engine, PreparedRead } from '../engines/engine.ts'
import type { Statement } from '../iql/ast.ts'
import { bind } from '../iql/binder.ts'
import type { Bound, Delete, Insert, Update } from '../iql/bound.ts'
import type { BoundExpression, Query } from '../iql/bound-query.ts'
import { DEFAULT_LIMITS, type Limits } from '../iql/limits.ts'
import { parse } from '../iql/parser.ts'
import { TextEncoders } from '../results/encoders.ts'
import { costOf, isBoundedWrite } from './cost.ts'
import { sameScopes, viewFor } from './rights.ts'

/** A statement that is ready to run. It holds no values, so that callers with the same scopes can share it. */
export interface Planned {
  readonly text: string
  /** The scopes it was bound with. */
  readonly scopes: ReadonlySet<string>
  readonly snapshot: Snapshot
  readonly bound: Bound
  /** Undefined for statements that no engine runs as they are: definitions, EXPLAIN, SHOW, writes to system tables. */
  readonly plan: Plan | undefined
  readonly cost: CostClass
  /** Set for queries. */
  readonly read: PreparedRead | undefined
  /** For the rows of every other statement. */
  readonly encoders: TextEncoders
  readonly readsAuditLog: boolean
}

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
}

/** Characters of the statements whose plans are cached: a plan takes memory in proportion to its statement. */
const CACHED_CHARACTERS = 1_000_000
const MAX_KEY_LENGTH = 10_000
/** Plans of one statement, each for other scopes. */
const MAX_VARIANTS = 8

type PlanCache = LruMap<readonly Planned[]>

function createCache(): PlanCache {
  return new LruMap(CACHED_CHARACTERS, (plans, key) => plans.length * (key.length + 100))
}

export class Planner {
  readonly #engine: Engine
  readonly #limits: Limits
  /** By text. */
  readonly #statements = createCache()
  /** By key. */
  readonly #built = createCache()
  #version = 0

  constructor(engine: Engine, limits: Limits = DEFAULT_LIMITS) {
    this.#engine = engine
    this.#limits = limits
  }

  /** The number of statements with cached plans. */
  get size(): number {
    return this.#statements.size + this.#built.size
  }

  /** `text` is empty for a built statement. */
  plan({ scopes }: Principal, snapshot: Snapshot, text: string, built?: BuiltStatement): Planned {
    if (snapshot.version !== this.#version) {
      this.#statements.clear()
      this.#built.clear()
      this.#version = snapshot.version
    }
    const cache = built === undefined ? this.#statements : this.#built
    const key = built === undefined ? text : built.key
    const plans = cache.get(key) ?? []
    for (const known of plans) if (sameScopes(known.scopes, scopes)) return known
    const statement = built === undefined ? parse(text, this.#limits) : built.statement()
    const bound = bind(statement, text, viewFor(snapshot, scopes))
    const planned = this.#emit({ text, scopes, snapshot, bound }, built?.keys?.(bound) ?? [])
    if (key.length <= MAX_KEY_LENGTH) cache.set(key, [planned, ...plans].slice(0, MAX_VARIANTS))
    return planned
  }

  #emit(given: Pick<Planned, 'text' | 'scopes' | 'snapshot' | 'bound'>, keyColumns: readonly KeyColumn[]): Planned {
    const { bound, snapshot } = given
    const { statement } = bound
    const common = {
      ...given,
      encoders: new TextEncoders(bound.columns),
      read: undefined,
      readsAuditLog: bound.tables.some(({ isSystem, name }) => isSystem && name === AUDIT_LOG),
    }
    switch (statement.kind) {
      case 'query': {
        const keys = keyColumns.map(({ expression }) => expression)
        const plan = this.#finish((emission) => emitQuery(statement, emission, keys), snapshot)
        const cost = costOf(statement, (table) => snapshot.indexesOf(table))
        const read = this.#engine.prepareRead({
          sql: plan.sql,
          columns: bound.columns,
          keyColumns: keyColumns.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable })),
          cost,
        })
        return { ...common, plan, cost, read }
      }
      case 'insert':
      case 'update':
      case 'delete': {
        if (statement.table.isSystem) return { ...common, plan: undefined, cost: 'unbounded' }
        const isBounded = isBoundedWrite(statement)
        const plan = this.#finish((emission) => emitWrite(statement, emission, snapshot, isBounded), snapshot)
        return { ...common, plan, cost: isBounded ? 'bounded' : 'unbounded' }
      }
      default:
        return { ...common, plan: undefined, cost: 'unbounded' }
    }
  }

  /** A query that the service itself runs on behalf of a statement. */
  emitQuery(query: Query): Plan {
    return this.#finish((emission) => emitQuery(query, emission))
  }

  /** An expression without columns, as a query with one row. */
  emitValue(expression: BoundExpression): Plan {
    return this.#finish((emission) => `SELECT ${emitExpression(expression, emission)} AS c0`)
  }

  #finish(emit: (emission: Emission) => string, snapshot?: Snapshot): Plan {
    const emission = createEmission(this.#engine.dialect, { indexesOf: (table) => snapshot?.indexesOf(table) ?? [] })
    return this.#engine.finish(emission.slots, emit(emission))
  }
}

function emitWrite(
  statement: Insert | Update | Delete,
  emission: Emission,
  snapshot: Snapshot,
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
