/** The guide of the client library: its first program and its calls on a table are run as they are written. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { buildClient } from '../../packages/client/build.js'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const root = new URL('../../', import.meta.url)
let server: TestServer
let leave: () => Promise<void>
let examples: string[]

before(async () => {
  await buildClient()
  const guide = await readFile(new URL('docs/client.md', root), 'utf8')
  examples = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
})
after(async () => {
  await server.stop()
  await leave()
})

const example = (part: string): string => {
  const found = examples.find((code) => code.includes(part))
  assert.ok(found, `the guide has an example with ${part}`)
  return found
}

test('the ten lines show trades and then the live result', async (t) => {
  const program = example('console.table')
    .replace('http://localhost:5080', server.issuer)
    .replace('./packages/client/dist/index.js', new URL('packages/client/dist/index.js', root).href)
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  t.after(() => child.kill())
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  for await (const chunk of child.stdout) {
    output += chunk
    if (/symbol: 'ACME'/.test(output)) break
  }
  assert.match(output, /│ 'ACME' │/)
  assert.match(output, /\{ symbol: 'ACME', price: '\d+\.\d{4}' \}/)
})

test('the calls on a table, and a query without the rest', async () => {
  const gate = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ALICE }) })
  const run = Object.getPrototypeOf(async () => {}).constructor
  await run('gate', example("gate.table('trades')"))(gate)
  assert.deepEqual(await gate.query`select id from trades where id = 9001`, [])
  const parts = example('new Http(')
    .replace(/^import (.*) from '.*'$/m, 'const $1 = library')
    .replace('https://gate.example.com', server.issuer)
  const library = await import(pathToFileURL(new URL('packages/client/dist/index.js', root).pathname).href)
  const rows = await run('library', 'token', `${parts}\nreturn rows`)(library, await gate.auth.token())
  assert.equal(rows.length, 10)
  gate.close()
})
