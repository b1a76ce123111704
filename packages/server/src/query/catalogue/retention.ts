/** How long the rows of a table are kept, and whether they are held: what definitions say, and the rules about it. */
import {
  ERRORS,
  MICROS_PER_DAY,
  type RetentionChange,
  readInterval,
  writeDuration,
  writeTimestamp,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'
import type { CatalogueChange, RetentionDefinition, TableDefinition } from './definition.ts'

export function toRetention({ time, on }: RetentionChange): RetentionDefinition {
  return { time: writeDuration(time), on }
}

const MICROS_PER_MINUTE = 60_000_000n

/**
 * The time before which rows are closed, down to the minute, in microseconds since the epoch. With a Date it is a midnight: a day is
 * closed as a whole.
 */
export function horizonAt(now: bigint, table: Pick<TableDefinition, 'columns' | 'retention'>): bigint | undefined {
  const { retention } = table
  const time = retention && readInterval(retention.time)
  if (retention === undefined || time === undefined) return undefined
  return floorTo(beforeMonths(now, time.months) - time.micros, findUnit(table))
}

/** Horizons are multiples of it. */
function findUnit({ columns, retention }: Pick<TableDefinition, 'columns' | 'retention'>): bigint {
  const isDate = columns.find(({ name }) => name === retention?.on)?.type.kind === 'Date'
  return isDate ? MICROS_PER_DAY : MICROS_PER_MINUTE
}

/** When the horizon moves next. */
export function nextMove(now: bigint, table: Pick<TableDefinition, 'columns' | 'retention'>): bigint | undefined {
  const time = table.retention && readInterval(table.retention.time)
  if (time === undefined) return undefined
  const since = now - time.micros
  return now + findUnit(table) - (since - floorTo(since, findUnit(table)))
}

function floorTo(micros: bigint, unit: bigint): bigint {
  const rest = micros % unit
  return micros - (rest < 0n ? rest + unit : rest)
}

/** On the same day of the month, or the last one of a shorter month. */
function beforeMonths(micros: bigint, months: bigint): bigint {
  const midnight = floorTo(micros, MICROS_PER_DAY)
  const date = new Date(Number(midnight / 1000n))
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth() - Number(months)
  const [year, index] = [Math.floor(month / 12), ((month % 12) + 12) % 12]
  const lastDay = new Date(Date.UTC(year, index + 1, 0)).getUTCDate()
  const day = Date.UTC(year, index, Math.min(date.getUTCDate(), lastDay))
  return BigInt(day) * 1000n + (micros - midnight)
}

/** Refuses a change that a retention or a hold does not allow. `entry` is the table as it is. */
export function refuseAgainstRetention(change: CatalogueChange, entry: TableDefinition | undefined): void {
  if (change.kind === 'drop') {
    if (entry?.isHeld) throw heldError(entry.name)
    return
  }
  if (change.kind === 'alter' && change.step.kind === 'drop-column' && entry?.isHeld) throw heldError(entry.name)
  const { table } = change
  const { retention } = table
  if (retention === undefined || isIndexed(table, retention.on)) return
  if (change.kind === 'alter' && change.step.kind !== 'rights')
    throw refuse(
      'Data.Conflict',
      `The retention of ${table.name} needs ${retention.on}, first in an index or the key`,
      {
        members: { Hint: `write ALTER TABLE ${table.name} SET WITH (retention = NULL) first` },
      },
    )
  const { status } = ERRORS.BadDefinition
  const text = `A retention finds its rows by an index or the key, and none of ${table.name} begins with ${retention.on}`
  const hint = `write CREATE INDEX ${table.name}_${retention.on} ON ${table.name} (${retention.on}), then ALTER TABLE ${table.name} SET WITH (retention = '${retention.time}' ON ${retention.on})`
  throw new Refusal('IQL.BadDefinition', status, text, { members: { Hint: hint } })
}

function isIndexed({ columns, primaryKey, uniques, indexes }: TableDefinition, on: string): boolean {
  const first = [primaryKey[0], ...uniques.map(([name]) => name), ...indexes.map((index) => index.columns[0]?.name)]
  return columns.some(({ name, nullable }) => name === on && !nullable) && first.includes(on)
}

/** Whether the change makes something that nodes of earlier versions would not respect. */
export function concernsRetention(change: CatalogueChange): boolean {
  if (change.kind === 'drop') return false
  const { retention, isHeld = false } = change.table
  const before = change.kind === 'alter' ? change.from : undefined
  const isSet = retention !== undefined && JSON.stringify(retention) !== JSON.stringify(before?.retention)
  return isSet || (isHeld && before?.isHeld !== true)
}

export function heldError(table: string): Refusal {
  return refuse('Data.Held', `${table} is held: its rows may not be deleted`, { members: { Table: table } })
}

export function tooOldError(table: string): Refusal {
  const text = `Rows of ${table} that are older than its retention cannot be inserted, changed or deleted`
  return refuse('Data.TooOld', text, { members: { Table: table } })
}

/** The refusal with the time before which rows are closed. */
export function withHorizon({ code, status, message, details }: Refusal, horizon: bigint): Refusal {
  const members = { ...details.members, Horizon: writeTimestamp(horizon) }
  return new Refusal(code, status, message, { ...details, members })
}
