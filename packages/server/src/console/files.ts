/** The files of the console as `packages/console/build.js` wrote them, each as it is, in Brotli and in gzip; held in memory once asked for. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type CompressedContent, weakEtag } from '../http/compressed.ts'

/** What the HTML page loads in one language; the names are those of files. */
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
  /** By language. */
  readonly manifests: ReadonlyMap<string, Manifest>
  readonly file: (name: string) => CompressedContent | undefined
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
  const manifests: Record<string, Manifest> = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const names = new Set(readdirSync(folder).filter((name) => TYPES.has(extname(name))))
  const files = new Map<string, CompressedContent>()
  const file = (name: string) => {
    if (!names.has(name)) return undefined
    const content = files.get(name) ?? readFile(join(folder, name))
    files.set(name, content)
    return content
  }
  return { manifests: new Map(Object.entries(manifests)), builtAt, file }
}

export function builtTime(folder: string): number | undefined {
  return statSync(join(folder, 'manifest.json'), { throwIfNoEntry: false })?.mtimeMs
}

function readFile(path: string): CompressedContent {
  const content = readFileSync(path)
  const type = TYPES.get(extname(path)) ?? 'application/octet-stream'
  return { type, tag: weakEtag(content), content, br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) }
}
