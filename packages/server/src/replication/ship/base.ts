/** A base: every page of every database, read while they are written to. With the segments since it was begun it is the state of a moment. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from 'gatehouse-protocol'
import { type BaseManifest, encodeHead } from '../objects/heads.ts'
import { manifestName, partName } from '../objects/names.ts'
import { hashObject, sealObject } from '../objects/seal.ts'
import { encodePart } from '../objects/segment.ts'
import type { ChainEnd } from '../spool/state.ts'
import { checkKept, putPersistently } from '../target/put.ts'
import type { Target } from '../target/target.ts'
import type { Source, TrackedDatabase } from './source.ts'

/** Small files that a data folder needs besides its databases. */
const FILES = ['gatehouse.json', 'master.key']

export interface BaseOptions {
  readonly dataFolder: string
  readonly source: Source
  readonly target: Target
  readonly key: Buffer
  /** Where the chain ends before the base. */
  readonly from: ChainEnd
  /** Whether the copy has nothing yet: what is read needs no segment then. */
  readonly isFirst: boolean
  /** Bytes a second. */
  readonly rate: number
  readonly signal: AbortSignal
  /** Makes a segment that completes a moment; resolves when it is stored. */
  complete(): Promise<{ readonly number: number; readonly hash: string; readonly time: number }>
}

export interface BaseTaken {
  readonly from: number
  readonly began: number
  readonly parts: number
  readonly moment: number
  readonly bytes: number
  /** Pages that the copy should have had and had not. */
  readonly corrected: number
}

export async function takeBase(options: BaseOptions): Promise<BaseTaken> {
  const { source, target, from, signal } = options
  const name = { from: from.number, began: Date.now() }
  const parts: { hash: string; bytes: number }[] = []
  let corrected = 0
  // A database that is created meanwhile is sent in segments.
  for (const database of source.databases) {
    // Nor beyond its size of now: what it grows by is in segments, and a base that followed a growing database would not end.
    const { pages: end } = database.followed
    for (let page = 1; page <= end; ) {
      const bytes = source.readPages(database, page)
      if (bytes === undefined) await sleep(10, undefined, { signal })
      else {
        const { pages, unknown } = selectPages(options, database, page, bytes)
        corrected += unknown
        page += bytes.length / database.followed.pageSize
        if (pages.size > 0)
          parts.push(await sendPart(options, database, partName(from.generation, name, parts.length), pages))
        if (bytes.length === 0) break
      }
    }
  }
  const until = await options.complete()
  const manifest: BaseManifest = {
    ...{ format: 1, kind: 'base', version: VERSION, began: name.began, parts },
    from: { number: from.number, hash: from.hash },
    until,
    files: readFiles(options.dataFolder),
  }
  const manifestObject = manifestName(from.generation, name)
  const sealed = sealObject(options.key, manifestObject, encodeHead(manifest))
  await putPersistently(target, manifestObject, sealed, signal)
  await checkKept(target, manifestObject, sealed, signal)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, sealed.length)
  return { ...name, parts: parts.length, moment: until.time, bytes, corrected }
}

/** Pages that are not empty. Unless the copy has nothing, those that it does not have as they are are sent in a segment too. */
function selectPages({ source, isFirst }: BaseOptions, database: TrackedDatabase, first: number, bytes: Buffer) {
  const { followed, sums } = database
  const pages = new Map<number, Buffer>()
  let unknown = 0
  for (let at = 0, page = first; at < bytes.length; at += followed.pageSize, page++) {
    const content = bytes.subarray(at, at + followed.pageSize)
    const sum = source.sum(content)
    if (isFirst && !sums.isKnown(page)) sums.set(page, sum)
    else if (!sums.has(page, sum) && source.notePage(database, page, content)) unknown++
    if (sum[0] !== 0 || sum[1] !== 0) pages.set(page, content)
  }
  return { pages, unknown }
}

async function sendPart(
  options: BaseOptions,
  { followed }: TrackedDatabase,
  name: string,
  pages: ReadonlyMap<number, Buffer>,
): Promise<{ hash: string; bytes: number }> {
  const { target, key, rate, signal } = options
  const start = performance.now()
  const sealed = sealObject(key, name, encodePart(new Map([[followed.name, pages]])))
  await putPersistently(target, name, sealed, signal)
  const pause = (1000 * sealed.length) / rate - (performance.now() - start)
  await sleep(Math.max(0, pause), undefined, { signal })
  return { hash: hashObject(sealed), bytes: sealed.length }
}

function readFiles(dataFolder: string): Record<string, string> {
  const found = FILES.filter((name) => existsSync(join(dataFolder, name)))
  return Object.fromEntries(found.map((name) => [name, readFileSync(join(dataFolder, name)).toString('base64')]))
}
