/**
 * What runs statements and what knows the licences of callers agree on this: the tables that a statement uses, and what its caller has of
 * them. `Access` is what a caller may see of a table.
 */
import type { Principal } from './principal.ts'
import type { Refusal } from './refusal.ts'

/** A table that a statement uses. */
export interface TableNeed {
  /** In lower case. */
  readonly table: string
  /** The parts whose rows it can show, by their places in the access; undefined: all. */
  readonly parts?: readonly number[] | undefined
}

/** Tables that one statement uses, with the places that this takes. */
export interface HeldTables<Access> {
  /** Undefined for other tables, and for all but one where that is refused. */
  find(table: string): Access | undefined
  /** Why there is no access to one of them, where there is none at all. */
  readonly refusal: Refusal | undefined
  /**
   * Undefined: this node knows what others have changed. Otherwise resolves when it does: it was cut off from them, and until then shows
   * no rows.
   */
  catchUp(): Promise<void> | undefined
  /** Called once, when there is less access than there was. Returns what ends that, and must be called. */
  onLowered(listener: (reason: Refusal) => void): () => void
}

/** Tables that a live query uses. */
export interface FollowedTables<Access> {
  /** What is held, or what is expected before it is. Undefined: no product covers it. A Promise: it is found when that has resolved. */
  find(table: string): Access | Promise<void> | undefined
  /** Takes the places. Undefined: they are held. */
  hold(needs: readonly TableNeed[]): Promise<void> | undefined
  refusalFor(table: string): Refusal | undefined
  /** As of `HeldTables`. */
  catchUp(): Promise<void> | undefined
  setPrincipal(principal: Principal): void
  close(): void
}
