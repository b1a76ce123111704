/**
 * Builds packages/server/dist: the sources, with those of the packages that they use, as JavaScript in few files, which load in half
 * the time. Does nothing when it is up to date.
 *
 * Files of an earlier build stay for some days, because a server that runs may not have loaded all of its files yet.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBuilt, STATE_FILE, sourcesState } from './bin/program.js'

const root = dirname(fileURLToPath(import.meta.url))
const packages = dirname(root)
const dist = join(root, 'dist')
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const KEPT_MS = 7 * 86_400_000

/** The commands, in files that share what several of them need: each loads its part. And what custom controllers import. */
const COMMANDS = { main: 'server/src/cli/main.ts', controller: 'server/src/streaming/topics/controller.ts' }
/**
 * A server, a worker, and the processes and threads that they start: one file each, which loads faster than ninety and with less
 * memory. What is imported when it is needed is in the file too, but is not run before.
 */
const SERVERS = {
  serve: 'server/src/cli/main.ts',
  worker: 'server/src/cli/serve/worker.ts',
  'verifier-thread': 'server/src/identity/tokens/verifier-thread.ts',
  'proof-thread': 'server/src/identity/dpop/proof-thread.ts',
  'query-process-main': 'server/src/query/engines/sqlite/processes/query-process-main.ts',
  'catalogue-process-main': 'server/src/wire/catalogue/process/catalogue-process-main.ts',
  'writer-thread': 'server/src/feeds/sqlite/writer-thread.ts',
  'replicator-main': 'server/src/replication/replicator-main.ts',
  'dumper-main': 'server/src/replication/dumper-main.ts',
  'task-main': 'server/src/replication/task-main.ts',
}
/** The names of the files that a build has written. */
const FILES_FILE = join(dist, 'files.json')

/** `onBuild` is called if something has changed since the last time. */
export async function buildServer(onBuild) {
  if (isBuilt()) return
  onBuild?.()
  const state = sourcesState()
  const outputFiles = [...(await bundle(COMMANDS, { splitting: true })), ...(await bundle(SERVERS, ONE_FILE))]
  mkdirSync(dist, { recursive: true })
  for (const { path, text } of outputFiles) {
    // Another process may read the file meanwhile.
    writeFileSync(`${path}.${process.pid}`, path.endsWith('.js') ? escaped(text) : text)
    renameSync(`${path}.${process.pid}`, path)
  }
  const paths = outputFiles.map(({ path }) => path)
  removeOld(new Set([STATE_FILE, FILES_FILE, ...paths]))
  writeFileSync(FILES_FILE, JSON.stringify(paths.map((path) => basename(path))))
  writeFileSync(STATE_FILE, JSON.stringify(state))
}

/** Node holds a source with one other character as two bytes for each. esbuild leaves those in regular expressions and tagged templates. */
function escaped(source) {
  return source.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const ONE_FILE = {
  banner: {
    js: "import { createRequire as requireOfFile } from 'node:module'; const require = requireOfFile(import.meta.url);",
  },
  plugins: [
    { name: 'other commands', setup: leaveOutCommands },
    { name: 'later imports', setup: requireLater },
  ],
}

async function bundle(programs, { plugins = [], ...options }) {
  const { build } = await import('esbuild')
  const entries = Object.entries(programs).map(([name, file]) => [name, join(packages, file)])
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(entries),
    absWorkingDir: root,
    outdir: dist,
    chunkNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // The others are packages of this repository, and one of 260 modules.
    external: Object.keys(dependencies),
    conditions: ['import'],
    // Read by source-maps.js.
    sourcemap: 'linked',
    sourcesContent: false,
    minifyWhitespace: true,
    inject: [join(root, 'bin', 'source-maps.js')],
    write: false,
    logLevel: 'error',
    plugins: [{ name: 'places of sources', setup: keepPlaces }, ...plugins],
    ...options,
  })
  return outputFiles
}

/**
 * Entry points are next to the bundle. Everything else is as far from a source as before: those of other packages count as sources of
 * this one, which has all that is installed for them.
 */
function keepPlaces(build) {
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
    const names = new Set(Object.values(SERVERS).map((entry) => basename(entry)))
    const source = readFileSync(path, 'utf8')
      .replace(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g, (written, name) =>
        names.has(`${name}.ts`) ? `new URL('./${name}.js', import.meta.url /* bundle */)` : written,
      )
      .replace(
        /import\.meta\.url(?! \/\* bundle)/g,
        `new URL('../src/${slashes(relative(packages, path)).replace(/^[^/]+\/src\//, '')}', import.meta.url).href`,
      )
    return { contents: source, loader: 'ts' }
  })
}

/** A server runs no other command. */
function leaveOutCommands(build) {
  build.onResolve({ filter: /\.ts$/ }, ({ path, kind, importer, resolveDir }) =>
    kind === 'dynamic-import' && /commands\.ts$/.test(importer) && path !== './serve.ts'
      ? { path: `../${slashes(relative(root, join(resolveDir, path)))}`, external: true }
      : undefined,
  )
}

/** Packages and large modules of Node that only what is imported later uses. In one file, every import would be done at the start. */
const LATER = [
  ...['marked', 'nodemailer', 'pg', 'ws', 'yaml'],
  ...['bytewriter', 'datapage', 'encoding', 'metadata'].map((name) => `hyparquet-writer/src/${name}.js`),
  ...['constants', 'convert', 'encoding', 'plain', 'snappy'].map((name) => `hyparquet/src/${name}.js`),
  ...['async_hooks', 'child_process', 'cluster', 'dns', 'https', 'readline', 'readline/promises', 'worker_threads'].map(
    (name) => `node:${name}`,
  ),
]

/** A module in CommonJS is run when one that imports it is. */
function requireLater(build) {
  build.onResolve({ filter: /^[\w-]+(:[\w/]+|\/[\w/.-]+)?$/ }, ({ path, kind }) =>
    kind === 'import-statement' && LATER.includes(path) ? { path, namespace: 'later' } : undefined,
  )
  build.onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
    contents: `module.exports = require(${JSON.stringify(path)})`,
    resolveDir: root,
  }))
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
