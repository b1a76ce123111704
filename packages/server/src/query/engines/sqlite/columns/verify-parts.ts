/** Whether the executor computes of a segment what SQLite computes of its rows: counts, extremes and sums of every column, and groups by texts. */
import type { Database } from 'better-sqlite3'
import { ColumnExecutor } from '../../../columns/executor.ts'
import type { ColumnPlan, ColumnState } from '../../../columns/plan.ts'
import type { RawValue, Segment, StoredColumn } from '../../../columns/segment.ts'
import { HeldBytes, MAX_HELD_BYTES } from '../../../columns/states/state.ts'
import type { Sql } from '../../emit/dialect.ts'
import { SQLITE } from '../dialect/dialect.ts'
import type { SegmentRows } from './build-segment.ts'

export function agreesWithRows(database: Database, segment: Segment, rows: SegmentRows): boolean {
  return segment.header.columns.every((column) =>
    comparisons(column).every((one) => agrees(database, segment, rows, one)),
  )
}

/** A part of a statement over one column, for both. */
interface Comparison {
  readonly column: string
  readonly isKey: boolean
  readonly states: readonly ColumnState['kind'][]
  readonly sql: readonly Sql[]
}

function comparisons(stored: StoredColumn): Comparison[] {
  const { name: column, kind } = stored
  const x = SQLITE.identifier(column)
  const extremes = {
    column,
    isKey: false,
    states: ['count', 'min', 'max'],
    sql: [`count(${x})`, `min(${x})`, `max(${x})`],
  } as const
  if (kind === 'texts') return [extremes, { column, isKey: true, states: ['rows'], sql: [x, 'count(*)'] }]
  const isDouble = kind === 'doubles' || stored.isDouble
  // In halves: the sum of a few thousand times is beyond 64 bits.
  const sum = isDouble
    ? ({ states: ['double-sum'], sql: [`gh_fsum_part(${x})`] } as const)
    : ({ states: ['sum'], sql: [`sum(${x} >> 32)`, `sum(${x} & 0xffffffff)`] } as const)
  return [extremes, { column, isKey: false, ...sum }]
}

function agrees(
  database: Database,
  segment: Segment,
  { table, rowId, first, last }: SegmentRows,
  { column, isKey, states, sql }: Comparison,
): boolean {
  const plan: ColumnPlan = {
    columns: [column],
    filters: [],
    keys: isKey ? [{ kind: 'column', column: 0 }] : [],
    states: states.map((kind) => ({ kind, column: 0, filters: [] }) as ColumnState),
    parts: states.map((_kind, state) => ({ state, value: 0 })),
  }
  const executor = new ColumnExecutor(plan, () => null, new HeldBytes(MAX_HELD_BYTES))
  // It leaves what it cannot compute exactly to the statement.
  if (segment.header.rows === 0 || !executor.add(segment)) return true
  const computed = [...executor.rows()]
  const from = `FROM main.${SQLITE.identifier(table)} WHERE ${rowId} BETWEEN ? AND ?${isKey ? ' GROUP BY 1' : ''}`
  const selected = database
    .prepare<[bigint, bigint], RawValue[]>(`SELECT ${sql.join(', ')} ${from}`)
    .raw(true)
    .safeIntegers(true)
    .all(first, last)
  if (isKey) return sameGroups(computed, selected)
  if (states[0] === 'sum') return addParts(computed) === joinHalves(selected[0] ?? [])
  if (states[0] !== 'double-sum') return sameRow(computed[0] ?? [], selected[0] ?? [])
  // The same sum can be written with another number of zeros.
  const finish = database.prepare<RawValue[], RawValue>('SELECT gh_fsum_parts(?)').pluck(true).safeIntegers(true)
  const [one, other] = [computed, selected].map((rows) => finish.get(rows[0]?.[0] ?? null) ?? null)
  return sameRow([one ?? null], [other ?? null])
}

/** What exceeds 64 bits comes in further rows. */
function addParts(rows: readonly RawValue[][]): bigint | null {
  const parts = rows.flatMap(([value]) => (typeof value === 'bigint' ? [value] : []))
  return parts.length === 0 ? null : parts.reduce((sum, part) => sum + part)
}

function joinHalves([high, low]: readonly RawValue[]): bigint | null {
  return typeof high === 'bigint' && typeof low === 'bigint' ? (high << 32n) + low : null
}

function sameGroups(computed: readonly RawValue[][], selected: readonly RawValue[][]): boolean {
  const counts = new Map(computed.map(([key, count]) => [key, count]))
  return counts.size === selected.length && selected.every(([key = null, count]) => counts.get(key) === count)
}

/** A Double that is whole can come from SQLite as an integer. */
function sameRow(computed: readonly RawValue[], selected: readonly RawValue[]): boolean {
  const same = (one: RawValue, other: RawValue) =>
    one === other || (typeof one !== typeof other && Number(one) === Number(other) && one !== null && other !== null)
  return computed.length === selected.length && computed.every((value, index) => same(value, selected[index] ?? null))
}
