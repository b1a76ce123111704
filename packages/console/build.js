/**
 * Builds console/dist: files whose names contain a digest of their content, each also compressed, and manifest.json, which
 * names what the HTML page loads in each language. Does nothing when it is up to date.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { readCatalogue, translated } from './texts.js'

const folder = dirname(fileURLToPath(import.meta.url))
const [source, dist, languages] = ['src', 'dist', 'languages'].map((name) => join(folder, name))
/** The sources are in English; each folder is another language. */
const LANGUAGES = [
  'en',
  ...readdirSync(languages, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name),
]
const libraries = ['client', 'csv', 'iql', 'protocol'].map((name) => join(folder, '..', name, 'src'))
/** Shown too: what is wrong with an address while it is typed, and what an event of the audit log means. */
const SHOWN_OF_PROTOCOL = ['addresses.ts', 'audit-events.ts'].map((file) => join(folder, '..', 'protocol', 'src', file))
const [brotli, gzip] = [promisify(zlib.brotliCompress), promisify(zlib.gzip)]

/** `onBuild` is called if something has changed since the last time. */
export async function buildConsole(onBuild) {
  if (isCurrent()) return
  onBuild?.()
  const built = await Promise.all(LANGUAGES.map(buildIn))
  const chats = await Promise.all(LANGUAGES.map(async (language) => [language, await buildChat(language)]))
  await writeFiles(
    Object.fromEntries(chats),
    // A file without texts is the same in every language.
    new Map(built.flatMap(({ files }) => files.map(({ path, contents }) => [basename(path), contents]))),
    Object.fromEntries(built.map(({ language, manifest }) => [language, manifest])),
  )
}

const BUNDLED = {
  absWorkingDir: folder,
  bundle: true,
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  write: false,
  logLevel: 'error',
}

async function buildIn(language) {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    entryPoints: ['main.tsx', 'theme.ts', 'styles/main.css'].map((file) => join(source, file)),
    outdir: dist,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    ...BUNDLED,
    splitting: true,
    format: 'esm',
    metafile: true,
    plugins: inLanguage(language),
  })
  return { language, files: outputFiles.filter(isLoaded(metafile)), manifest: createManifest(metafile) }
}

function inLanguage(language) {
  if (language === 'en') return []
  return [translated([source, ...SHOWN_OF_PROTOCOL], readCatalogue(join(languages, language)))]
}

/** The chart in a chat, as one script and one style sheet: its page loads nothing. */
async function buildChat(language) {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    ...BUNDLED,
    entryPoints: [join(source, 'chat', 'main.tsx')],
    outdir: dist,
    format: 'iife',
    plugins: inLanguage(language),
  })
  const text = (ending) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
  return { script: text('.js'), style: text('.css') }
}

/** Newer than every source, also of what it shares with the rest of the product. */
function isCurrent() {
  const built = modifiedAt(join(dist, 'manifest.json'))
  const files = [source, languages, ...libraries].flatMap((place) =>
    existsSync(place) ? readdirSync(place, { recursive: true }).map((file) => join(place, file)) : [],
  )
  const lock = join(folder, '..', '..', 'package-lock.json')
  return [fileURLToPath(import.meta.url), join(folder, 'texts.js'), lock, ...files].every(
    (file) => modifiedAt(file) <= built,
  )
}

function modifiedAt(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0
}

/**
 * esbuild puts the style sheets of all modules that a script can ever import next to the script. Those of the areas are
 * loaded with the areas, and the shell has its own, so the one of the entry point is not needed.
 */
function isLoaded({ outputs }) {
  const main = Object.values(outputs).find(({ entryPoint }) => entryPoint === 'src/main.tsx')
  return ({ path }) => path !== join(folder, main.cssBundle ?? '')
}

/** What the page loads first, and the style sheet of each area, which is loaded with it. */
function createManifest({ outputs }) {
  const built = Object.entries(outputs).map(([file, output]) => ({ ...output, file, name: basename(file) }))
  const entry = (name) => built.find(({ entryPoint }) => entryPoint === `src/${name}`)
  const main = entry('main.tsx')
  const areas = built.flatMap(({ entryPoint, cssBundle }) => {
    const name = /^src\/areas\/([^/]+)\/index\.tsx$/.exec(entryPoint ?? '')?.[1]
    return name === undefined || cssBundle === undefined ? [] : [[name, basename(cssBundle)]]
  })
  return {
    script: main.name,
    theme: entry('theme.ts').name,
    styles: [entry('styles/main.css').name],
    preload: [...staticImports(main, built)],
    areaStyles: Object.fromEntries(areas),
  }
}

function staticImports(output, built, found = new Set()) {
  for (const { path, kind } of output.imports) {
    const imported = built.find(({ file }) => file === path)
    if (kind !== 'import-statement' || imported === undefined || found.has(imported.name)) continue
    found.add(imported.name)
    staticImports(imported, built, found)
  }
  return found
}

/** Into a new folder that then takes the place of the old one: another process may read it meanwhile. */
async function writeFiles(chats, files, manifests) {
  await mkdir(dist, { recursive: true })
  await removeAbandoned()
  // Not mkdtemp, whose folder nobody else can read: a server may run as another user than the one that builds.
  const fresh = join(folder, `dist-${randomUUID()}`)
  await mkdir(fresh)
  await Promise.all(
    [...files].map(async ([name, contents]) => {
      const file = join(fresh, name)
      const [br, gz] = await Promise.all([brotli(contents, BROTLI), gzip(contents, { level: 9 })])
      await Promise.all([writeFile(file, contents), writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)])
    }),
  )
  await writeFile(join(fresh, 'chat.json'), JSON.stringify(chats))
  await writeFile(join(fresh, 'manifest.json'), `${JSON.stringify(manifests, null, 2)}\n`)
  // Moved away as a whole: what another process puts here meanwhile is not removed.
  const before = `${fresh}-before`
  await rename(dist, before).catch(() => {})
  try {
    await rename(fresh, dist)
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    // Another process was faster.
    if (!existsSync(join(dist, 'manifest.json'))) throw error
  } finally {
    await rm(before, { recursive: true, force: true })
  }
}

/** What builds have left that were ended by a signal. */
async function removeAbandoned() {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith('dist-')))
    if (modifiedAt(join(folder, name)) < Date.now() - 3_600_000)
      await rm(join(folder, name), { recursive: true, force: true })
}

const BROTLI = {
  params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11, [zlib.constants.BROTLI_PARAM_MODE]: 1 },
}
