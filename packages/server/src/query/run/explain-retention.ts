/** EXPLAIN ALTER TABLE … SET WITH (retention = …): which rows it would delete. */
import { type ExplainRetention, writeTimestamp } from 'gatehouse-iql'
import { planChange } from '../catalogue/change.ts'
import { horizonAt, refuseAgainstRetention } from '../catalogue/retention.ts'
import { nextState } from '../engines/retention.ts'
import type { Cell } from '../model/result.ts'
import { cutOf, NO_VIEWS } from '../retention/views.ts'
import type { ExecutionEnv, RunningCall } from './call.ts'

const MOST_COUNTED = 1_000_000

export async function explainRetention(
  { change }: ExplainRetention,
  { planned }: RunningCall,
  { engine }: ExecutionEnv,
): Promise<Cell[]> {
  const { name } = change.table
  const from = planned.snapshot.findDefinition(name)
  const planning = planChange(change, planned.snapshot, 0n)
  if (planning?.kind !== 'alter') throw new Error(`${name} is not altered`)
  refuseAgainstRetention(planning, from)
  const { table } = planning
  const rows = engine.retention
  const views = NO_VIEWS(name)
  const [now, state] = [await rows.now(), await rows.find(name)]
  const stored = state && {
    timeColumn: from?.retention?.on ?? null,
    horizon: state.horizon ?? null,
    settling: state.settling ?? null,
    cut: state.cut ?? null,
  }
  const next = nextState(table, stored, now)
  const horizon = next?.horizon ?? undefined
  const isDeleted = horizon !== undefined && !table.isHeld && horizonAt(now, table) !== undefined
  const cut = isDeleted ? cutOf(horizon, views) : (next?.cut ?? undefined)
  const oldest = table.retention === undefined ? undefined : await rows.oldest(table)
  return [
    toText(horizon),
    toText(cut),
    BigInt(isDeleted ? await rows.countBefore(table, cut ?? horizon, MOST_COUNTED) : 0),
    toText(oldest),
    JSON.stringify(views.bucketed.map((view) => view.name)),
    JSON.stringify(views.others),
  ]
}

function toText(micros: bigint | undefined): Cell {
  return micros === undefined ? null : writeTimestamp(micros)
}
