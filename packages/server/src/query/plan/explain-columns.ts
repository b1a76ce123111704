/** What EXPLAIN says about column segments: how many a query would read, or why it reads rows. */
import type { BoundQuery, Delete, Insert, Update } from 'gatehouse-iql'
import { emitPartGroups } from '../engines/emit/part-groups.ts'
import { createEmission } from '../engines/emit/query.ts'
import type { Engine } from '../engines/engine.ts'
import type { Planned } from './planner.ts'

/** Nothing where no table has columns. */
export function explainColumns(
  statement: BoundQuery | Insert | Update | Delete,
  { bound, snapshot }: Pick<Planned, 'bound' | 'snapshot'>,
  { columns, dialect }: Pick<Engine, 'columns' | 'dialect'>,
): readonly string[] {
  const table = bound.tables.find(({ name }) => snapshot.findDefinition(name)?.isColumnar)
  if (statement.kind !== 'query' || table === undefined || columns === undefined) return []
  if (!columns.isOn) return ['columns: not read (the setting query_columns is false)']
  const parts = emitPartGroups(statement, createEmission(dialect))
  if (parts === undefined)
    return ['columns: not read (only a grouping of one table, or of an ASOF JOIN of two, can read them)']
  if (parts.columns === undefined)
    return ['columns: not read (a condition, a key or an aggregate can only be computed from rows)']
  const { ready, others } = columns.count(parts.name)
  return [`columns: ${ready} segment${ready === 1 ? '' : 's'}, ${others} from rows`]
}
