/** From a bound statement to the SQL of the engine. */

import type { Bound, BoundExpression, BoundQuery, Delete, Insert, TableView, Update, Weighed } from 'gatehouse-iql'
import { atOnce, type Steps } from '../../lib/turns.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { EmittedColumnPlan, NotPlanned } from '../engines/emit/column-plan.ts'
import { type BulkEmission, type Emission, emitExpression } from '../engines/emit/emission.ts'
import { returningGiven } from '../engines/emit/given-row.ts'
import type { EmittedSql, PartsPlan, PlannedColumns } from '../engines/emit/parameters.ts'
import { emitPartGroups } from '../engines/emit/part-groups.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import { emitDelete, emitInsert, emitUpdate } from '../engines/emit/write.ts'
import type { Engine, PreparedRead } from '../engines/engine.ts'
import type { CostClass } from '../model/cost-class.ts'
import type { AutoParameter } from './auto-parameters.ts'
import { estimateCost, isBoundedWrite } from './cost.ts'

/** A query that may read column segments, by parts and as a whole. */
export interface ColumnsPlan {
  readonly usual: EmittedSql
  readonly parts: PartsPlan
}

export interface KeyColumn {
  readonly name: string
  readonly expression: BoundExpression
}

export interface Emitted {
  /** Undefined for statements that no engine runs as they are: definitions, EXPLAIN, SHOW, writes to system tables. */
  readonly emitted: EmittedSql | undefined
  readonly cost: CostClass
  /** Set for queries. */
  readonly read: PreparedRead | undefined
}

interface Unemitted {
  readonly bound: Bound
  readonly snapshot: CatalogueSnapshot
  readonly autoParameters: readonly AutoParameter[]
}

const UNEMITTED: Emitted = { emitted: undefined, cost: 'unbounded', read: undefined }

export class Emitter {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  *emit(
    { bound: { statement, columns }, snapshot, autoParameters }: Unemitted,
    keyColumns: readonly KeyColumn[],
    bulk: BulkEmission | undefined,
  ): Steps<Emitted> {
    switch (statement.kind) {
      case 'query': {
        const keys = keyColumns.map(({ expression }) => expression)
        const whole = yield* this.#finish((emission) => emitQuery(statement, emission, keys), {
          snapshot,
          autoParameters,
          statement,
        })
        yield
        const parts = keys.length === 0 ? this.#planParts(statement, autoParameters) : undefined
        const emitted = parts === undefined || 'why' in parts ? whole : { ...whole, parts }
        const cost = estimateCost(
          statement,
          (table) => snapshot.findIndexes(table),
          (table) => snapshot.findAscendingIndexes(table),
        )
        yield
        const read = this.#engine.prepareRead({
          sql: emitted.sql,
          columns,
          keyColumns: keyColumns.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable })),
          cost,
        })
        return { emitted, cost, read }
      }
      case 'insert':
      case 'update':
      case 'delete': {
        if (statement.table.isSystem) return UNEMITTED
        const isBounded = isBoundedWrite(statement)
        const finish = (write: Insert | Update | Delete): Steps<EmittedSql> =>
          this.#finish((emission) => emitWrite(write, emission, snapshot, isBounded), {
            snapshot,
            autoParameters,
            statement: write,
            bulk,
          })
        const unread =
          statement.kind === 'insert' && bulk === undefined
            ? returningGiven(statement, this.#engine.dialect, (insert) => atOnce(finish(insert)))
            : undefined
        const emitted = unread ?? (yield* finish(statement))
        return { emitted, cost: isBounded ? 'bounded' : 'unbounded', read: undefined }
      }
      default:
        return UNEMITTED
    }
  }

  /** A query that the service itself runs on behalf of a statement. */
  emitQuery(query: BoundQuery): EmittedSql {
    return atOnce(this.#finish((emission) => emitQuery(query, emission)))
  }

  /** An expression without columns, as a query with one row. */
  emitValue(expression: BoundExpression): EmittedSql {
    return atOnce(this.#finish((emission) => `SELECT ${emitExpression(expression, emission)} AS c0`))
  }

  /** A query as it reads column segments, or why it does not. */
  planColumns(query: BoundQuery, parameters: readonly AutoParameter[]): ColumnsPlan | NotPlanned {
    const parts = this.#planParts(query, parameters)
    if ('why' in parts) return parts
    if ('why' in parts.columns) return parts.columns
    return { usual: this.emitQuery(query), parts }
  }

  #planParts(query: BoundQuery, parameters: readonly AutoParameter[]): PartsPlan | NotPlanned {
    const emission = createEmission(this.#engine.dialect, { autoParameters: parameterSlots(parameters) })
    const parts = emitPartGroups(query, emission)
    if ('why' in parts) return parts
    const finish = (text: string): EmittedSql => this.#engine.finish(emission.placeholders, text)
    const { part, whole, found, columns, ...table } = parts
    const statements = { part: finish(part), whole: finish(whole), found: finish(found) }
    return { ...table, ...statements, columns: 'why' in columns ? columns : finishColumns(columns, finish) }
  }

  *#finish(emit: (emission: Emission) => string, of?: Finished): Steps<EmittedSql> {
    const autoParameters = parameterSlots(of?.autoParameters ?? [])
    const findIndexes = (table: TableView) => of?.snapshot.findIndexes(table) ?? []
    const emission = createEmission(this.#engine.dialect, {
      autoParameters,
      findIndexes,
      statement: of?.statement,
      bulk: of?.bulk,
    })
    const sql = emit(emission)
    yield
    return this.#engine.finish(emission.placeholders, sql)
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
function parameterSlots(parameters: readonly AutoParameter[]): Emission['autoParameters'] {
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

function finishColumns(
  { expressions, joinedRows, ownRows, ...plan }: EmittedColumnPlan,
  finish: (text: string) => EmittedSql,
): PlannedColumns {
  return {
    plan,
    expressions: expressions.map(finish),
    joinedRows: joinedRows === undefined ? undefined : finish(joinedRows),
    ownRows: ownRows && { ...ownRows, rows: finish(ownRows.rows) },
  }
}
