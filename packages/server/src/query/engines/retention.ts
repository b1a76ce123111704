/**
 * The state of retention, one row for each table: how far it is closed, and how far its rows are deleted. What both engines share. Times are
 * in microseconds since the epoch.
 */
import { createHash } from 'node:crypto'
import { INTEGER, type IqlType, TEXT } from 'gatehouse-iql'
import type { TableDefinition } from '../catalogue/definition.ts'
import { horizonAt } from '../catalogue/retention.ts'
import type { Sql } from './emit/dialect.ts'

export const RETENTION = '_gh_retention'
/** Has a row only in a transaction that deletes rows before the cut, or those of a person: the triggers let it. */
export const CUTS = '_gh_retention_cuts'
/** Of triggers and functions. */
export const RETENTION_PREFIX = '_gh_retention_of_'

/** `settling` is a horizon that becomes the cut when all transactions have ended that may not know of it. */
export function createRetentionTables({ schema, columnType, textKeyOptions }: OwnTablesDialect): Sql[] {
  const [text, integer] = [TEXT, INTEGER].map(columnType)
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.${RETENTION} (
      name ${text} PRIMARY KEY, time ${text}, time_column ${text}, held ${integer} NOT NULL, horizon ${integer}, settling ${integer},
      cut ${integer}, requested ${integer} NOT NULL, done ${integer} NOT NULL, removed ${integer} NOT NULL, fault ${text},
      unrecorded ${integer} NOT NULL DEFAULT 0, unrecorded_since ${integer}, unrecorded_oldest ${integer}
    )${textKeyOptions}`,
    // Not unique: transactions that delete at once need not wait for each other.
    `CREATE TABLE IF NOT EXISTS ${schema}.${CUTS} (name ${text} NOT NULL)`,
  ]
}

interface OwnTablesDialect {
  readonly schema: string
  readonly columnType: (type: IqlType) => Sql
  readonly textKeyOptions: Sql
}

/** What triggers and functions of a table are called, whatever its name. */
export function retentionName(table: string): string {
  return RETENTION_PREFIX + createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)
}

export interface StoredRetention {
  /** How long rows are kept, as the definition says it. */
  readonly time: string | null
  readonly timeColumn: string | null
  readonly horizon: bigint | null
  readonly settling: bigint | null
  readonly cut: bigint | null
}

/**
 * The state after a table was defined; undefined if there is nothing to say of it. Where the cut has been it stays, because rows before it
 * are gone from the table, and not from its views. A longer time opens what is after the cut again.
 */
export function nextState(
  table: TableDefinition,
  stored: StoredRetention | undefined,
  now: bigint | undefined,
): StoredRetention | undefined {
  const { retention, isHeld = false } = table
  if (retention === undefined) {
    const cut = stored?.cut ?? null
    if (cut === null && !isHeld) return undefined
    return { time: null, timeColumn: stored?.timeColumn ?? null, horizon: null, settling: null, cut }
  }
  const known = stored?.timeColumn === retention.on ? stored : undefined
  const cut = known?.cut ?? null
  const before = known?.horizon ?? null
  const target = isHeld || now === undefined ? undefined : horizonAt(now, table)
  const horizon = target === undefined ? before : cut !== null && cut > target ? cut : target
  const settling = known?.settling ?? null
  const isOpenAgain = settling !== null && (horizon === null || settling > horizon)
  return { time: retention.time, timeColumn: retention.on, horizon, settling: isOpenAgain ? null : settling, cut }
}

export interface KnownState extends Pick<StoredRetention, 'time' | 'timeColumn'> {
  readonly name: string
  readonly held: number | string
}

/** Whether the state says what the definition does: an earlier version may have changed the table since. */
export function followsTable({ time, timeColumn, held }: KnownState, table: TableDefinition): boolean {
  const { retention, isHeld = false } = table
  const isTimed = time === (retention?.time ?? null) && (retention === undefined || timeColumn === retention.on)
  return isTimed && (Number(held) === 1) === isHeld
}

/** Whether the definition needs triggers. */
export function isGuarded({ retention, isHeld, view }: TableDefinition): boolean {
  return view === undefined && (retention !== undefined || isHeld === true)
}
