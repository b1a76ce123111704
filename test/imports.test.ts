/** The import rules: which package may import which, which folder of the server and the console may import which, no cycles, a first line that says what a file is. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { before, test } from 'node:test'

const root = new URL('../packages/', import.meta.url).pathname

/**
 * The packages of this repository that each package may import, by their entries only: by name, or, for the client library, whose
 * name stands for what is built, by the files of its entries.
 */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  iql: ['protocol'],
  csv: ['iql'],
  client: [],
  console: ['client', 'csv', 'iql', 'protocol'],
  server: ['client', 'csv', 'iql', 'protocol'],
}

const CLIENT_ENTRIES = ['client/src/index.ts', 'client/src/dpop.ts']

const BASE = ['lib', 'telemetry']
const DATA = [...BASE, 'store', 'events']
/** The folders that each folder of the server may import. */
const SERVER: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  telemetry: [],
  schema: ['lib'],
  'child-process': ['lib'],
  http: BASE,
  'step-up': BASE,
  store: BASE,
  events: [...BASE, 'store'],
  accounts: [...BASE, 'store'],
  identity: [...DATA, 'http', 'accounts'],
  streaming: [...DATA, 'http', 'step-up'],
  query: [...DATA, 'http', 'schema', 'step-up', 'child-process'],
  feeds: [...DATA, 'http', 'step-up'],
  wire: [...DATA, 'http', 'step-up', 'child-process', 'query'],
  mail: [...BASE, 'store', 'accounts'],
  scim: [...DATA, 'http', 'accounts'],
  console: ['lib', 'http'],
  site: ['lib', 'http', 'identity'],
  config: ['lib'],
  demo: [...DATA, 'http', 'config', 'declarative', 'feeds', 'query'],
  resources: ['lib', 'schema', 'store'],
  declarative: ['lib', 'schema', 'store', 'accounts', 'config', 'resources'],
  admin: [...DATA, 'schema', 'http', 'accounts', 'resources', 'declarative', 'config'],
  server: [
    ...[...DATA, 'schema', 'http', 'accounts', 'identity', 'site', 'streaming', 'query', 'feeds', 'mail', 'scim'],
    ...['wire', 'console', 'declarative', 'admin', 'config', 'demo', 'step-up'],
  ],
  supervisor: [...BASE, 'store', 'config', 'server'],
  move: ['store', 'query'],
  cli: [...BASE, 'store', 'query', 'resources', 'declarative', 'admin', 'config', 'server', 'supervisor', 'move'],
}

/** The parts of the console, and the parts that each may import. */
const CONSOLE: Readonly<Record<string, readonly string[]>> = {
  ui: ['server.ts'],
  grid: ['ui'],
  editor: ['ui'],
  chart: ['ui'],
  shell: ['ui', 'server.ts', 'gate.ts'],
  admin: ['ui', 'gate.ts', 'shell'],
  areas: ['ui', 'server.ts', 'gate.ts', 'shell', 'admin', 'grid', 'editor', 'chart'],
  'areas.ts': ['shell', 'areas'],
  'gate.ts': ['server.ts'],
  'main.tsx': ['areas.ts', 'shell', 'styles', 'server.ts', 'gate.ts'],
  'server.ts': [],
  'theme.ts': [],
}

/** Every source file with what it imports, as written; `import type` and `import()` count too. */
const imports = new Map<string, readonly string[]>()
const firstLines = new Map<string, string>()

before(async () => {
  for await (const file of glob('*/src/**/*.{ts,tsx}', { cwd: root })) {
    if (file.endsWith('.d.ts')) continue
    const text = await readFile(join(root, file), 'utf8')
    firstLines.set(file, text.split('\n', 1)[0] ?? '')
    // Code that a page shows is in templates.
    const own = file.startsWith('console/') ? text.replaceAll(/`(?:\\.|[^`\\])*`/gs, '``') : text
    imports.set(
      file,
      [...own.matchAll(/(?:\bfrom|(?<!')\bimport)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) => target),
    )
  }
  assert.ok(imports.size > 800, 'the source files are found')
})

test('a package imports only the packages it may, and by their names', () => {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    const from = packageOf(file)
    for (const target of targets) {
      const name = /^(?:gatehouse-|@gatehouse\/)(\w+)(\/.*)?$/.exec(target)
      const path = target.startsWith('.') ? resolve(file, target) : undefined
      const to =
        path !== undefined && CLIENT_ENTRIES.includes(path) ? 'client' : name?.[2] === undefined ? name?.[1] : undefined
      const isAllowed =
        path === undefined && name === null
          ? true
          : (path !== undefined && packageOf(path) === from) ||
            (to !== undefined && PACKAGES[from]?.includes(to) === true)
      if (!isAllowed) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(violations, [])
})

test('every import is allowed for its folder', () => {
  assert.deepEqual([...violationsOf('server', SERVER), ...violationsOf('console', CONSOLE)], [])
})

/** The files of a folder that the others may import. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  'server/src/query': ['index.ts', 'codecs.ts', 'storage.ts', 'file-schema.ts'],
}

test('a folder with entries is imported by them only', () => {
  const violations: string[] = []
  for (const [folder, entries] of Object.entries(ENTRIES)) {
    const paths = new Set(entries.map((entry) => `${folder}/${entry}`))
    for (const file of imports.keys()) {
      if (file.startsWith(`${folder}/`)) continue
      for (const target of importedFiles(file))
        if (target.startsWith(`${folder}/`) && !paths.has(target)) violations.push(`${file} imports ${target}`)
    }
    for (const path of paths) assert.ok(imports.has(path), path)
  }
  assert.deepEqual(violations, [])
})

test('an area of the console does not import another', () => {
  const violations: string[] = []
  for (const file of imports.keys()) {
    const area = /^console\/src\/areas\/([^/]+)\//.exec(file)?.[1]
    for (const target of importedFiles(file)) {
      const other = /^console\/src\/areas\/([^/]+)\//.exec(target)?.[1]
      if (area !== undefined && other !== undefined && area !== other) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(violations, [])
})

/** The folders whose parts import each other in one direction only. */
const LAYERED = [
  'console/src',
  'iql/src',
  'server/src',
  'server/src/http',
  'server/src/identity',
  'server/src/identity/browser',
  'server/src/query',
  'server/src/query/live',
  'server/src/store',
  'server/src/streaming',
  ...['server/src/query/engines', 'server/src/query/engines/postgres', 'server/src/query/engines/sqlite'],
]

test('folders import each other in one direction', () => {
  const both: string[] = []
  for (const folder of LAYERED) {
    const pairs = new Set<string>()
    for (const file of imports.keys()) {
      const from = partOf(file, folder)
      for (const target of importedFiles(file)) {
        const to = partOf(target, folder)
        if (from !== undefined && to !== undefined && from !== to) pairs.add(`${from} ${to}`)
      }
    }
    assert.ok(pairs.size > 0, folder)
    both.push(
      ...[...pairs]
        .filter((pair) => pairs.has(pair.split(' ').reverse().join(' ')))
        .map((pair) => `${folder}: ${pair}`),
    )
  }
  assert.deepEqual(both, [])
})

test('lib and protocol import only Node modules and their own files', () => {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    if (!file.startsWith('protocol/') && !file.startsWith('server/src/lib/')) continue
    const outside = targets.filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
    violations.push(...outside.map((target) => `${file} imports ${target}`))
  }
  assert.deepEqual(violations, [])
})

test('there is no import cycle, not even of types', () => {
  const cycles = new Set([...imports.keys()].map(shortestCycle).filter((cycle) => cycle !== undefined))
  assert.deepEqual([...cycles].sort(), [])
})

/** `health` asks the server of this machine, whatever its certificate says; the socket is the one that the library is given. */
const OWN_CONNECTIONS = ['cli/health.ts imports node:http', 'cli/health.ts imports node:https']
const GIVEN_SOCKET = 'cli/stream/shared-socket.ts imports ws'

test('the command line talks to servers through the client library', async () => {
  const found: string[] = []
  for (const [path, targets] of imports) {
    if (!path.startsWith('server/src/cli/')) continue
    const file = path.slice('server/src/'.length)
    const own = targets.filter((target) => ['node:http', 'node:https', 'node:http2', 'ws', 'undici'].includes(target))
    found.push(...own.map((target) => `${file} imports ${target}`))
    if (/\bfetch\(/.test(await readFile(join(root, path), 'utf8'))) found.push(`${file} calls fetch`)
  }
  assert.deepEqual(found.sort(), [...OWN_CONNECTIONS, GIVEN_SOCKET])
})

test('the first line of every source file says what it is', () => {
  const without = [...firstLines].filter(([, line]) => !/^(\/\*\*|\/\/)( \S|$)/.test(line)).map(([file]) => file)
  assert.deepEqual(without, [])
})

function violationsOf(name: string, allowed: Readonly<Record<string, readonly string[]>>): string[] {
  const found: string[] = []
  for (const file of imports.keys()) {
    const from = partOf(file, `${name}/src`)
    if (from === undefined) continue
    if (!Object.hasOwn(allowed, from)) throw new Error(`${from} of ${name} is in no table: add it`)
    for (const target of importedFiles(file)) {
      const to = partOf(target, `${name}/src`)
      if (to !== undefined && to !== from && !target.endsWith('.css') && !allowed[from]?.includes(to))
        found.push(`${file} imports ${target}`)
    }
  }
  return found
}

function packageOf(file: string): string {
  return file.split('/')[0] ?? ''
}

/** The first part of the path below a folder. */
function partOf(file: string, folder: string): string | undefined {
  const rest = file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : undefined
  return rest === undefined || (folder !== 'console/src' && !rest.includes('/')) ? undefined : rest.split('/')[0]
}

function importedFiles(file: string): string[] {
  return (imports.get(file) ?? []).filter((target) => target.startsWith('.')).map((target) => resolve(file, target))
}

function resolve(file: string, target: string): string {
  return normalize(join(dirname(file), target))
}

/** A shortest path from a file back to itself, as `a → b → a`, starting at its first file by name. */
function shortestCycle(start: string): string | undefined {
  const importers = new Map<string, string>()
  const queue = [start]
  for (const file of queue) {
    for (const target of importedFiles(file)) {
      if (target === start) return describeCycle(pathTo(file))
      if (importers.has(target)) continue
      importers.set(target, file)
      queue.push(target)
    }
  }
  return undefined

  function pathTo(file: string): string[] {
    return file === start ? [start] : [...pathTo(importers.get(file) ?? start), file]
  }
}

function describeCycle(files: readonly string[]): string {
  const first = files.indexOf([...files].sort()[0] ?? '')
  const rotated = [...files.slice(first), ...files.slice(0, first)]
  return [...rotated, rotated[0]].join(' → ')
}
