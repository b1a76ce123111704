/** Builds client/dist: the library in one file, and the same minified. Does nothing when it is up to date. The types are in types/. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const client = dirname(fileURLToPath(import.meta.url))
const source = join(client, 'src')
const [whole, minified] = ['index.js', 'index.min.js'].map((name) => join(client, 'dist', name))

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
  await build({ ...options, outfile: minified, minify: true, sourcemap: true })
  await build({ ...options, outfile: whole })
}

function isCurrent() {
  const built = Math.min(...[whole, minified, `${minified}.map`].map(ageOf))
  const sources = readdirSync(source, { recursive: true }).map((file) => join(source, file))
  return [fileURLToPath(import.meta.url), ...sources].every((file) => ageOf(file) <= built)
}

function ageOf(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0
}
