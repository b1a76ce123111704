/** The console on PostgreSQL: in long runs every file of this folder that opens it is run a second time. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { CONSOLE_ENGINE } from '../support/console.ts'
import { IS_LONG_RUN } from '../support/engines.ts'

/** Of the segments of SQLite's databases: PostgreSQL has none. */
const ON_SQLITE_ALONE: ReadonlySet<string> = new Set(['replication.test.ts'])

const folder = import.meta.dirname
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.test.ts') && name !== basename(import.meta.filename) && !ON_SQLITE_ALONE.has(name))
  .filter((name) => readFileSync(join(folder, name), 'utf8').includes('openConsole('))

/** They share a process and its browser, as in `npm test`. */
const FILES_AT_ONCE = 6
const options = { timeout: 600_000, ...(IS_LONG_RUN ? {} : { skip: 'runs in npm run test:all' }) }

for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
  const some = files.slice(at, at + FILES_AT_ONCE)
  test(`on postgres: ${some.join(', ')}`, options, async () => {
    const { status, output } = await run(some.map((name) => join(folder, name)))
    assert.equal(status, 0, output)
  })
}

/** As a separate run, because this process already belongs to one. */
async function run(paths: readonly string[]): Promise<{ status: number | null; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const contexts = join(folder, '..', 'support', 'test-contexts.ts')
  const words = [
    '--test',
    '--test-isolation=none',
    '--test-timeout=90000',
    '--test-reporter=spec',
    '--import',
    contexts,
  ]
  const child = spawn(process.execPath, [...words, ...paths], {
    env: { ...environment, [CONSOLE_ENGINE]: 'postgres' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { status, output }
}
