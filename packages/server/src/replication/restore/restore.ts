/** Brings back the data folder as it was at a moment, into an empty folder. Whatever is wrong, nothing is left behind. */
import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeOnSignal } from '../../lib/remove-on-signal.ts'
import { verifyAuditLog } from '../../store/audit/verify.ts'
import { finishDatabase, openEmptyFolder, restoredPaths } from '../../store/backup/restore.ts'
import { MARK } from '../../store/database/data-folder.ts'
import { openUnmigrated } from '../../store/database/database.ts'
import { schemaVersion } from '../../store/database/migration-plan.ts'
import { partName } from '../objects/names.ts'
import { BadObject } from '../objects/seal.ts'
import { DATABASES, decodePart, type SegmentHead } from '../objects/segment.ts'
import type { Target } from '../target/target.ts'
import { Catalogue, type StoredSegment } from './catalogue.ts'
import { RestoredFiles } from './files.ts'
import { makePlan, type RestorePlan } from './plan.ts'

export interface RestoreRequest {
  readonly target: Target
  readonly key: Buffer
  readonly dataFolder: string
  /** The last moment if absent. */
  readonly at?: number | undefined
  readonly generation?: string | undefined
  /** Writes to the restored databases that they were restored. */
  readonly record?: ((restored: Restored) => Promise<void>) | undefined
}

export interface Restored {
  readonly generation: string
  /** The moment, in milliseconds. */
  readonly time: number
  readonly rows: number
  readonly bytes: number
  readonly segments: number
}

/** Fetched before they are needed. */
const AHEAD = 4

export async function restoreMoment(request: RestoreRequest): Promise<Restored> {
  const { target, key, dataFolder, at, generation, record } = request
  const catalogue = new Catalogue(target, key)
  const plan = await makePlan(catalogue, { at, generation })
  await openEmptyFolder(dataFolder)
  const paths = restoredPaths(dataFolder, [...DATABASES, ...listFiles(plan).map(([name]) => name)])
  const forget = removeOnSignal(paths)
  try {
    const { bytes, names } = await writeDatabases(catalogue, plan, dataFolder)
    const rows = names.reduce((sum, name) => sum + finishDatabase(dataFolder, name), 0)
    await checkAudit(dataFolder)
    const restored = { generation: plan.generation, time: plan.time, rows, bytes, segments: plan.segments.length }
    await record?.(restored)
    writeFiles(plan, dataFolder)
    return restored
  } catch (error) {
    for (const path of paths) await rm(path, { force: true })
    throw error
  } finally {
    forget()
  }
}

/** Writes the databases exactly as they were at the moment, and compares their pages with the sums of the source. */
export async function writeDatabases(catalogue: Catalogue, plan: RestorePlan, dataFolder: string) {
  const files = new RestoredFiles(dataFolder)
  try {
    await writeBase(catalogue, plan, files)
    const last = await writeSegments(catalogue, plan, files)
    for (const state of last.databases) files.check(state, catalogue.pageHash(plan.generation))
    return {
      names: files.names,
      bytes: last.databases.reduce((sum, { pages, pageSize }) => sum + pages * pageSize, 0),
    }
  } finally {
    files.close()
  }
}

async function writeBase(catalogue: Catalogue, { generation, base }: RestorePlan, files: RestoredFiles): Promise<void> {
  const { manifest } = base
  const name = { from: manifest.from.number, began: manifest.began }
  const parts = manifest.parts.map(({ hash }, index) => ({ hash, name: partName(generation, name, index) }))
  const contents = ahead(parts, async (part) => decodePart(part.name, await catalogue.open(part.name, part.hash)))
  for await (const pages of contents) files.writePages(pages)
}

/** Returns the head of the last one. */
async function writeSegments(catalogue: Catalogue, plan: RestorePlan, files: RestoredFiles): Promise<SegmentHead> {
  const { generation, base, segments } = plan
  const { from, until } = base.manifest
  let before = { number: from.number, hash: from.hash }
  let head: SegmentHead | undefined
  for await (const segment of ahead(segments, (name) => catalogue.segment(generation, name))) {
    checkChain(segment, before, until)
    head = segment.head
    for (const state of head.databases) files.shrink(state)
    files.writePages(segment.pages)
    for (const state of head.databases) files.resize(state)
    before = { number: head.last, hash: segment.hash }
  }
  if (head === undefined || !head.isComplete) throw new BadObject('The last segment does not complete a moment')
  return head
}

/** Each names the hash of the one before. */
function checkChain(
  { head, hash }: StoredSegment,
  before: { readonly number: number; readonly hash: string },
  until: { readonly number: number; readonly hash: string },
): void {
  const follows = head.first === before.number + 1
  if (follows && head.previous !== before.hash)
    throw new BadObject(`The segment ${head.first} does not follow the segment ${before.number} that is stored`)
  if (head.last === until.number && hash !== until.hash)
    throw new BadObject(`The segment ${until.number} is not the one that the base ended with`)
}

async function checkAudit(dataFolder: string): Promise<void> {
  const database = openUnmigrated({ dataFolder, url: '' })
  try {
    // At that moment the database was just created.
    if ((await schemaVersion(database)) === 0) return
    const { faults } = await verifyAuditLog(database)
    const [fault] = faults
    if (fault !== undefined) throw new BadObject(`The audit log is broken at row ${fault.seq}: ${fault.message}`)
  } finally {
    await database.close()
  }
}

function listFiles({ base }: RestorePlan): readonly (readonly [name: string, content: string])[] {
  const files = Object.entries(base.manifest.files).filter(([name]) => /^\w[\w.-]*$/.test(name))
  // The marker last: no server starts on a folder without it.
  return files.sort(([one], [other]) => Number(one === MARK) - Number(other === MARK))
}

function writeFiles(plan: RestorePlan, dataFolder: string): void {
  for (const [name, content] of listFiles(plan))
    writeFileSync(join(dataFolder, name), Buffer.from(content, 'base64'), { mode: 0o600, flush: true })
}

/** In order, with several requests under way. */
async function* ahead<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const waiting: Promise<Result>[] = []
  for (const item of items) {
    const result = read(item)
    // What fails is thrown when its turn comes.
    result.catch(() => {})
    waiting.push(result)
    const first = waiting.length > AHEAD ? waiting.shift() : undefined
    if (first !== undefined) yield await first
  }
  for (const result of waiting) yield await result
}
