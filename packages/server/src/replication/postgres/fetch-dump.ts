/** Finds the dump of a moment, and brings its files back into a folder, as `gatehouse backup` had written them. */
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DumpManifest } from '../objects/heads.ts'
import { BadObject } from '../objects/seal.ts'
import { NoSuchMoment, show } from '../restore/plan.ts'
import type { Dumps, StoredDump } from './dumps.ts'
import { PART_BYTES } from './send-dump.ts'

export interface WantedDump {
  /** The last dump up to this time; the last of all if absent. */
  readonly at?: number | undefined
  readonly generation?: string | undefined
}

/** The last dump up to a time. */
export async function findDump(dumps: Dumps, { at, generation }: WantedDump): Promise<StoredDump> {
  const all = await dumps.generations()
  const candidates: StoredDump[] = []
  for (const one of generation === undefined ? all : all.filter((name) => name === generation)) {
    const before = (await dumps.list(one)).filter(({ began }) => at === undefined || began <= at)
    const last = before.at(-1)
    if (last !== undefined) candidates.push(last)
  }
  const [found, another] = candidates
  const { location } = dumps.target
  if (found === undefined)
    throw new NoSuchMoment(
      at === undefined || all.length === 0
        ? `There is no dump of PostgreSQL at ${location}`
        : `There is no dump from before ${show(at)} at ${location}: list them with --list`,
    )
  if (another !== undefined)
    throw new NoSuchMoment(
      `Several installations have written to ${location}: choose one with --generation: ${candidates.map((one) => one.generation).join(', ')}`,
    )
  return found
}

export async function fetchDump(dumps: Dumps, dump: StoredDump, folder: string): Promise<DumpManifest> {
  const manifest = await dumps.manifest(dump)
  let part = 0
  for (const { name, bytes } of manifest.files) {
    if (basename(name) !== name) throw new BadObject(`The dump has a file with the name ${name}`)
    const file = await open(join(folder, name), 'wx', 0o600)
    try {
      for (let at = 0; at < bytes; at += PART_BYTES, part++)
        await file.write(await dumps.part(dump, part, manifest.parts[part] ?? ''))
    } finally {
      await file.close()
    }
  }
  return manifest
}
