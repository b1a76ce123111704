/** Builds client/dist: the library in one file, the same minified, and the types. Does nothing when it is up to date. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const client = dirname(fileURLToPath(import.meta.url))
const [source, dist] = [join(client, 'src'), join(client, 'dist')]
const compiler = join(client, '..', 'node_modules', 'typescript', 'bin', 'tsc')

export async function buildClient() {
  if (isCurrent()) return
  const { build } = await import('esbuild')
  const options = {
    entryPoints: [join(source, 'index.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  }
  await build({ ...options, outfile: join(dist, 'index.min.js'), minify: true, sourcemap: true })
  if (existsSync(compiler)) writeTypes()
  // Last, because its age says whether all of it is up to date.
  await build({ ...options, outfile: join(dist, 'index.js') })
}

function isCurrent() {
  const built = ageOf(join(dist, 'index.js'))
  const sources = readdirSync(source, { recursive: true }).map((file) => join(source, file))
  return [fileURLToPath(import.meta.url), ...sources].every((file) => ageOf(file) <= built)
}

function ageOf(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0
}

/** The compiler comes with the development packages only. */
function writeTypes() {
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', join(client, 'tsconfig.json')], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The types of the client cannot be written:\n${stdout}`)
}
