/** The time zone of the axes, chosen by the viewer and kept in this browser; and times as text in it. */

import { signal } from '@preact/signals'
import { LOCALE } from '../ui/locale.ts'
import { isZone } from './statement-zone.ts'

const KEY = 'gatehouse:chart-zone'
const LOCAL = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Where the largest markets are, after the viewer's own zone and UTC. */
export const ZONES: readonly { readonly zone: string; readonly title: string }[] = [
  { zone: LOCAL, title: LOCAL === 'UTC' ? 'UTC' : `Local time (${LOCAL.replaceAll('_', ' ')})` },
  ...[
    { zone: 'UTC', title: 'UTC' },
    { zone: 'America/New_York', title: 'New York' },
    { zone: 'America/Chicago', title: 'Chicago' },
    { zone: 'Europe/London', title: 'London' },
    { zone: 'Europe/Berlin', title: 'Frankfurt' },
    { zone: 'Asia/Tokyo', title: 'Tokyo' },
    { zone: 'Asia/Hong_Kong', title: 'Hong Kong' },
  ].filter(({ zone }) => zone !== LOCAL),
]

const kept = storage()?.getItem(KEY) ?? null

/** What the viewer has chosen for all charts. Otherwise a chart has the zone of its statement, or that of the viewer. */
export const chosenZone = signal<string | undefined>(kept !== null && isZone(kept) ? kept : undefined)

export function chooseZone(zone: string | undefined): void {
  chosenZone.value = zone
  if (zone === undefined) storage()?.removeItem(KEY)
  else storage()?.setItem(KEY, zone)
}

/** Tests read times without a browser, and a frame without an origin has no storage. */
function storage(): Storage | undefined {
  try {
    return globalThis.localStorage
  } catch {
    return undefined
  }
}

/** The zone of an axis. Days and local timestamps have none: they are drawn as times of the viewer, so they are read as such. */
export function zoneFor(type: string, ofStatement: string | undefined): string {
  return /^(LocalTimestamp|Date)\b/.test(type) ? LOCAL : (chosenZone.value ?? ofStatement ?? LOCAL)
}

/** `America/New_York` is New York, to those who trade there. */
export function zoneTitle(zone: string): string {
  return ZONES.find((known) => known.zone === zone && zone !== LOCAL)?.title ?? zone.replaceAll('_', ' ')
}

export interface ZoneFormats {
  readonly clock: Intl.DateTimeFormat
  readonly seconds: Intl.DateTimeFormat
  readonly day: Intl.DateTimeFormat
  readonly weekday: Intl.DateTimeFormat
  readonly month: Intl.DateTimeFormat
  readonly year: Intl.DateTimeFormat
  readonly full: Intl.DateTimeFormat
}

const formats = new Map<string, ZoneFormats>()

export function zoneFormats(timeZone: string): ZoneFormats {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(LOCALE, { timeZone, hourCycle: 'h23', ...options })
  const made = {
    clock: format({ hour: '2-digit', minute: '2-digit' }),
    seconds: format({ hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    day: format({ day: 'numeric', month: 'short' }),
    weekday: format({ weekday: 'short', day: 'numeric', month: 'short' }),
    month: format({ month: 'short' }),
    year: format({ year: 'numeric' }),
    full: format({ dateStyle: 'medium', timeStyle: 'medium' }),
  }
  formats.set(timeZone, made)
  return made
}

const offsets = new Map<string, number>()
const QUARTER = 15 * 60_000

/** Milliseconds from UTC to the time of the zone. */
export function offsetAt(zone: string, time: number): number {
  if (zone === 'UTC') return 0
  const quarter = Math.floor(time / QUARTER)
  const key = `${zone} ${quarter}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  if (offsets.size > 10_000) offsets.clear()
  const parts = new Map(
    partsFormat(zone)
      .formatToParts(time)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  const offset = local - Math.floor(time / 1000) * 1000
  offsets.set(key, offset)
  return offset
}

const partsFormats = new Map<string, Intl.DateTimeFormat>()

function partsFormat(timeZone: string): Intl.DateTimeFormat {
  const known = partsFormats.get(timeZone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  })
  partsFormats.set(timeZone, made)
  return made
}
