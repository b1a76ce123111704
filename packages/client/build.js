/**
 * Builds client/dist: the library in one file, the same minified, and the package with its types, which servers offer to programs. Does
 * nothing when it is up to date. The types are in types/.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tarballOf } from './tarball.js'

const client = dirname(fileURLToPath(import.meta.url))
const source = join(client, 'src')
const [whole, minified, packed] = ['index.js', 'index.min.js', 'package.tgz'].map((name) => join(client, 'dist', name))

export async function buildClient() {
  if (isCurrent()) return
  const { build } = await import('esbuild')
  const options = {
    // The output names the sources relative to this folder, wherever the build is started.
    absWorkingDir: client,
    entryPoints: [join(source, 'index.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  }
  await build({ ...options, outfile: minified, minify: true, sourcemap: true })
  await build({ ...options, outfile: whole })
  writeFileSync(packed, tarballOf(packageFiles()))
}

/** Without what only publishing needs. */
function packageFiles() {
  const { scripts, publishConfig, ...manifest } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'))
  const types = readdirSync(join(client, 'types'), { recursive: true }).filter((name) => name.endsWith('.d.ts'))
  const paths = [
    'dist/index.js',
    'dist/index.min.js',
    ...types.sort().map((name) => `types/${name.replaceAll('\\', '/')}`),
  ]
  return [
    { path: 'package.json', content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    ...paths.map((path) => ({ path, content: readFileSync(join(client, path)) })),
  ]
}

function isCurrent() {
  const built = Math.min(...[whole, minified, `${minified}.map`, packed].map(ageOf))
  const folders = [source, join(client, 'types')]
  const sources = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((file) => join(folder, file)),
  )
  const own = ['build.js', 'package.json', 'tarball.js'].map((name) => join(client, name))
  return [...own, ...sources].every((file) => ageOf(file) <= built)
}

function ageOf(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0
}
