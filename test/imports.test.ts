/** The walls between the folders: who may import whom. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const root = new URL('../src/', import.meta.url).pathname

/** A file belongs to the first of these that its path starts with. */
const AREAS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  'query/iql': ['protocol'],
  http: ['protocol'],
  events: ['protocol', 'store'],
  store: ['protocol'],
  identity: ['protocol', 'http', 'events', 'store'],
  streaming: ['protocol', 'http', 'events', 'store'],
  query: ['protocol', 'http', 'events', 'store', 'query/iql'],
  client: ['protocol'],
  'setting-parsers.ts': ['protocol'],
  'config.ts': ['protocol', 'setting-parsers.ts'],
  declarative: ['protocol', 'store', 'config.ts'],
  admin: ['protocol', 'http', 'events', 'store', 'declarative', 'config.ts'],
  server: ['setting-parsers.ts', 'protocol', 'http', 'events', 'store', 'declarative', 'config.ts'],
  'annex.ts': [
    'server',
    'protocol',
    'http',
    'events',
    'store',
    'identity',
    'query',
    'declarative',
    'admin',
    'config.ts',
  ],
  'server.ts': [
    'annex.ts',
    'server',
    'protocol',
    'http',
    'events',
    'store',
    'identity',
    'streaming',
    'query',
    'declarative',
    'admin',
    'config.ts',
  ],
  'offline.ts': ['protocol', 'events', 'store', 'identity', 'query', 'declarative', 'config.ts'],
  cli: [
    'setting-parsers.ts',
    'protocol',
    'http',
    'store',
    'client',
    'declarative',
    'admin',
    'config.ts',
    'server.ts',
    'offline.ts',
    'query/iql',
  ],
}

test('every import stays within the rules of its folder', async () => {
  const offences: string[] = []
  let imports = 0
  for await (const file of glob('**/*.ts', { cwd: root })) {
    const from = areaOf(file)
    const text = await readFile(join(root, file), 'utf8')
    for (const [, target = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      imports++
      const to = areaOf(normalize(join(dirname(file), target)))
      if (to !== from && !AREAS[from]?.includes(to))
        offences.push(`${file} imports ${target}: ${from} may not import ${to}`)
    }
  }
  assert.ok(imports > 0)
  assert.deepEqual(offences, [])
})

test('every source file says in its first line what it is for', async () => {
  const silent: string[] = []
  for await (const file of glob('**/*.ts', { cwd: root })) {
    const text = await readFile(join(root, file), 'utf8')
    if (!/^(\/\*\*|\/\/) ?\S/.test(text) && !/^\/\*\*\n/.test(text)) silent.push(file)
  }
  assert.deepEqual(silent, [])
})

function areaOf(file: string): string {
  const area = Object.keys(AREAS).find((name) => file === name || file.startsWith(`${name}/`))
  if (area === undefined) throw new Error(`${file} is in no known folder: add it to the table`)
  return area
}
