/** The difference between two states of a live result, by key. */

import { createHash } from 'node:crypto'
import { textBytes } from '../../../lib/text-memory.ts'
import type { Steps } from '../../../lib/turns.ts'
import type { LiveRow } from '../../model/live-statement.ts'
import { movedKeys } from './ordered-difference.ts'
import { isStep, ROWS_PER_STEP } from './row-steps.ts'

export interface LiveState {
  /** The JSON texts of the rows by the JSON texts of their keys. */
  readonly rows: Map<string, string>
  /** The keys in the order of the statement; undefined if it has no ORDER BY. */
  readonly order: readonly string[] | undefined
  /** The approximate memory of the rows. */
  readonly bytes: number
}

/** The approximate memory of a row in addition to its texts. */
const ROW_BYTES = 120

export function sizeOfRow(key: string, row: string | undefined): number {
  return row === undefined ? 0 : ROW_BYTES + textBytes(key) + textBytes(row)
}

/** The keys that differ, each with the row that was held before; undefined: none was. */
export class Changes extends Map<string, string | undefined> {
  #bytes = 0

  /** The approximate memory of the keys and rows. */
  get bytes(): number {
    return this.#bytes
  }

  /** Each key may be added only once. */
  add(key: string, before: string | undefined): void {
    this.set(key, before)
    this.#bytes += KEY_BYTES + textBytes(key) + textBytes(before ?? '')
  }
}

export type ChangedRows = ReadonlyMap<string, string | undefined>

/** The approximate memory of a key in addition to its texts. */
const KEY_BYTES = 60

/** `held` is the state before: its texts are kept where they are the same. */
export function* toState(
  read: readonly LiveRow[],
  options: { readonly hasKeys: boolean; readonly isOrdered: boolean },
  held?: LiveState,
): Steps<LiveState> {
  const rowKey = options.hasKeys ? ({ key }: LiveRow): string => key : wholeRowKeys()
  const rows = new Map<string, string>()
  const order: string[] | undefined = options.isOrdered ? [] : undefined
  let bytes = 0
  for (const [index, row] of read.entries()) {
    if (isStep(index, row.row)) yield
    const key = ownText(rowKey(row))
    const before = held?.rows.get(key)
    const text = before === row.row ? before : ownText(row.row)
    rows.set(key, text)
    order?.push(key)
    bytes += sizeOfRow(key, text)
  }
  return { rows, order, bytes }
}

/** V8 copies shorter ones anyway. */
const MIN_SLICE = 13

/** A copy of the text: a substring would keep the whole reply in memory, and rows are kept much longer than replies. */
export function ownText(text: string): string {
  return text.length < MIN_SLICE ? text : Buffer.from(text).toString()
}

/** Keys for rows without one: their values, and a number that distinguishes equal rows. */
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
export function* difference(held: LiveState, next: LiveState): Steps<Changes> {
  const changes = new Changes()
  let count = 0
  for (const [key, row] of next.rows) {
    if (isStep(count++, row)) yield
    const before = held.rows.get(key)
    if (before !== row) changes.add(key, before)
  }
  for (const [key, row] of held.rows) {
    if (isStep(count++, row)) yield
    if (!next.rows.has(key)) changes.add(key, row)
  }
  if (held.order === undefined || next.order === undefined) return changes
  for (const key of yield* movedKeys(held.order, next.order, changes)) {
    const row = held.rows.get(key)
    if (isStep(count++, row)) yield
    changes.add(key, row)
  }
  return changes
}

/** The next state of a result without order, as another map, and what has changed. Undefined: the row is removed. */
export function* withRows(
  { rows: held, bytes: heldBytes }: LiveState,
  updates: ReadonlyMap<string, string | undefined>,
): Steps<{ readonly next: LiveState; readonly changes: Changes }> {
  const rows = new Map<string, string>()
  let count = 0
  for (const [key, row] of held) {
    if (count++ % ROWS_PER_STEP === 0) yield
    rows.set(key, row)
  }
  const changes = new Changes()
  let bytes = heldBytes
  for (const [key, row] of updates) {
    if (isStep(count++, row) || isStep(count, rows.get(key))) yield
    bytes += updateRow(rows, key, row, changes)
  }
  return { next: { rows, order: undefined, bytes }, changes }
}

/** Returns by how much the memory grows. */
export function updateRow(rows: Map<string, string>, key: string, row: string | undefined, changes: Changes): number {
  const before = rows.get(key)
  if (before === row) return 0
  changes.add(key, before)
  if (row === undefined) rows.delete(key)
  else rows.set(key, row)
  return sizeOfRow(key, row) - sizeOfRow(key, before)
}

/** Merges consecutive changes: the first one with a key has the row from before all of them. */
export function* mergeChanges(batches: readonly ChangedRows[]): Steps<ChangedRows> {
  const [first, ...others] = batches
  if (first !== undefined && others.length === 0) return first
  const merged = new Map<string, string | undefined>()
  let count = 0
  for (const batch of batches) {
    for (const [key, before] of batch) {
      if (count++ % ROWS_PER_STEP === 0) yield
      if (!merged.has(key)) merged.set(key, before)
    }
  }
  return merged
}
