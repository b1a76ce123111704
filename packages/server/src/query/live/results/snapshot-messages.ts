/**
 * The messages of a Snapshot: a live result as it was at one version. A piece is encoded when a subscriber can take it, so that a slow
 * client costs no copy of the result.
 */

import type { LiveMessage } from '../contract.ts'
import type { LiveState } from './difference.ts'
import { type LiveMessages, type SnapshotHead, snapshotPiece } from './messages.ts'

export interface SnapshotEnv {
  readonly head: SnapshotHead
  /** How many rows they have at most, which are the first ones; all where undefined. */
  readonly mostRows: number | undefined
  readonly position: string
  /** Count the readers of the state. Its rows do not change while there are any. */
  readonly open: () => void
  readonly close: () => void
  /** Whether the result still has this state. */
  readonly isCurrent: () => boolean
}

export class SnapshotMessages implements LiveMessages {
  readonly isEncoded = false
  readonly #state: LiveState
  readonly #env: SnapshotEnv
  readonly #keys: readonly string[]
  /** The first row of each piece, and of the next. */
  readonly #starts = [0]
  /** Shared by subscribers that are sent them at the same time; kept alive by the transports. */
  readonly #pieces: WeakRef<LiveMessage>[] = []

  constructor(state: LiveState, env: SnapshotEnv) {
    this.#state = state
    this.#env = env
    this.#keys = firstKeys(state, env.mostRows)
  }

  /** Until the result changes, the memory is charged to the result itself. */
  get bytes(): number {
    return this.#env.isCurrent() ? 0 : this.#state.bytes
  }

  has(index: number): boolean {
    return index === 0 || (this.#starts[index] ?? 0) < this.#keys.length
  }

  at(index: number): LiveMessage {
    const known = this.#pieces[index]?.deref()
    if (known !== undefined) return known
    const { head, position } = this.#env
    const start = this.#starts[index] ?? 0
    const { message, end } = snapshotPiece(this.#keys, this.#state.rows, start, {
      head: index === 0 ? head : undefined,
      position,
    })
    this.#starts[index + 1] = end
    this.#pieces[index] = new WeakRef(message)
    return message
  }

  open(): void {
    this.#env.open()
  }

  close(): void {
    this.#env.close()
  }
}

function firstKeys({ rows, order }: LiveState, most: number | undefined): readonly string[] {
  if (most === undefined) return order ?? [...rows.keys()]
  return order?.slice(0, most) ?? [...rows.keys().take(most)]
}
