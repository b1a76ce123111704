/** What statements and live queries have of the tables that they use. */
import type { FollowedTables as Followed, HeldTables as Held, Principal } from 'gatehouse-protocol'
import type { Way } from '../places.ts'
import type { TableAccess } from './table-access.ts'

export interface TableCaller {
  readonly principal: Principal
  readonly address: string
  readonly way: Way
  /** Whether a live query may displace other places; by default it may. */
  readonly mayDisplace?: boolean
}

export type HeldTables = Held<TableAccess>
export type FollowedTables = Followed<TableAccess>
