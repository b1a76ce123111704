/** The databases that a restore writes. */
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type PageHash, PageSums } from '../log/page-sums.ts'
import { BadObject } from '../objects/seal.ts'
import { DATABASES, type DatabaseState, type Pages } from '../objects/segment.ts'

interface OpenFile {
  readonly file: number
  bytes: number
}

export class RestoredFiles {
  readonly #folder: string
  readonly #open = new Map<string, OpenFile>()

  constructor(folder: string) {
    this.#folder = folder
  }

  get names(): readonly string[] {
    return [...this.#open.keys()]
  }

  writePages(pages: Pages): void {
    for (const [name, own] of pages) {
      const target = this.#file(name)
      for (const [page, content] of own) {
        writeWhole(target.file, content, (page - 1) * content.length)
        target.bytes = Math.max(target.bytes, page * content.length)
      }
    }
  }

  /** Before the pages of a segment. */
  shrink({ name, pageSize, least }: DatabaseState): void {
    const target = this.#file(name)
    if (target.bytes > least * pageSize) this.#resize(target, least * pageSize)
  }

  /** After the pages of a segment. */
  resize({ name, pageSize, pages }: DatabaseState): void {
    const target = this.#file(name)
    if (target.bytes !== pages * pageSize) this.#resize(target, pages * pageSize)
  }

  /** Compares every page with the sums of the source. */
  check({ name, pageSize, pages, digest }: DatabaseState, hash: PageHash): void {
    const { file } = this.#file(name)
    const sums = new PageSums()
    sums.resize(pages)
    const bytes = Buffer.allocUnsafeSlow(256 * pageSize)
    for (let page = 1; page <= pages; ) {
      const read = readSync(file, bytes, 0, bytes.length, (page - 1) * pageSize)
      if (read === 0) break
      for (let at = 0; at + pageSize <= read && page <= pages; at += pageSize, page++)
        sums.set(page, hash.sum(bytes.subarray(at, at + pageSize)))
    }
    // A segment that completes a moment has them.
    if (sums.digest !== digest) throw new BadObject(`${name} is not as it was: the sums of its pages do not match`)
  }

  close(): void {
    for (const { file } of this.#open.values()) {
      fsyncSync(file)
      closeSync(file)
    }
    this.#open.clear()
  }

  #resize(target: OpenFile, bytes: number): void {
    ftruncateSync(target.file, bytes)
    target.bytes = bytes
  }

  #file(name: string): OpenFile {
    const known = this.#open.get(name)
    if (known !== undefined) return known
    if (!DATABASES.some((database) => database === name)) throw new BadObject(`The backup has an unknown file ${name}`)
    const opened = { file: openSync(join(this.#folder, name), 'wx+', 0o600), bytes: 0 }
    this.#open.set(name, opened)
    return opened
  }
}

function writeWhole(file: number, content: Buffer, position: number): void {
  for (let at = 0; at < content.length; ) at += writeSync(file, content, at, content.length - at, position + at)
}
