/** The files of the console as `console/build.js` wrote them, held in memory: each as it is, in Brotli and in gzip. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

export interface ServedFile {
  readonly type: string
  /** Weak (RFC 9110 §8.8.1): the same for each encoding. */
  readonly tag: string
  readonly content: Buffer
  readonly br: Buffer
  readonly gzip: Buffer
}

/** What the HTML page loads; the names are those of files. */
export interface Manifest {
  readonly script: string
  /** Runs before the first paint. */
  readonly theme: string
  readonly styles: readonly string[]
  readonly preload: readonly string[]
  /** By the name of the area. */
  readonly areaStyles: Readonly<Record<string, string>>
}

export interface BuiltFiles {
  readonly manifest: Manifest
  readonly files: ReadonlyMap<string, ServedFile>
  /** When the manifest was written: a later build has a later one. */
  readonly builtAt: number
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
])

/** Undefined where the console was not built. */
export function readBuiltFiles(folder: string): BuiltFiles | undefined {
  const builtAt = builtTime(folder)
  if (builtAt === undefined) return undefined
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const names = readdirSync(folder).filter((name) => TYPES.has(extname(name)))
  return { manifest, builtAt, files: new Map(names.map((name) => [name, readFile(join(folder, name))])) }
}

export function builtTime(folder: string): number | undefined {
  return statSync(join(folder, 'manifest.json'), { throwIfNoEntry: false })?.mtimeMs
}

function readFile(path: string): ServedFile {
  const content = readFileSync(path)
  const type = TYPES.get(extname(path)) ?? 'application/octet-stream'
  return { type, tag: tagOf(content), content, br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) }
}

/** For what is made when the server starts. */
export function compress(type: string, text: string): ServedFile {
  const content = Buffer.from(text)
  return { type, tag: tagOf(content), content, br: brotliCompressSync(content), gzip: gzipSync(content) }
}

export function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12)
}

function tagOf(content: Buffer): string {
  return `W/"${digestOf(content)}"`
}
