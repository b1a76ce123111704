/** The dumps of PostgreSQL that a target holds. Nodes of one installation have one list of them. */
import { type DumpManifest, decodeDump } from '../objects/heads.ts'
import {
  dumpManifestName,
  dumpPartName,
  dumpsFolder,
  isDumpGeneration,
  isManifest,
  parseDumpName,
} from '../objects/names.ts'
import { BadObject, hashObject, openObject } from '../objects/seal.ts'
import type { Target } from '../target/target.ts'

export interface StoredDump {
  readonly generation: string
  readonly began: number
}

export class Dumps {
  readonly target: Target
  readonly #key: Buffer

  constructor(target: Target, key: Buffer) {
    this.target = target
    this.#key = key
  }

  async generations(): Promise<readonly string[]> {
    return [...(await this.target.folders())].filter(isDumpGeneration).sort()
  }

  /** The complete ones, in the order in which they were begun. */
  async list(generation: string): Promise<readonly StoredDump[]> {
    const found: StoredDump[] = []
    for await (const name of this.target.list(dumpsFolder(generation))) {
      const began = parseDumpName(name)
      if (began !== undefined && isManifest(name)) found.push({ generation, began })
    }
    return found
  }

  async manifest({ generation, began }: StoredDump): Promise<DumpManifest> {
    const name = dumpManifestName(generation, began)
    return decodeDump(name, openObject(this.#key, name, await this.#get(name)))
  }

  async part({ generation, began }: StoredDump, part: number, hash: string): Promise<Buffer> {
    const name = dumpPartName(generation, began, part)
    const sealed = await this.#get(name)
    if (hashObject(sealed) !== hash) throw new BadObject(`${name} is not what its dump lists`)
    return openObject(this.#key, name, sealed)
  }

  async #get(name: string): Promise<Buffer> {
    const sealed = await this.target.get(name)
    if (sealed === undefined) throw new BadObject(`${name} is missing from ${this.target.location}`)
    return sealed
  }
}
