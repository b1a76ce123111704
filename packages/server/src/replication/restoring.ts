/** Restores, and lists, what was replicated. The entry for commands. */
import { BadObject } from './objects/seal.ts'
import { Dumps } from './postgres/dumps.ts'
import { fetchDump, findDump, type WantedDump } from './postgres/fetch-dump.ts'
import { Catalogue } from './restore/catalogue.ts'
import { findRange } from './restore/plan.ts'
import { type Restored, type RestoreRequest, restoreMoment } from './restore/restore.ts'
import { openTarget } from './target/open-target.ts'
import type { Target } from './target/target.ts'

export interface ReplicatedBackup {
  readonly url: string
  readonly key: Buffer
}

export interface FetchedDump {
  readonly generation: string
  /** When its snapshot was taken, in milliseconds. */
  readonly taken: number
}

/** A generation, and the moments of it that can be restored, in ISO 8601; those are absent before its first base is complete. */
export interface ListedGeneration {
  readonly generation: string
  readonly host: string
  readonly from?: string
  readonly to?: string
  /** Of PostgreSQL: dumps. */
  readonly bases: number
  /** What keeps it from being read, such as another key. */
  readonly error?: string
}

export function restoreReplicated(
  { url, key }: ReplicatedBackup,
  request: Omit<RestoreRequest, 'target' | 'key'>,
): Promise<Restored> {
  return withTarget(url, (target) => restoreMoment({ ...request, target, key }))
}

/** Brings the dump of a moment into a folder, as `gatehouse backup` had written it. */
export function fetchReplicatedDump(
  { url, key }: ReplicatedBackup,
  wanted: WantedDump,
  folder: string,
): Promise<FetchedDump> {
  return withTarget(url, async (target) => {
    const dumps = new Dumps(target, key)
    const dump = await findDump(dumps, wanted)
    const { taken } = await fetchDump(dumps, dump, folder)
    return { generation: dump.generation, taken }
  })
}

async function listDumps(dumps: Dumps): Promise<readonly ListedGeneration[]> {
  const listed: ListedGeneration[] = []
  for (const generation of await dumps.generations()) {
    const stored = await dumps.list(generation)
    const [first, last] = [stored[0], stored.at(-1)]
    if (first === undefined || last === undefined) continue
    const show = (time: number) => new Date(time).toISOString()
    const range = { from: show(first.began), to: show(last.began), bases: stored.length }
    try {
      const { host } = await dumps.manifest(last)
      listed.push({ generation, host, ...range })
    } catch (error) {
      if (!(error instanceof BadObject)) throw error
      listed.push({ generation, host: '', bases: stored.length, error: error.message })
    }
  }
  return listed
}

export function listReplicated({ url, key }: ReplicatedBackup): Promise<readonly ListedGeneration[]> {
  return withTarget(url, async (target) => {
    const catalogue = new Catalogue(target, key)
    const listed = [...(await listDumps(new Dumps(target, key)))]
    const { generations, unreadable } = await catalogue.generations()
    for (const { generation, error } of unreadable)
      listed.push({ generation, host: '', bases: 0, error: error.message })
    for (const stored of generations) {
      const { generation, host } = stored.head
      const range = await findRange(catalogue, stored)
      listed.push(
        range === undefined
          ? { generation, host, bases: 0 }
          : {
              generation,
              host,
              from: new Date(range.from).toISOString(),
              to: new Date(range.to).toISOString(),
              bases: range.bases,
            },
      )
    }
    return listed.sort((one, other) => (one.generation < other.generation ? -1 : 1))
  })
}

async function withTarget<Result>(url: string, run: (target: Target) => Promise<Result>): Promise<Result> {
  const target = await openTarget(url)
  try {
    return await run(target)
  } finally {
    target.close()
  }
}
