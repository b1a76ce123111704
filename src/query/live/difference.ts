/** The difference between two states of a live result, by key. */
import { createHash } from 'node:crypto'
import type { LiveRow } from '../engines/live-source.ts'
import { movedKeys } from './ordered-difference.ts'
import { ROWS_PER_STEP, type SlicedWork } from './slices.ts'

export interface LiveState {
  /** The JSON texts of the rows by the JSON texts of their keys. */
  readonly rows: Map<string, string>
  /** The keys in the order of the statement; undefined if it has no ORDER BY. */
  readonly order: readonly string[] | undefined
}

/** The keys that differ, each with the row that was held before; undefined: none was. */
export type Changes = Map<string, string | undefined>

/** `held` is the state before: its texts are kept where they are the same. */
export function* stateOf(
  read: readonly LiveRow[],
  options: { readonly hasKeys: boolean; readonly isOrdered: boolean },
  held?: LiveState,
): SlicedWork<LiveState> {
  const keyOf = options.hasKeys ? ({ key }: LiveRow): string => key : wholeRowKeys()
  const rows = new Map<string, string>()
  const order: string[] | undefined = options.isOrdered ? [] : undefined
  for (const [index, row] of read.entries()) {
    if (index % ROWS_PER_STEP === 0) yield
    const key = ownText(keyOf(row))
    const before = held?.rows.get(key)
    rows.set(key, before === row.row ? before : ownText(row.row))
    order?.push(key)
  }
  return { rows, order }
}

/** V8 copies shorter ones anyway. */
const MIN_SLICE = 13

/** The text by itself: a part of a longer text keeps all of it in memory, and rows are kept much longer than replies. */
export function ownText(text: string): string {
  return text.length < MIN_SLICE ? text : Buffer.from(text).toString()
}

/** Keys for rows without one: made from their values, and a number that tells equal rows apart. */
function wholeRowKeys(): (row: LiveRow) => string {
  const occurrences = new Map<string, number>()
  return ({ row }) => {
    const hash = createHash('sha256').update(row).digest('base64url').slice(0, 22)
    const occurrence = (occurrences.get(hash) ?? 0) + 1
    occurrences.set(hash, occurrence)
    return `"${hash}.${occurrence}"`
  }
}

/** What has to be put or removed to get from one state to the other. In an ordered result, moved rows are put too. */
export function* difference(held: LiveState, next: LiveState): SlicedWork<Changes> {
  const changes: Changes = new Map()
  let count = 0
  for (const [key, row] of next.rows) {
    if (count++ % ROWS_PER_STEP === 0) yield
    const before = held.rows.get(key)
    if (before !== row) changes.set(key, before)
  }
  for (const [key, row] of held.rows) {
    if (count++ % ROWS_PER_STEP === 0) yield
    if (!next.rows.has(key)) changes.set(key, row)
  }
  if (held.order === undefined || next.order === undefined) return changes
  for (const key of yield* movedKeys(held.order, next.order, changes)) changes.set(key, held.rows.get(key))
  return changes
}

/** Joins consecutive changes: the first that names a key knows what was held before all of them. */
export function mergeChanges(batches: Iterable<ReadonlyMap<string, string | undefined>>): Changes {
  const merged: Changes = new Map()
  for (const batch of batches) for (const [key, before] of batch) if (!merged.has(key)) merged.set(key, before)
  return merged
}
