/**
 * Run by npm before and after `npm pack` in a package that is published: puts the files that the package has from elsewhere in the
 * repository next to its manifest, and removes them again. Runs on Node ≥ 20.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { billOfMaterials } from './bill-of-materials.js'
import { writeControllerTypes } from './controller-types.js'
import { writeNotices } from './notices.js'

const folder = process.cwd()
const root = join(folder, '..', '..')
/** What each package has from elsewhere: the name in the package, and where it is in the repository. */
const STAGED = {
  client: { LICENSE: 'LICENSE' },
  server: {
    LICENSE: 'LICENSE',
    'CHANGELOG.md': 'CHANGELOG.md',
    docs: 'docs',
    console: 'packages/console/dist',
    client: 'packages/client/dist',
    systemd: 'examples/systemd',
    // The guides use them.
    examples: 'examples',
    'pages/fonts': 'packages/server/src/identity/pages/fonts',
    'pages/scripts': 'packages/server/src/identity/pages/scripts',
    'pages/styles': 'packages/server/src/identity/pages/styles',
    'zones.txt': 'packages/server/src/query/zones/zones.txt',
  },
}
/** What is written for the package of the server. */
const WRITTEN = ['sbom.cdx.json', 'third-party-licences.txt', 'types']
const [MATERIALS, NOTICES, TYPES] = WRITTEN.map((file) => join(folder, file))
/** Keeps the files of earlier builds, which servers that run in this clone may still load, out of the package. */
const IGNORED = join(folder, 'dist', '.npmignore')

/** npm takes no pattern beyond 64 KiB. */
const FILES_IN_PATTERN = 500

const name = basename(folder)
clean()
if (!process.argv.includes('--clean')) stage()

function stage() {
  for (const [to, from] of Object.entries(STAGED[name]))
    cpSync(join(root, from), join(folder, to), { recursive: true, filter: isSource })
  if (name !== 'server') return
  const materials = billOfMaterials(root)
  writeFileSync(MATERIALS, `${JSON.stringify(materials, null, 2)}\n`)
  const typefaces = readFileSync(join(folder, 'pages/fonts/LICENSE.txt'), 'utf8')
  writeFileSync(NOTICES, [...writeNotices(root, materials.components), typefaces].join('\n\n'))
  mkdirSync(TYPES)
  writeControllerTypes(root, TYPES)
  rmSync(join(TYPES, 'tsconfig.json'))
  const current = new Set(JSON.parse(readFileSync(join(folder, 'dist', 'files.json'), 'utf8')))
  const others = readdirSync(join(folder, 'dist')).filter((file) => !current.has(file))
  writeFileSync(IGNORED, ['.npmignore', ...ignorePatterns(others)].map((pattern) => `/${pattern}\n`).join(''))
}

/** Without what starting a sample has installed or built in its folder. */
function isSource(path) {
  return !/\/examples\/.*\/(node_modules|built|target|\.venv|__pycache__)$/.test(path)
}

/** npm compares each file with each pattern, and after many builds there are thousands of both: a pattern is for many files. */
function ignorePatterns(files) {
  const patterns = []
  for (let at = 0; at < files.length; at += FILES_IN_PATTERN)
    patterns.push(`@(${files.slice(at, at + FILES_IN_PATTERN).join('|')})`)
  return patterns
}

function clean() {
  const written = name === 'server' ? [MATERIALS, NOTICES, TYPES, IGNORED] : []
  for (const path of [...Object.keys(STAGED[name]).map((to) => join(folder, to.split('/')[0])), ...written])
    rmSync(path, { recursive: true, force: true })
}
