/** What a target holds: generations, their bases, and the moments that can be restored. */

import { PageHash } from '../log/page-sums.ts'
import { type BaseManifest, decodeGeneration, decodeManifest, type GenerationHead } from '../objects/heads.ts'
import {
  basesFolder,
  headName,
  isGenerationName,
  isManifest,
  LEVELS,
  parseSegmentName,
  type SegmentName,
  segmentFolder,
  segmentName,
} from '../objects/names.ts'
import { BadObject, hashObject, openObject } from '../objects/seal.ts'
import { decodeSegment, hashAfter, type Segment } from '../objects/segment.ts'
import type { Target } from '../target/target.ts'

export interface StoredGeneration {
  readonly head: GenerationHead
}

export interface StoredGenerations {
  readonly generations: readonly StoredGeneration[]
  /** Those that were sealed with another key, such as an earlier one, or were changed. */
  readonly unreadable: readonly { readonly generation: string; readonly error: BadObject }[]
}

export interface StoredBase {
  readonly name: string
  readonly manifest: BaseManifest
}

/** A segment with the hash after which the chain goes on. */
export interface StoredSegment extends Segment {
  readonly hash: string
}

export class Catalogue {
  readonly target: Target
  readonly #key: Buffer

  constructor(target: Target, key: Buffer) {
    this.target = target
    this.#key = key
  }

  pageHash(generation: string): PageHash {
    return new PageHash(this.#key, generation)
  }

  /** In the order in which they were begun, or only one. Folders of something else are left out. */
  async generations(wanted?: string): Promise<StoredGenerations> {
    const generations: StoredGeneration[] = []
    const unreadable: { generation: string; error: BadObject }[] = []
    for (const folder of [...(await this.target.folders())].filter(isGenerationName).sort()) {
      if (wanted !== undefined && folder !== wanted) continue
      const name = headName(folder)
      const sealed = await this.target.get(name)
      if (sealed === undefined) continue
      try {
        generations.push({ head: decodeGeneration(name, openObject(this.#key, name, sealed)) })
      } catch (error) {
        if (!(error instanceof BadObject)) throw error
        unreadable.push({ generation: folder, error })
      }
    }
    if (generations.length === 0 && unreadable[0] !== undefined) throw unreadable[0].error
    return { generations, unreadable }
  }

  /** The names of the manifests of complete bases, in the order in which they were begun. */
  async bases(generation: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const name of this.target.list(basesFolder(generation))) if (isManifest(name)) names.push(name)
    return names
  }

  async base(name: string): Promise<StoredBase> {
    return { name, manifest: decodeManifest(name, await this.open(name)) }
  }

  /** Those that go beyond the number `after`. */
  async segments(generation: string, after = 0): Promise<readonly SegmentName[]> {
    const found: SegmentName[] = []
    for (const level of LEVELS) {
      const start = level === 0 && after > 0 ? segmentName(generation, { level, first: after, last: after }) : undefined
      for await (const name of this.target.list(segmentFolder(generation, level), start)) {
        const segment = parseSegmentName(level, name)
        if (segment !== undefined && segment.last > after) found.push(segment)
      }
    }
    return found
  }

  async segment(generation: string, wanted: SegmentName): Promise<StoredSegment> {
    const name = segmentName(generation, wanted)
    const sealed = await this.#get(name)
    const segment = decodeSegment(name, openObject(this.#key, name, sealed))
    const { head } = segment
    if (head.first !== wanted.first || head.last !== wanted.last) throw new BadObject(`${name} has other segments`)
    return { ...segment, hash: hashAfter(head, hashObject(sealed)) }
  }

  /** An object with the hash that another object names, if any. */
  async open(name: string, hash?: string): Promise<Buffer> {
    const sealed = await this.#get(name)
    if (hash !== undefined && hashObject(sealed) !== hash) throw new BadObject(`${name} is not what its base lists`)
    return openObject(this.#key, name, sealed)
  }

  async #get(name: string): Promise<Buffer> {
    const sealed = await this.target.get(name)
    if (sealed === undefined) throw new BadObject(`${name} is missing from ${this.target.location}`)
    return sealed
  }
}
