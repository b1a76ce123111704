/**
 * Makes packages/server/src/query/zones/zones.txt from the compiled data of IANA's time zone database:
 *
 *   node scripts/zones.ts FOLDER
 *
 * FOLDER holds compiled zones (TZif, RFC 9636) and tzdata.zi, whose first line names the version: `tzdata/zoneinfo` of the package
 * tzdata on PyPI, or a zoneinfo folder that zic has written.
 *
 * A line for each zone, the oldest transitions first: names, the offset before all transitions, then pairs of the seconds since the
 * previous transition and the new offset, all in base 36; last, where clocks go on changing, the rule as in a TZ variable of POSIX.
 * zones/zone-file.ts reads it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { TIME_ZONES } from '../packages/server/src/lib/program-files.ts'
import { FIRST_SECOND } from '../packages/server/src/query/zones/zone-file.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder of the compiled zones')
const version = /^# version (\S+)/.exec(readFileSync(join(folder, 'tzdata.zi'), 'utf8'))?.[1]
if (version === undefined) throw new Error('tzdata.zi does not name its version')

const namesByLine = new Map<string, string[]>()
for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!file.isFile()) continue
  const path = join(file.parentPath, file.name)
  const name = relative(folder, path).replaceAll('\\', '/')
  const bytes = readFileSync(path)
  if (bytes.toString('latin1', 0, 4) !== 'TZif' || !isZoneName(name)) continue
  const line = writeLine(bytes)
  namesByLine.set(line, [...(namesByLine.get(line) ?? []), name])
}
const lines = Array.from(namesByLine, ([line, names]) => `${names.sort().join(' ')}\t${line}`).sort()
writeFileSync(TIME_ZONES, `${version}\n${lines.join('\n')}\n`)
console.log(`${lines.length} zones of ${version}, ${[...namesByLine.values()].flat().length} names`)

/** Others are the same data under another root, or not a place: the local zone of a machine, and zones with leap seconds. */
function isZoneName(name: string): boolean {
  return !/^(posix|right)\/|^(localtime|posixrules|Factory)$/.test(name)
}

function writeLine(bytes: Buffer): string {
  const { transitions, first, rule } = readTzif(bytes)
  let [offset, at] = [first, FIRST_SECOND]
  const changes: string[] = []
  const hasRule = rule.includes(',')
  for (const transition of transitions) {
    if (transition.at < FIRST_SECOND) offset = transition.offset
    else {
      // A change of the name alone is no transition, but the rule is in force only after the last one.
      const isLast = hasRule && transition === transitions.at(-1)
      if (transition.offset === lastChange(changes, offset) && !isLast) continue
      changes.push(`${(transition.at - at).toString(36)} ${transition.offset.toString(36)}`)
      at = transition.at
    }
  }
  return [offset.toString(36), changes.join(' '), hasRule ? rule : ''].join('\t').trimEnd()
}

function lastChange(changes: readonly string[], before: number): number {
  const last = changes.at(-1)
  return last === undefined ? before : Number.parseInt(last.split(' ')[1] ?? '', 36)
}

/** RFC 9636: the data of version 2 or later, whose times have 64 bits, follow those of version 1. */
function readTzif(bytes: Buffer) {
  const countsAt = (start: number) =>
    Array.from({ length: 6 }, (_, index) => bytes.readUInt32BE(start + 20 + 4 * index))
  const [isUt = 0, isStd = 0, leaps = 0, times = 0, types = 0, characters = 0] = countsAt(0)
  const second = 44 + times * 5 + types * 6 + characters + leaps * 8 + isStd + isUt
  const [isUt2 = 0, isStd2 = 0, leaps2 = 0, times2 = 0, types2 = 0, characters2 = 0] = countsAt(second)
  const start = second + 44
  const typesAt = start + times2 * 9
  const readOffset = (type: number): number => bytes.readInt32BE(typesAt + 6 * type)
  const transitions = Array.from({ length: times2 }, (_, index) => ({
    at: Number(bytes.readBigInt64BE(start + 8 * index)),
    offset: readOffset(bytes.readUInt8(start + 8 * times2 + index)),
  }))
  const end = typesAt + types2 * 6 + characters2 + leaps2 * 12 + isStd2 + isUt2
  return { transitions, first: readOffset(0), rule: bytes.toString('latin1', end).trim() }
}
