// Finds a program of src/. In an installed package, which has no sources, it is in the bundle in dist/. In a clone it is too, if the
// bundle was built from the sources as they are now: it loads in half the time, and with less memory. Else it is the source itself.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
/** What the bundle is made of. */
const SOURCES = ['src', '../client/src', '../csv/src', '../iql/src', '../protocol/src']
/** Written last by a build. */
export const STATE_FILE = join(root, 'dist', 'sources.json')

/** `source` is a path below src/, and `built` the name of its file in dist/. Returns what to import. */
export function chooseProgram(source, built = basename(source, '.ts')) {
  const file = isInstalled() || isBuilt() ? join('dist', `${built}.js`) : join('src', source)
  return pathToFileURL(join(root, file)).href
}

/** The path of a program's bundle, if it was built from the sources as they are. */
export function builtFile(name) {
  return isBuilt() ? join(root, 'dist', `${name}.js`) : undefined
}

function isInstalled() {
  return !existsSync(join(root, 'build.js'))
}

/** Whether dist/ was built from the files that are there now. A folder is newer if a file was added, removed or replaced. */
export function isBuilt() {
  try {
    const state = JSON.parse(readFileSync(STATE_FILE, 'utf8'))
    return state.every(([path, time, size]) => {
      const now = statSync(`${root}/${path}`)
      return modifiedSeconds(now) === time && (size === undefined || now.size === size)
    })
  } catch {
    return false
  }
}

/** The path and the time of every folder and source, and the length of a source. */
export function sourcesState() {
  const folders = []
  const files = ['package.json', 'build.js', join('bin', 'source-maps.js')]
  for (const name of SOURCES) {
    for (const entry of readdirSync(join(root, name), { recursive: true, withFileTypes: true })) {
      const path = relative(root, join(entry.parentPath, entry.name))
      if (entry.isDirectory()) folders.push(path)
      else if (entry.name.endsWith('.ts')) files.push(path)
    }
  }
  return [
    ...folders.map((path) => [path, modifiedSeconds(statSync(join(root, path)))]),
    ...files.map((path) => [path, modifiedSeconds(statSync(join(root, path))), statSync(join(root, path)).size]),
  ]
}

/** Whole ones: copies and images may not keep more. */
function modifiedSeconds({ mtimeMs }) {
  return Math.floor(mtimeMs / 1000)
}
