/**
 * Builds client/dist: the library in one file, what it offers beside it in another, both also minified, and the package with its types, which servers offer to programs. Does
 * nothing when it is up to date. The types are in types/.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTarball } from './tarball.js'

const client = dirname(fileURLToPath(import.meta.url))
const source = join(client, 'src')
/** The library, and what applications import beside it. */
const ENTRIES = ['index', 'dpop']
const dist = (name) => join(client, 'dist', name)
const packed = dist('package.tgz')

/** `onBuild` is called if something has changed since the last time. */
export async function buildClient(onBuild) {
  if (isCurrent()) return
  onBuild?.()
  const { build } = await import('esbuild')
  const options = {
    // The output names the sources relative to this folder, wherever the build is started.
    absWorkingDir: client,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  }
  for (const name of ENTRIES) {
    const entry = { ...options, entryPoints: [join(source, `${name}.ts`)] }
    await build({ ...entry, outfile: dist(`${name}.min.js`), minify: true, sourcemap: true })
    await build({ ...entry, outfile: dist(`${name}.js`) })
  }
  writeFileSync(packed, createTarball(packageFiles()))
}

/** Without what only publishing needs. */
function packageFiles() {
  const { scripts, publishConfig, ...manifest } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'))
  const types = readdirSync(join(client, 'types'), { recursive: true }).filter((name) => name.endsWith('.d.ts'))
  const paths = [
    ...ENTRIES.flatMap((name) => [`dist/${name}.js`, `dist/${name}.min.js`]),
    ...types.sort().map((name) => `types/${name.replaceAll('\\', '/')}`),
  ]
  return [
    { path: 'package.json', content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    ...paths.map((path) => ({ path, content: readFileSync(join(client, path)) })),
  ]
}

function isCurrent() {
  const files = ENTRIES.flatMap((name) => ['js', 'min.js', 'min.js.map'].map((ending) => dist(`${name}.${ending}`)))
  const built = Math.min(...[...files, packed].map(modifiedAt))
  const folders = [source, join(client, 'types')]
  const sources = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((file) => join(folder, file)),
  )
  const own = ['build.js', 'package.json', 'tarball.js'].map((name) => join(client, name))
  return [...own, ...sources].every((file) => modifiedAt(file) <= built)
}

function modifiedAt(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0
}
