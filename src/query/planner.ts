/** From a statement to a plan: parsed, bound with the caller's rights, emitted; plans are kept by text. */
import type { Principal } from '../protocol/principal.ts'
import type { Snapshot } from './catalogue/snapshot.ts'
import { isShortWrite, type Reach, reachOf } from './cost.ts'
import { emitExpression } from './engines/emit/expression.ts'
import { Emission, emitQuery } from './engines/emit/query.ts'
import type { Plan } from './engines/emit/slots.ts'
import { emitDelete, emitInsert, emitUpdate } from './engines/emit/write.ts'
import type { Engine } from './engines/engine.ts'
import type { Statement } from './iql/ast.ts'
import { bind } from './iql/binder.ts'
import type { Bound, Delete, Insert, Query, ResultColumn, Update } from './iql/bound.ts'
import type { BoundExpression } from './iql/bound-expression.ts'
import { DEFAULT_LIMITS, type Limits } from './iql/limits.ts'
import { parse } from './iql/parser.ts'
import { rightsKey, viewFor } from './rights.ts'

export interface Planned {
  readonly text: string
  readonly bound: Bound
  /** Undefined for statements that no engine runs as they are: definitions, EXPLAIN, SHOW, writes to system tables. */
  readonly plan: Plan | undefined
  /** The plan of a query gives these key columns after its own. */
  readonly keyColumns: readonly ResultColumn[]
  readonly reach: Reach
  readonly snapshot: Snapshot
}

export interface KeyColumn {
  readonly name: string
  readonly expression: BoundExpression
}

/** A statement that did not come as text. */
interface Made {
  readonly key: string
  readonly statement: () => Statement
  readonly keys?: (bound: Bound) => readonly KeyColumn[]
}

const CAPACITY = 1000
/** Texts that came last with the plan that their caller got: a caller with the very same rights is given it without a look at them. */
const MOST_LATELY = 100
const LONGEST_KEPT = 10_000

export class Planner {
  readonly #engine: Engine
  readonly #limits: Limits
  readonly #plans = new Map<string, Planned>()
  readonly #lately = new Map<string, { readonly scopes: ReadonlySet<string>; readonly planned: Planned }>()
  #version = 0

  /** Plans that are kept. */
  get size(): number {
    return this.#plans.size
  }

  constructor(engine: Engine, limits: Limits = DEFAULT_LIMITS) {
    this.#engine = engine
    this.#limits = limits
  }

  /** `key` names what was asked where it did not come as text; equal keys must make equal statements. */
  plan(principal: Principal, snapshot: Snapshot, text: string, make?: Made): Planned {
    if (snapshot.version !== this.#version) {
      this.#plans.clear()
      this.#lately.clear()
      this.#version = snapshot.version
    }
    const lately = make === undefined ? this.#lately.get(text) : undefined
    if (lately !== undefined && lately.scopes === principal.scopes) return lately.planned
    const planned = this.#find(principal, snapshot, text, make)
    if (make === undefined && text.length <= LONGEST_KEPT) {
      if (this.#lately.size >= MOST_LATELY) this.#lately.clear()
      this.#lately.set(text, { scopes: principal.scopes, planned })
    }
    return planned
  }

  #find(principal: Principal, snapshot: Snapshot, text: string, make: Made | undefined): Planned {
    const key = `${rightsKey(principal)}\n${make?.key ?? ''}\n${text}`
    const known = this.#plans.get(key)
    if (known !== undefined) {
      this.#plans.delete(key)
      this.#plans.set(key, known)
      return known
    }
    const statement = make === undefined ? parse(text, this.#limits) : make.statement()
    const bound = bind(statement, text, viewFor(snapshot, principal.scopes))
    const planned = this.#emit(text, bound, snapshot, make?.keys?.(bound) ?? [])
    // A plan of a large statement would fill the memory of many small ones.
    if (key.length <= LONGEST_KEPT) this.#keep(key, planned)
    return planned
  }

  #keep(key: string, planned: Planned): void {
    this.#plans.set(key, planned)
    if (this.#plans.size <= CAPACITY) return
    const oldest = this.#plans.keys().next()
    if (!oldest.done) this.#plans.delete(oldest.value)
  }

  #emit(text: string, bound: Bound, snapshot: Snapshot, keyColumns: readonly KeyColumn[]): Planned {
    const { statement } = bound
    const described = keyColumns.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable }))
    const common = { text, bound, snapshot, keyColumns: described }
    switch (statement.kind) {
      case 'query':
        return {
          ...common,
          plan: this.#finish((emission) =>
            emitQuery(
              statement,
              emission,
              keyColumns.map(({ expression }) => expression),
            ),
          ),
          reach: reachOf(statement, ({ name }) => indexesOf(snapshot, name)),
        }
      case 'insert':
      case 'update':
      case 'delete':
        if (statement.table.isSystem) return { ...common, plan: undefined, reach: 'anything' }
        return {
          ...common,
          plan: this.#finish((emission) => emitWrite(statement, emission, snapshot)),
          reach: isShortWrite(statement) ? 'few rows' : 'anything',
        }
      default:
        return { ...common, plan: undefined, reach: 'anything' }
    }
  }

  /** A query that the service makes itself, on behalf of a statement that was bound. */
  emitQuery(query: Query): Plan {
    return this.#finish((emission) => emitQuery(query, emission))
  }

  /** An expression without columns, as a query of one row. */
  emitValue(expression: BoundExpression): Plan {
    return this.#finish((emission) => `SELECT ${emitExpression(expression, emission)} AS c0`)
  }

  #finish(emit: (emission: Emission) => string): Plan {
    const emission = new Emission(this.#engine.dialect)
    return this.#engine.finish(emission.slots, emit(emission))
  }
}

function indexesOf(snapshot: Snapshot, table: string): readonly (readonly string[])[] {
  return (snapshot.definitionOf(table)?.indexes ?? []).map(({ columns }) => columns.map(({ name }) => name))
}

function emitWrite(statement: Insert | Update | Delete, emission: Emission, snapshot: Snapshot): string {
  const defaultOf = snapshot.defaultOf.bind(snapshot)
  switch (statement.kind) {
    case 'insert':
      return emitInsert(statement, emission, defaultOf)
    case 'update':
      return emitUpdate(statement, emission, defaultOf)
    case 'delete':
      return emitDelete(statement, emission)
  }
}
