/** What a retention would delete, before it is set. Nothing changes. */
import type { TableDefinition } from '../catalogue/definition.ts'
import { horizonAt } from '../catalogue/retention.ts'
import { nextState } from '../engines/retention.ts'
import type { RetentionRows } from '../engines/retention-rows.ts'
import { computeCut, type FindViews, type ViewsOfTable } from './views.ts'

export interface RetentionPreview {
  readonly horizon: bigint | undefined
  readonly cut: bigint | undefined
  /** That would be deleted, counted up to MOST_COUNTED. */
  readonly rows: number
  readonly oldest: bigint | undefined
  readonly views: ViewsOfTable
}

export const MOST_COUNTED = 1_000_000

/** `table` is as it would be. */
export async function previewRetention(
  table: TableDefinition,
  rows: RetentionRows,
  findViews: FindViews,
): Promise<RetentionPreview> {
  const views = await findViews(table)
  const [now, state] = [await rows.now(), await rows.find(table.name)]
  const stored = state && {
    time: state.time ?? null,
    timeColumn: state.timeColumn ?? null,
    horizon: state.horizon ?? null,
    settling: state.settling ?? null,
    cut: state.cut ?? null,
  }
  const next = nextState(table, stored, now)
  const horizon = next?.horizon ?? undefined
  const isDeleted = horizon !== undefined && !table.isHeld && horizonAt(now, table) !== undefined
  const cut = isDeleted ? await computeCut(horizon, views) : (next?.cut ?? undefined)
  return {
    horizon,
    cut,
    rows: isDeleted ? await rows.countBefore(table, cut ?? horizon, MOST_COUNTED) : 0,
    oldest: table.retention === undefined ? undefined : await rows.oldest(table),
    views,
  }
}
