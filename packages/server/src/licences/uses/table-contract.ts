/** What statements and live queries have of the tables that they use. */
import type { Principal, Refusal } from 'gatehouse-protocol'
import type { Way } from '../places.ts'
import type { TableAccess } from './table-access.ts'

export interface TableCaller {
  readonly principal: Principal
  readonly address: string
  readonly way: Way
}

/** Tables that one statement uses, with the places that this takes. */
export interface HeldTables {
  /** Undefined for other tables, and for all but one where that is refused. */
  find(table: string): TableAccess | undefined
  /** Why there is no access to one of them, where there is none at all. */
  readonly refusal: Refusal | undefined
  /** Undefined: this node knows what others have changed. Otherwise resolves when it does: until then no rows are shown. */
  catchUp(): Promise<void> | undefined
  /** Called once, when there is less access than there was. Returns what ends that, and must be called. */
  onLowered(listener: (reason: Refusal) => void): () => void
}

/** Tables that a live query uses. */
export interface FollowedTables {
  /** What is held, or what is expected before it is. Undefined: no product covers it. A Promise: it is found when that has resolved. */
  find(table: string): TableAccess | Promise<void> | undefined
  /** Takes the places. Undefined: they are held. */
  hold(needs: readonly TableNeed[]): Promise<void> | undefined
  refusalFor(table: string): Refusal | undefined
  /** As of `HeldTables`. */
  catchUp(): Promise<void> | undefined
  setPrincipal(principal: Principal): void
  close(): void
}

/** A table that a statement uses. */
export interface TableNeed {
  readonly table: string
  /** The parts whose rows it can show, by their places in the coverage; undefined: all. */
  readonly parts?: readonly number[] | undefined
}
