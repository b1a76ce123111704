/** The built client library in each runtime that this machine has: Node always, Deno and Bun where they are on the PATH. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildClient } from '../../packages/client/build.js'
import { useServer } from '../support/server.ts'

const run = promisify(execFile)
const FLOW = fileURLToPath(new URL('runtimes/flow.mjs', import.meta.url))
const LATE_MS = 120_000

/** `npm run runtimes` fetches the others and runs this file with them. */
const RUNTIMES = [
  { name: 'Node', program: process.execPath, args: [] },
  { name: 'Node 20', program: 'node20', args: [] },
  { name: 'Deno', program: 'deno', args: ['run', '--no-config', '--no-lock', '--allow-net'] },
  { name: 'Bun', program: 'bun', args: [] },
] as const

before(async () => {
  await buildClient()
})
const server = useServer({ flags: { '--demo': 'true' } })

for (const { name, program, args } of RUNTIMES) {
  const version = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const skip = version.status === 0 ? false : `${program} is not installed`
  test(`queries, tables, live queries and the stream in ${name}`, { skip }, async (t) => {
    t.diagnostic(`${name} ${version.stdout.split('\n', 1)[0]}`)
    const { stdout } = await run(program, [...args, FLOW, server.issuer], { timeout: LATE_MS })
    assert.match(stdout, /\ndone\n$/)
  })
}
