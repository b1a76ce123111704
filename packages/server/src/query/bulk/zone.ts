/** The time zone of a bulk insert: times that name none are those of its clocks. */
import { inZone, isZone, toUtc } from 'gatehouse-csv'
import { readValue } from 'gatehouse-iql'
import type { NamedColumn } from '../batches/row-error.ts'
import { type TextColumn, textColumn } from './values.ts'

export interface Zone {
  /** Microseconds that clocks of the zone read, as microseconds of UTC. */
  utc(local: bigint): bigint
  /** A time as a text, with its offset. */
  text(text: string): string
}

/** Undefined for an unknown zone. */
export function findZone(name: string): Zone | undefined {
  if (!isZone(name)) return undefined
  const { convert } = inZone(name)
  return { utc: toUtc(name), text: (text) => convert(text) ?? text }
}

/** Reads texts of a column. */
export function columnIn(zone: Zone | undefined): (column: NamedColumn) => TextColumn {
  return ({ type }) =>
    zone === undefined || type.kind !== 'Timestamp'
      ? textColumn(type)
      : textColumn(type, (text) => readValue(type, zone.text(text)))
}
