/** The interface between live queries and the databases: which tables have changed since a position, and reads at a position. */

import type { LiveRow, LiveStatement } from '../model/live-statement.ts'
import type { Encoding } from '../model/result.ts'
import type { CommitListener } from './commit-listeners.ts'
import type { Bindable } from './emit/parameters.ts'
import type { OwnTime } from './slots/expectations.ts'

/** A state of one table: visible ASCII without a semicolon, opaque outside of the engine. */
export type TablePosition = string

/** By the name of the table, as in the catalogue. */
export type Positions = ReadonlyMap<string, TablePosition>

export interface LiveReadRequest {
  /** The owner of the query: owners share readers and connections fairly. */
  readonly owner: string
  /** The tables whose positions are wanted: all that the statement reads. */
  readonly tables: readonly string[]
  readonly statement: LiveStatement
  /** With the positions of `since` in the placeholders of this name. */
  readonly parameters: readonly Bindable[]
  readonly encoding: Pick<Encoding, 'rows' | 'integers'>
  /** Undefined: the whole result, as it is. */
  readonly since?: Since | undefined
  readonly maxRows: number
  readonly maxBytes: number
  /** Set: runs when no query waits for a reader or a connection. Undefined: runs like any query. */
  readonly background?: Background | undefined
}

/** The reads of a statement that resumes from positions. */
export type Since =
  /** The rows of one table whose keys have changed, as they are or as they were; the keys are returned too. */
  | { readonly of: 'changed rows'; readonly table: string; readonly position: TablePosition }
  /** The whole result, as it was when its tables were at these positions. */
  | { readonly of: 'former result'; readonly positions: Positions }

export interface Background {
  /** Called when it no longer waits, neither for its turn nor for a process to start. */
  onStart(ownTime?: OwnTime): void
}

export interface LiveReply {
  /** The positions of the snapshot in which the rows were read. */
  readonly positions: Positions
  readonly rows: readonly LiveRow[]
  /** Set for changed rows: every key that has changed, by its JSON text. Rows with other keys are not returned. */
  readonly changed: ReadonlyMap<string, ChangedKey> | undefined
  /** Rows are missing, because there are more than the request allows. */
  readonly exceeded: 'no' | 'rows' | 'bytes'
}

export interface ChangedKey {
  /** The row did not exist at the position. Also false if this is not known. */
  readonly wasInserted: boolean
  /** The row as it was at the position is in the log. */
  readonly isFormerKept: boolean
}

/**
 * `lost`: the changes are not known, and the position can no longer be used. `undone`: so too, because the database has lost changes that
 * were seen at the position.
 */
export type TableChange = 'changed' | 'lost' | 'undone'

export interface LiveSource {
  /**
   * Calls the listener soon after commits: of this node, of other nodes, of other programs. Several commits may be one
   * call, and a call does not mean that anything has changed. Returns the function that removes the listener.
   */
  onCommit(listener: CommitListener): () => void
  /** The tables that have changed. */
  changedSince(positions: Positions): Promise<ReadonlyMap<string, TableChange>>
  /** Negative if `a` is older; undefined if positions of different epochs cannot be compared. */
  compare(a: TablePosition, b: TablePosition): number | undefined
  /** Rejects with LostPosition when the changes since a position are not known, or the rows that a former result had. */
  read(request: LiveReadRequest, signal: AbortSignal): Promise<LiveReply>
  /** Deletes changes beyond the limits of the log. */
  trim(): Promise<void>
  /** The changes in each log when it was last trimmed. */
  readonly logged: readonly number[]
}

/** How long changes are kept, and how many of each table. */
export interface LogLimits {
  readonly milliseconds: number
  readonly changes: number
}

/** The log does not reach back to the position: it was trimmed, the table was altered, or the database was restored. */
export class LostPosition extends Error {
  /** The database has lost changes that were seen at the position. */
  readonly isUndone: boolean

  constructor(tables: readonly string[], isUndone = false) {
    super(`The changes of ${tables.join(', ')} since this position are not known`)
    this.isUndone = isUndone
  }
}

/** The positions that a read goes back to, by table. */
export function sincePositions(since: Since | undefined): Positions {
  if (since === undefined) return new Map()
  return since.of === 'former result' ? since.positions : new Map([[since.table, since.position]])
}

/**
 * The positions of these tables as one text. Positions of one reply often end in the same way (on PostgreSQL all tables are read in one
 * snapshot): what follows the last dot is written only where it differs from the table before.
 */
export function packPositions(tables: readonly string[], positions: Positions): string {
  let last = ''
  const parts = tables.map((table) => {
    const position = positions.get(table) ?? ''
    const dot = position.lastIndexOf('.')
    const tail = position.slice(dot + 1)
    const part = tail === last && dot >= 0 ? position.slice(0, dot) : position
    last = tail
    return part
  })
  return parts.join(';')
}

/** Undefined if the text does not belong to these tables. */
export function unpackPositions(tables: readonly string[], text: string): Positions | undefined {
  const parts = text === '' ? [] : text.split(';')
  if (parts.length !== tables.length) return undefined
  const positions = new Map<string, TablePosition>()
  let last = ''
  for (const [index, table] of tables.entries()) {
    const part = parts[index] ?? ''
    const position = part.includes('.') ? part : `${part}.${last}`
    last = position.slice(position.lastIndexOf('.') + 1)
    positions.set(table, position)
  }
  return positions
}
