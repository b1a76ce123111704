/** EXPLAIN ALTER TABLE … SET WITH (retention = …): which rows it would delete. */
import { type ExplainRetention, writeTimestamp } from 'gatehouse-iql'
import { planChange } from '../catalogue/change.ts'
import { refuseAgainstRetention } from '../catalogue/retention.ts'
import type { Cell } from '../model/result.ts'
import { previewRetention } from '../retention/preview.ts'
import type { ExecutionEnv, RunningCall } from './call.ts'

export async function explainRetention(
  { change }: ExplainRetention,
  { planned }: RunningCall,
  { engine, kept }: ExecutionEnv,
): Promise<Cell[]> {
  const { name } = change.table
  const planning = planChange(change, planned.snapshot, 0n)
  if (planning?.kind !== 'alter') throw new Error(`${name} is not altered`)
  refuseAgainstRetention(planning, planned.snapshot.findDefinition(name))
  const { horizon, cut, rows, oldest, views } = await previewRetention(planning.table, engine.retention, kept.findViews)
  const names = [views.bucketed.map((view) => view.name), views.others]
  return [toText(horizon), toText(cut), BigInt(rows), toText(oldest), ...names.map((list) => JSON.stringify(list))]
}

function toText(micros: bigint | undefined): Cell {
  return micros === undefined ? null : writeTimestamp(micros)
}
