/** Whether a statement can be live, by which method, and what identifies its rows. */
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import type { Plan } from '../engines/emit/slots.ts'
import type { Engine } from '../engines/engine.ts'
import type { LiveStatement } from '../engines/live-statement.ts'
import type { BoundExpression, Query, Select, TableSource } from '../iql/bound-query.ts'
import type { TableView } from '../iql/catalogue-view.ts'
import { costOf, isSimple } from './cost.ts'
import { createFamily, type LiveFamily, routeColumns, routingOf } from './live-family.ts'
import { type LiveKey, liveKey } from './live-key.ts'
import { type LiveMethod, methodOf } from './live-method.ts'
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
  /** The whole result: `statement.sql` and its parameters. */
  readonly plan: Plan
  /** Set for the method `keys` only. */
  readonly family: LiveFamily | undefined
}

type LiveInput = Pick<Planned, 'text' | 'snapshot' | 'bound'>
type LiveEngine = Pick<Engine, 'dialect' | 'finish'>

/** Refuses a statement that cannot be live. The message says which part is in the way, and the hint what to do. */
export function planLive({ text, snapshot, bound }: LiveInput, engine: LiveEngine): LivePlan {
  const query = checkLive(bound, text)
  const key = liveKey(query)
  const { method, reason, table } = methodOf(query)
  const ordered = withTieBreak(query, key)
  const plan = emit(ordered, key?.expressions ?? [], engine)
  const changes = table === undefined || key === undefined ? undefined : changesOf(query, table, key, engine)
  return {
    method,
    keyNames: key?.columns.map(({ name }) => name) ?? null,
    reason,
    isOrdered: query.orderBy.length > 0,
    statement: {
      sql: plan.sql,
      restrictedSql: changes?.family.plan.sql,
      cost: costOf(query, (view) => snapshot.indexesOf(view)),
      isSimple: changes?.isSimple ?? false,
      columns: bound.columns,
      keyColumns: key?.columns,
      routeColumns: changes?.routeColumns ?? [],
    },
    tables: bound.tables,
    plan,
    family: changes?.family,
  }
}

/** Rows that tie are ordered by their keys: the order of one run would be that of the next only by chance. */
function withTieBreak(query: Query, key: LiveKey | undefined): Query {
  const last = query.orderBy.at(-1)
  if (last === undefined || key === undefined) return query
  // In the direction of the last column, so that one index can give the whole order.
  const ties = key.expressions.map((expression) => ({ ...last, expression }))
  return { ...query, orderBy: [...query.orderBy, ...ties] }
}

function emit(query: Query, further: readonly BoundExpression[], { dialect, finish }: LiveEngine): Plan {
  const emission = createEmission(dialect)
  return finish(emission.slots, emitQuery(query, emission, further))
}

/** The statement over the rows with changed keys. */
function changesOf(query: Query, { select, source }: OneTable, key: LiveKey, engine: LiveEngine) {
  const { terms, where } = routingOf(select, source)
  const changed: TableSource = { ...source, changedOnly: true }
  const restricted: Query = { ...query, body: { ...select, from: changed, where } }
  const plan = emit(restricted, [...key.expressions, ...terms.map(({ column }) => column)], engine)
  const evaluated = [...select.outputs.map(({ expression }) => expression), where, source.filter]
  return {
    family: createFamily(source.table.name, plan, terms),
    routeColumns: routeColumns(terms),
    isSimple: evaluated.every((expression) => expression === undefined || isSimple(expression)),
  }
}

/** A select from one table. */
interface OneTable {
  readonly select: Select
  readonly source: TableSource
}
