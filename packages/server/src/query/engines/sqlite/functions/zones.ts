/** Times by the clocks of a time zone, whose name is the last argument. */

import { floorDivide, MAX_SERIES_ROWS, MICROS_PER_DAY } from 'gatehouse-iql'
import type { Zone } from '../../../zones/zone.ts'
import { findZone } from '../../../zones/zone-file.ts'
import { seriesRowsError, seriesStepError, widthError, zoneWidthError } from '../../runtime-error.ts'
import type { SqliteFunction } from './number.ts'
import {
  addMonths,
  countMonths,
  FIRST_MONDAY,
  monthStart,
  parts,
  readPart,
  type Span,
  seriesSteps,
  timestamp,
  UNIT_MICROS,
} from './time.ts'

/** All are called only if no argument is NULL. */
export const ZONE_FUNCTIONS = {
  gh_zone_local: (micros: bigint, name: string) => timestamp(requireZone(name).toLocal(micros)),
  gh_zone_instant: (micros: bigint, name: string) => timestamp(requireZone(name).toInstant(micros)),
  gh_zone_part: (part: string, micros: bigint, name: string) =>
    readPart(part, part === 'epoch' ? micros : timestamp(requireZone(name).toLocal(micros))),
  /** A unit is a bucket: weeks begin on Mondays, and months are counted from January 2000. */
  gh_zone_trunc: (unit: string, micros: bigint, name: string) =>
    timestamp(findBucket(UNIT_MICROS.get(unit) ?? UNIT_MONTHS.get(unit) ?? 1n, micros, requireZone(name))),
  gh_zone_bucket: (width: Span, micros: bigint, name: string) =>
    timestamp(findBucket(width, micros, requireZone(name))),
  /** The first bucket of a series, and the next one; NULL at or after the end. */
  gh_zone_begin: (width: Span, start: bigint, name: string, end: bigint) => {
    const bucket = findBucket(width, start, requireZone(name))
    return bucket < end ? timestamp(bucket) : null
  },
  gh_zone_next: (width: Span, bucket: bigint, name: string, end: bigint, count: bigint) => {
    const next = bucketAfter(width, bucket, requireZone(name))
    if (next >= end) return null
    if (count >= BigInt(MAX_SERIES_ROWS)) throw seriesRowsError()
    return timestamp(next)
  },
  /** The number of steps of a series, without its start; negative if it has no rows. */
  gh_zone_steps: (start: bigint, stop: bigint, step: Span, name: string) => {
    const zone = requireZone(name)
    const { months, micros } = parts(step)
    if (months <= 0n && micros <= 0n) throw seriesStepError()
    const [from, to] = isCalendar(step) ? [zone.toLocal(start), zone.toLocal(stop)] : [start, stop]
    const steps =
      months > 0n ? floorDivide(countMonths(to) - countMonths(from), months) : floorDivide(to - from, micros)
    return seriesSteps(steps >= 0n && addSteps(start, step, steps, zone) > stop ? steps - 1n : steps)
  },
  gh_zone_step: (start: bigint, step: Span, count: bigint, name: string) => {
    const zone = requireZone(name)
    const time = addSteps(start, step, count, zone)
    return count > 0n && time <= addSteps(start, step, count - 1n, zone) ? null : timestamp(time)
  },
} as const satisfies Record<string, SqliteFunction>

const UNIT_MONTHS: ReadonlyMap<string, Span> = new Map([
  ['year', '12:0'],
  ['quarter', '3:0'],
  ['month', '1:0'],
])

let last: Zone | undefined

/** A statement has few zones, and calls these functions for each row. */
function requireZone(name: string): Zone {
  if (last?.name === name) return last
  last = findZone(name)
  if (last === undefined) throw new Error(`The time zone ${name} was not checked`)
  return last
}

function isWholeDays(width: bigint): boolean {
  return width % MICROS_PER_DAY === 0n
}

function findBucket(width: Span, micros: bigint, zone: Zone): bigint {
  const { months, micros: length } = checked(width)
  if (months > 0n) return zone.firstInstant(startOfMonths(months, timestamp(zone.latestRead(micros))))
  if (isWholeDays(length)) return zone.firstInstant(startOfDays(length, zone.latestRead(micros)))
  return zone.tickBefore(micros, length)
}

/** A local date that was skipped begins at the same instant as the next one. */
function bucketAfter(width: Span, bucket: bigint, zone: Zone): bigint {
  const { months, micros } = checked(width)
  if (months === 0n && !isWholeDays(micros)) return zone.tickAfter(bucket, micros)
  const local = zone.latestRead(bucket)
  let start = months > 0n ? startOfMonths(months, timestamp(local)) : startOfDays(micros, local)
  for (;;) {
    start = months > 0n ? monthStart(Number(countMonths(start) + months)) : start + micros
    const next = zone.firstInstant(start)
    if (next > bucket) return next
  }
}

function checked(width: Span): { months: bigint; micros: bigint } {
  const { months, micros } = parts(width)
  if (months <= 0n && micros <= 0n) throw widthError()
  if (months === 0n && micros > MICROS_PER_DAY && !isWholeDays(micros)) throw zoneWidthError()
  return { months, micros }
}

function startOfMonths(months: bigint, local: bigint): bigint {
  return monthStart(Number(floorDivide(countMonths(local), months) * months))
}

function startOfDays(width: bigint, local: bigint): bigint {
  return FIRST_MONDAY + floorDivide(local - FIRST_MONDAY, width) * width
}

/** Whether the step is one of the local calendar. */
function isCalendar(step: Span): boolean {
  const { months, micros } = parts(step)
  return months > 0n || isWholeDays(micros)
}

function addSteps(start: bigint, step: Span, count: bigint, zone: Zone): bigint {
  const { months, micros } = parts(step)
  if (!isCalendar(step)) return start + count * micros
  const local = zone.toLocal(start)
  return zone.toInstant(months > 0n ? addMonths(local, months * count) : local + micros * count)
}
