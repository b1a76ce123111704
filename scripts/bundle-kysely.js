/** Writes src/store/kysely.bundle.cjs: Kysely in one file, which every start loads in a quarter of the time of its 260 modules.
 *  Does nothing when it is up to date. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const bundle = join(root, 'src', 'store', 'kysely.bundle.cjs')

export async function bundleKysely() {
  const { version, license, author } = JSON.parse(
    readFileSync(join(root, 'node_modules', 'kysely', 'package.json'), 'utf8'),
  )
  const banner = `// Kysely ${version}, ${license}, by ${author.name ?? author}; written by scripts/bundle-kysely.js\n`
  if (existsSync(bundle) && readFileSync(bundle, 'utf8').startsWith(banner)) return
  const { build } = await import('esbuild')
  await build({
    entryPoints: [join(root, 'node_modules', 'kysely', 'dist', 'cjs', 'index.js')],
    outfile: bundle,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    banner: { js: banner.trimEnd() },
    logLevel: 'error',
  })
}
