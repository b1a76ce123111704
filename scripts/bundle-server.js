/**
 * Writes dist/: the sources as JavaScript in few files, which load in half the time. Does nothing when it is up to date.
 *
 * Files of an earlier build stay for some days, because a server that runs may not have loaded all of its files yet.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBuilt, STATE_FILE, sourcesState } from '../bin/program.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')
const KEPT_MS = 7 * 86_400_000

/** The programs: the main one, a worker, and those of the processes and threads that a server starts. */
const ENTRIES = [
  'cli/main.ts',
  'cli/serve/worker.ts',
  'query/engines/sqlite/query-process-main.ts',
  'query/engines/sqlite/split-thread.ts',
  'identity/tokens/verifier-thread.ts',
]
/** A controller that is loaded imports this class from the sources, and there must be only one of it. */
const SHARED = join(root, 'src', 'protocol', 'refusal.ts')

export async function bundleServer() {
  if (isBuilt()) return
  const state = sourcesState()
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: ENTRIES.map((file) => join(root, 'src', file)),
    absWorkingDir: root,
    outdir: dist,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: 'external',
    // Read by source-maps.js; the sources are delivered.
    sourcemap: 'linked',
    sourcesContent: false,
    inject: [join(root, 'bin', 'source-maps.js')],
    write: false,
    logLevel: 'error',
    plugins: [{ name: 'places of sources', setup: keepPlaces }],
  })
  mkdirSync(dist, { recursive: true })
  for (const { path, contents } of outputFiles) {
    // Another process may read the file meanwhile.
    writeFileSync(`${path}.${process.pid}`, contents)
    renameSync(`${path}.${process.pid}`, path)
  }
  removeOld(new Set([STATE_FILE, ...outputFiles.map(({ path }) => path)]))
  writeFileSync(STATE_FILE, JSON.stringify(state))
}

/** Files beside a source are found where they are; only its entry points are beside the bundle. */
function keepPlaces(build) {
  build.onResolve({ filter: /\/refusal\.ts$/ }, ({ path, resolveDir }) =>
    join(resolveDir, path) === SHARED ? { path: `../${slashes(relative(root, SHARED))}`, external: true } : undefined,
  )
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
    const names = new Set(ENTRIES.map((entry) => basename(entry)))
    const source = readFileSync(path, 'utf8')
      .replace(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g, (written, name) =>
        names.has(`${name}.ts`) ? `new URL('./${name}.js', import.meta.url /* bundle */)` : written,
      )
      .replace(
        /import\.meta\.url(?! \/\* bundle)/g,
        `new URL('../${slashes(relative(root, path))}', import.meta.url).href`,
      )
    return { contents: source, loader: 'ts' }
  })
}

function slashes(path) {
  return path.replaceAll('\\', '/')
}

function removeOld(current) {
  for (const name of readdirSync(dist)) {
    const file = join(dist, name)
    if (!current.has(file) && statSync(file).mtimeMs < Date.now() - KEPT_MS) rmSync(file)
  }
}
