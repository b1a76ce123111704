/** The commands in the banner of the demo work in a plain shell. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'

const run = promisify(execFile)
const data = mkdtempSync(join(tmpdir(), 'gatehouse-banner-'))
let server: RunningProcess
let lines: string[]

before(async () => {
  server = await serveProcess(['--data', join(data, 'data'), '--demo', '--log-level', 'info'])
  while (!server.output().stdout.includes('All data is in')) await new Promise((resolve) => setTimeout(resolve, 20))
  lines = [...server.output().stdout.matchAll(/^ {2}((?:curl|TOKEN=|npx) ?.*)$/gm)].map(([, line = '']) => line)
})
after(async () => {
  await server.stop()
  rmSync(data, { recursive: true, force: true })
})

test('the banner names the three services and says that the passwords are public', () => {
  const { stdout } = server.output()
  assert.ok(stdout.includes(`Identity   ${server.issuer}\n`))
  assert.ok(stdout.includes(`Streaming  ${server.issuer.replace('http', 'ws')}/Platform\n`))
  assert.ok(stdout.includes(`Query      ${server.issuer}/query\n`))
  assert.match(stdout, /alice \/ wonderland-1 and admin \/ admin-please-change/)
  assert.match(stdout, /loopback only/)
})

test('the first four commands print discovery, a token, the catalogue and rows', async () => {
  assert.equal(lines.length, 7)
  const { stdout } = await run('sh', ['-c', lines.slice(0, 4).join('\n')])
  const [discovery = '', token = '', catalogue = '', trades = ''] = stdout.trimEnd().split('\n')
  assert.partialDeepStrictEqual(JSON.parse(discovery), { issuer: server.issuer })
  assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  const names = JSON.parse(catalogue).Rows.map(({ name }: { name: string }) => name)
  for (const name of ['cataloguetables', 'CatalogueTable', 'instruments', 'trades'])
    assert.ok(names.includes(name), name)
  const { Rows } = JSON.parse(trades)
  assert.equal(Rows.length, 3)
  for (const row of Rows) assert.ok(row.quantity > 300, JSON.stringify(row))
})

test('the last command opens a streaming session', async () => {
  const line = lines[6] ?? ''
  assert.match(line, /^npx gatehouse stream /)
  const args = line.split(' ').slice(2)
  const passwordFile = join(data, 'password')
  writeFileSync(passwordFile, 'wonderland-1\n')
  const { status, stdout, stderr } = await runGatehouse([...args, '--password-file', passwordFile], {
    stdin: '{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":7}\n',
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /"Result":"Success"/)
})
