/** What EXPLAIN says about column segments: how many a query would read, or why it reads rows. */
import type { BoundQuery, Delete, Insert, Update } from 'gatehouse-iql'
import type { ColumnsExplained } from '../engines/column-tables.ts'
import { bindParts, bindStatement, callOwner, type ExecutionEnv, type RunningCall, runValues } from './call.ts'

/** Nothing where no table has columns. */
export async function explainColumns(
  statement: BoundQuery | Insert | Update | Delete,
  run: RunningCall,
  env: ExecutionEnv,
): Promise<readonly string[]> {
  const { bound, snapshot, autoParameters } = run.planned
  const { columns } = env.engine
  const table = bound.tables.find(({ name }) => snapshot.findDefinition(name)?.isColumnar)
  if (statement.kind !== 'query' || table === undefined || columns === undefined) return []
  if (!columns.isOn) return [notRead('the setting query_columns is false')]
  const planned = env.planner.emitter.planColumns(statement, autoParameters)
  if ('why' in planned) return [notRead(planned.why)]
  const values = runValues(run, run.valueSets[0] ?? [], env)
  const read = {
    owner: callOwner(run.principal),
    ...bindStatement(planned.usual, values, env),
    parts: bindParts(planned.parts, (emitted) => bindStatement(emitted, values, env)),
    // How many are skipped would say what values hidden rows have.
    isAllSeen: bound.tables.every(({ rowFilter }) => rowFilter === undefined),
  }
  const explained = await columns.explain(read, run.running.signal)
  return ['why' in explained ? notRead(explained.why) : describe(explained)]
}

function notRead(why: string): string {
  return `columns: not read (${why})`
}

function describe({ read, fromRows, skipped }: Exclude<ColumnsExplained, { readonly why: string }>): string {
  const ends = skipped === undefined ? '' : `, ${skipped} skipped`
  return `columns: ${read} segment${read === 1 ? '' : 's'}, ${fromRows} from rows${ends}`
}
