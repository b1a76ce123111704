/** Whether a statement can be live, by which method, and what identifies its rows. */

import {
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  storedName,
  type TableSource,
  type TableView,
} from 'gatehouse-iql'
import { once } from '../../lib/once.ts'
import type { EmittedSql } from '../engines/emit/parameters.ts'
import { createEmission, type EmissionOptions, emitQuery } from '../engines/emit/query.ts'
import type { Engine } from '../engines/engine.ts'
import type { LiveStatement } from '../model/live-statement.ts'
import { estimateCost, isSimple } from './cost.ts'
import { createFamily, findRouting, type LiveFamily, type PositionedSql, routeColumns } from './live-family.ts'
import { type LiveKey, liveKey } from './live-key.ts'
import { chooseMethod, type LiveMethod } from './live-method.ts'
import { checkLive } from './live-refusal.ts'
import type { Planned } from './planner.ts'

export interface LivePlan {
  readonly method: LiveMethod
  /** The names of the key columns: [] for a result of one row, null if rows have no key of their own. */
  readonly keyNames: readonly string[] | null
  /** Why this method: a sentence for EXPLAIN LIVE. */
  readonly reason: string
  readonly isOrdered: boolean
  readonly statement: LiveStatement
  /** The tables that it reads, without duplicates. */
  readonly tables: readonly TableView[]
  /** The views that it reads. */
  readonly views: readonly TableView[]
  /** The whole result: `statement.sql` and its parameters. */
  readonly emitted: EmittedSql
  /** The whole result as it was at positions of its tables; undefined if not all of these have a log of their rows. */
  former(): PositionedSql | undefined
  /** Set for the method `keys` only. */
  readonly family: LiveFamily | undefined
}

type LiveInput = Pick<Planned, 'text' | 'snapshot' | 'bound'>
type LiveEngine = Pick<Engine, 'dialect' | 'finish'>

/** Refuses a statement that cannot be live. The message says which part is in the way, and the hint what to do. */
export function planLive({ text, snapshot, bound }: LiveInput, engine: LiveEngine): LivePlan {
  const query = checkLive(bound, text)
  const key = liveKey(query)
  const { method, reason, table } = chooseMethod(query)
  const ordered = withTieBreak(query, key)
  const further = key?.expressions ?? []
  const emitted = emit(ordered, further, engine, { findIndexes: (view) => snapshot.findIndexes(view) })
  const family = table === undefined || key === undefined ? undefined : planFamily(query, table, key, engine)
  const statement: LiveStatement = {
    sql: emitted.sql,
    cost: estimateCost(
      query,
      (view) => snapshot.findIndexes(view),
      (view) => snapshot.findAscendingIndexes(view),
    ),
    isSimple: false,
    columns: bound.columns,
    keyColumns: key?.columns,
    routeColumns: [],
  }
  const hasFormer = bound.tables.every(
    ({ isSystem, isLive, primaryKey }) => !isSystem && isLive && primaryKey.length > 0,
  )
  return {
    method,
    keyNames: key?.columns.map(({ name }) => name) ?? null,
    reason,
    isOrdered: query.orderBy.length > 0,
    statement,
    tables: bound.tables,
    views: bound.views,
    emitted,
    former: once(() => {
      if (!hasFormer) return undefined
      const former = emit(ordered, further, engine, { isFormer: true })
      return { emitted: former, statement: { ...statement, sql: former.sql, cost: 'unbounded' } }
    }),
    family,
  }
}

/** Ties are ordered by key; otherwise their order could change from run to run. */
function withTieBreak(query: BoundQuery, key: LiveKey | undefined): BoundQuery {
  const last = query.orderBy.at(-1)
  if (last === undefined || key === undefined) return query
  // In the direction of the last column, so that one index can give the whole order.
  const ties = key.expressions.map((expression) => ({ ...last, expression }))
  return { ...query, orderBy: [...query.orderBy, ...ties] }
}

function emit(
  query: BoundQuery,
  further: readonly BoundExpression[],
  { dialect, finish }: LiveEngine,
  options: EmissionOptions = {},
): EmittedSql {
  const emission = createEmission(dialect, { ...options, statement: query })
  return finish(emission.placeholders, emitQuery(query, emission, further))
}

/** The statement over the rows with changed keys. */
function planFamily(query: BoundQuery, { select, source }: OneTable, key: LiveKey, engine: LiveEngine): LiveFamily {
  const { terms, where, filter } = findRouting(select, source)
  const further = [...key.expressions, ...terms.map(({ column }) => column)]
  const emitPart = (
    changedOnly: NonNullable<TableSource['changedOnly']>,
    outputs: BoundSelect['outputs'],
  ): PositionedSql => {
    const body = { ...select, outputs, from: { ...source, filter, changedOnly }, where }
    const emitted = emit({ ...query, body }, further, engine)
    const evaluated = [...outputs.map(({ expression }) => expression), where, filter]
    const statement: LiveStatement = {
      sql: emitted.sql,
      cost: 'unbounded',
      isSimple: evaluated.every((expression) => expression === undefined || isSimple(expression)),
      columns: outputs.length === 0 ? [] : query.columns,
      keyColumns: key.columns,
      routeColumns: routeColumns(terms),
    }
    return { emitted, statement }
  }
  const changed = emitPart('as they are', select.outputs)
  // Whether a row belonged to a result is enough.
  const former = once(() => emitPart('as they were', []))
  return createFamily({ table: storedName(source.table), terms, changed, former })
}

/** A select from one table. */
interface OneTable {
  readonly select: BoundSelect
  readonly source: TableSource
}
