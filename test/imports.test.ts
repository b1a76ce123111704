/** The import rules of src and console: which folder may import which, no cycles, a first line that says what a file is. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { before, test } from 'node:test'

const root = new URL('../packages/server/src/', import.meta.url).pathname

/** The folders that each folder may import. A file belongs to the first entry that its path starts with. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  protocol: [],
  telemetry: ['protocol'],
  schema: ['lib'],
  'query/iql': ['protocol', 'lib'],
  csv: ['lib', 'query/iql'],
  http: ['protocol', 'lib', 'telemetry'],
  events: ['protocol', 'lib', 'telemetry', 'store'],
  store: ['protocol', 'lib', 'telemetry'],
  identity: ['protocol', 'lib', 'telemetry', 'http', 'events', 'store'],
  streaming: ['protocol', 'lib', 'telemetry', 'http', 'events', 'store'],
  query: ['protocol', 'lib', 'schema', 'telemetry', 'http', 'events', 'store', 'query/iql'],
  console: ['protocol', 'lib', 'http'],
  site: ['protocol', 'lib', 'http', 'identity'],
  config: ['protocol', 'lib'],
  declarative: ['protocol', 'lib', 'csv', 'schema', 'store', 'config'],
  admin: ['protocol', 'lib', 'schema', 'telemetry', 'http', 'events', 'store', 'declarative', 'config'],
  server: [
    'protocol',
    'lib',
    'schema',
    'telemetry',
    'http',
    'events',
    'store',
    'identity',
    'site',
    'streaming',
    'query',
    'console',
    'declarative',
    'admin',
    'config',
  ],
  supervisor: ['protocol', 'lib', 'telemetry', 'store', 'config', 'server'],
  // The client library is a package of its own, with rules of its own (test/client/package.test.ts).
  '../client': [],
  cli: [
    'protocol',
    'lib',
    'csv',
    'telemetry',
    'store',
    'declarative',
    'admin',
    'config',
    'server',
    'supervisor',
    'query/iql',
    '../client',
  ],
}

/** Every source file with what it imports, as written; `import type` and `import()` count too. */
const imports = new Map<string, readonly string[]>()
const firstLines = new Map<string, string>()

before(async () => {
  for await (const file of glob('**/*.ts', { cwd: root })) {
    const text = await readFile(join(root, file), 'utf8')
    firstLines.set(file, text.split('\n', 1)[0] ?? '')
    imports.set(
      file,
      [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) => target),
    )
  }
  assert.ok(imports.size > 100, 'the source files are found')
})

test('every import is allowed for its folder', () => {
  const violations: string[] = []
  for (const file of imports.keys()) {
    const from = folderOf(file)
    for (const target of importedFiles(file)) {
      const to = folderOf(target)
      if (to !== from && !ALLOWED[from]?.includes(to)) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(violations, [])
})

test('the folders of identity import each other in one direction', () => {
  const pairs = new Set<string>()
  for (const file of imports.keys()) {
    const from = identityFolder(file)
    for (const target of importedFiles(file)) {
      const to = identityFolder(target)
      if (from !== undefined && to !== undefined && from !== to) pairs.add(`${from} ${to}`)
    }
  }
  assert.ok(pairs.has('browser authorize'))
  const both = [...pairs].filter((pair) => pairs.has(pair.split(' ').reverse().join(' ')))
  assert.deepEqual(both, [])
})

test('lib and protocol import only Node modules and their own files', () => {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    const folder = folderOf(file)
    if (folder !== 'lib' && folder !== 'protocol') continue
    const outside = [
      ...targets.filter((target) => !target.startsWith('.') && !target.startsWith('node:')),
      ...importedFiles(file).filter((target) => folderOf(target) !== folder),
    ]
    violations.push(...outside.map((target) => `${file} imports ${target}`))
  }
  assert.deepEqual(violations, [])
})

/** What the console is made of; the folders of each part that it may import. */
const CONSOLE: Readonly<Record<string, readonly string[]>> = {
  ui: ['server.ts'],
  grid: ['ui'],
  editor: ['ui'],
  chart: ['ui'],
  shell: ['ui', 'server.ts', 'gate.ts', 'areas'],
  admin: ['ui', 'gate.ts', 'shell'],
  areas: ['ui', 'server.ts', 'gate.ts', 'shell', 'admin', 'grid', 'editor', 'chart'],
  'gate.ts': ['server.ts'],
  'main.tsx': ['shell', 'styles', 'server.ts', 'gate.ts'],
  'server.ts': [],
  'theme.ts': [],
}
const CONSOLE_PACKAGES =
  /^(preact(\/hooks)?|@preact\/signals|@codemirror\/.+|@lezer\/.+|uplot.*|lean-qr(\/extras\/svg)?)$/

test('the console imports its own parts, its packages, the client library, the language, CSV and the rules for addresses only', async () => {
  const source = new URL('../packages/console/src/', import.meta.url).pathname
  const violations: string[] = []
  const firstWords: string[] = []
  for await (const file of glob('**/*.{ts,tsx}', { cwd: source })) {
    const text = await readFile(join(source, file), 'utf8')
    if (!/^\/\*\*( \S|$)/.test(text)) firstWords.push(file)
    const from = file.split('/')[0] ?? ''
    if (file.endsWith('.d.ts')) continue
    // Code that a page shows is in templates.
    const own = text.replaceAll(/`(?:\\.|[^`\\])*`/gs, '``')
    for (const [, target = ''] of own.matchAll(/(?:\bfrom|(?<!')\bimport)\s*\(?\s*'([^']+)'/g)) {
      const path = target.startsWith('.') ? normalize(join(dirname(file), target)) : target
      const to = path.split('/')[0] ?? ''
      const isAllowed = target.startsWith('.')
        ? path === '../../client/src/index.ts' ||
          path.startsWith('../../src/query/iql/') ||
          (path.startsWith('../../src/csv/') && path !== '../../src/csv/file.ts') ||
          // The rules for addresses of applications, which are checked while they are typed.
          path === '../../src/protocol/addresses.ts' ||
          path.endsWith('.css') ||
          (to === from && (from !== 'areas' || path.split('/')[1] === file.split('/')[1])) ||
          CONSOLE[from]?.includes(to) === true
        : CONSOLE_PACKAGES.test(path)
      if (!isAllowed) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual({ violations, firstWords }, { violations: [], firstWords: [] })
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
  for (const [file, targets] of imports) {
    if (!file.startsWith('cli/')) continue
    const own = targets.filter((target) => ['node:http', 'node:https', 'node:http2', 'ws', 'undici'].includes(target))
    found.push(...own.map((target) => `${file} imports ${target}`))
    if (/\bfetch\(/.test(await readFile(join(root, file), 'utf8'))) found.push(`${file} calls fetch`)
  }
  assert.deepEqual(found.sort(), [...OWN_CONNECTIONS, GIVEN_SOCKET])
})

test('the first line of every source file says what it is', () => {
  const without = [...firstLines].filter(([, line]) => !/^(\/\*\*|\/\/)( \S|$)/.test(line)).map(([file]) => file)
  assert.deepEqual(without, [])
})

function identityFolder(file: string): string | undefined {
  return /^identity\/([^/]+)\//.exec(file)?.[1]
}

function importedFiles(file: string): string[] {
  const targets = imports.get(file) ?? []
  return targets.filter((target) => target.startsWith('.')).map((target) => normalize(join(dirname(file), target)))
}

function folderOf(file: string): string {
  const folder = Object.keys(ALLOWED).find((name) => file.startsWith(`${name}/`))
  if (folder === undefined) throw new Error(`${file} is in no known folder: add it to the table`)
  return folder
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
