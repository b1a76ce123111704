/** Restores, and lists, what was replicated. The entry for commands. */
import { Catalogue } from './restore/catalogue.ts'
import { findRange } from './restore/plan.ts'
import { type Restored, type RestoreRequest, restoreMoment } from './restore/restore.ts'
import { openTarget } from './target/open-target.ts'
import type { Target } from './target/target.ts'

export interface ReplicatedBackup {
  readonly url: string
  readonly key: Buffer
}

/** A generation, and the moments of it that can be restored, in ISO 8601; those are absent before its first base is complete. */
export interface ListedGeneration {
  readonly generation: string
  readonly host: string
  readonly from?: string
  readonly to?: string
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

export function listReplicated({ url, key }: ReplicatedBackup): Promise<readonly ListedGeneration[]> {
  return withTarget(url, async (target) => {
    const catalogue = new Catalogue(target, key)
    const listed: ListedGeneration[] = []
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
