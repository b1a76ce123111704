/**
 * The time zones of IANA's database from 1900 to 2100, in a file that scripts/zones.ts makes. Outside these years a zone has its
 * standard time. Read by the first statement that needs it; each zone is expanded when it is first used.
 */
import { readFileSync } from 'node:fs'
import type { ZoneNames } from 'gatehouse-iql'
import { nearest } from 'gatehouse-protocol'
import { once } from '../../lib/once.ts'
import { TIME_ZONES } from '../../lib/program-files.ts'
import { readPosixRule } from './posix-rule.ts'
import { Zone } from './zone.ts'

/** 1900-01-01 and 2100-01-01 in UTC, in seconds since 1970. */
export const FIRST_SECOND = -2_208_988_800
const LAST_SECOND = 4_102_444_800

/** The zone with that name, in any case. */
export function findZone(name: string): Zone | undefined {
  return readZones().get(name.toLowerCase())?.()
}

/** For the binder. */
export const ZONE_NAMES: ZoneNames = { find: (name) => findZone(name)?.name, hint: hintForZone }

/** For a name that no zone has: what to write instead. New York means America/New_York. */
function hintForZone(written: string): string {
  const zones = readZones()
  const place = written.toLowerCase().replaceAll(/[\s-]+/g, '_')
  const ofPlace = (part: string) => zones.keys().find((name) => lastPart(name) === part)
  const nearPlace = () => nearest(place, zones.keys().map(lastPart), 1)
  const key = ofPlace(place) ?? nearest(place, zones.keys(), 1) ?? ofPlace(nearPlace() ?? '')
  const near = key === undefined ? undefined : zones.get(key)?.().name
  return near === undefined
    ? 'write a name of IANA’s database, such as America/New_York or UTC'
    : `did you mean ${near}?`
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

const readZones = once((): ReadonlyMap<string, () => Zone> => {
  const zones = new Map<string, () => Zone>()
  for (const line of readFileSync(TIME_ZONES, 'utf8').trimEnd().split('\n').slice(1)) {
    const [names = '', first = '', changes = '', rule = ''] = line.split('\t')
    const expanded = once(() => expand(first, changes, rule))
    for (const name of names.split(' '))
      zones.set(
        name.toLowerCase(),
        once(() => new Zone(name, ...expanded())),
      )
  }
  return zones
})

/** The seconds of the transitions, and the offsets before, between and after them. */
function expand(first: string, changes: string, rule: string): [at: number[], offsets: number[]] {
  const at: number[] = []
  const offsets = [Number.parseInt(first, 36)]
  const parts = changes === '' ? [] : changes.split(' ')
  let second = FIRST_SECOND
  const add = (next: number, offset: number): void => {
    if (next > LAST_SECOND || offset === offsets.at(-1)) return
    at.push(next)
    offsets.push(offset)
  }
  for (let index = 0; index < parts.length; index += 2) {
    second += Number.parseInt(parts[index] ?? '', 36)
    add(second, Number.parseInt(parts[index + 1] ?? '', 36))
  }
  if (rule === '') return [at, offsets]
  const { changesIn, winter } = readPosixRule(rule)
  for (let year = new Date(second * 1000).getUTCFullYear(); year < 2100; year++)
    for (const change of changesIn(year)) if (change.at > second) add(change.at, change.offset)
  add(LAST_SECOND, winter)
  return [at, offsets]
}
