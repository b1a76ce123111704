/** What runs for a caller passes `run/run.ts`, whichever protocol brought it: no other file begins a run, or calls an engine. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'

const root = new URL('../../packages/server/src/', import.meta.url).pathname

/** Without comments. */
const sources = new Map<string, string>()

before(async () => {
  for await (const file of glob('**/*.ts', { cwd: root }))
    sources.set(file, (await readFile(join(root, file), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''))
  assert.ok(sources.has('query/run/run.ts'), 'the source files are found')
})

const filesWith = (pattern: RegExp): string[] =>
  [...sources].flatMap(([file, text]) => (pattern.test(text) ? file : []))

test('a query of a caller begins to be listed, is executed and is observed in one file', () => {
  assert.deepEqual(filesWith(/\brunning\.begin\(/), ['query/run/run.ts'])
  assert.deepEqual(filesWith(/import \{[^}]*\bexecute\b[^}]*\} from '[^']*execution\.ts'/), ['query/run/run.ts'])
  // Live reads, which run for several callers at once, have a line of their own.
  const observing = filesWith(/\bobserve\(\{/).filter((file) => file.startsWith('query/'))
  assert.deepEqual(observing.toSorted(), ['query/live/evaluate/reader.ts', 'query/run/run.ts'])
})

test('engines are called by runs only', () => {
  const calls = /\.(?:readInline|readBatched|readStream|measureSteps)\b|\bengine\.(?:write|bulk|change)\(/
  const outside = filesWith(calls).filter((file) => !/^query\/(?:run|engines)\//.test(file))
  assert.deepEqual(outside, [])
})

test('step-up and attributes are required by runs only', () => {
  const importing = filesWith(/import \{[^}]*\b(?:requireStepUp|withAttributes)\b/)
  assert.deepEqual(importing.toSorted(), ['query/run/insert-rows.ts', 'query/run/run.ts'])
})
