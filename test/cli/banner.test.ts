/** The commands in the banner of the demo work in a plain shell. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { launchGatehouse, type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const data = mkdtempSync(join(tmpdir(), 'gatehouse-banner-'))
let server: RunningProcess
let lines: string[]

before(async () => {
  server = await serveProcess(['--data', join(data, 'data'), '--demo', '--demo-market', '--log-level', 'info'])
  while (!server.output().stdout.includes('All data is in')) await new Promise((resolve) => setTimeout(resolve, 20))
  lines = [...server.output().stdout.matchAll(/^ {2}((?:curl|TOKEN=|\.\/gatehouse) ?.*)$/gm)].map(
    ([, line = '']) => line,
  )
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

test('the fifth command shows a result that moves', async () => {
  assert.match(lines[4] ?? '', /^curl -sN --max-time 10 .*text\/event-stream/)
  const script = `${lines[1]?.replace('; echo "$TOKEN"', '')}\nexec ${lines[4]?.replace('--max-time 10', '--max-time 60')}`
  const child = spawn('sh', ['-c', script])
  let shown = ''
  child.stdout.on('data', (chunk) => {
    shown += chunk
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await until('a change arrives', 60_000, () => shown.includes('event: change'))
  child.kill()
  await ended
  assert.match(shown, /event: snapshot\n[\s\S]*"Key":\["ACME"\]/)
})

test('the sixth command follows the quotes', async () => {
  const [, words = '', statement = ''] = /^\.\/gatehouse (query .* --live) "(.*)"$/.exec(lines[5] ?? '') ?? []
  const { child, output, ended } = launchGatehouse([...words.split(' '), statement, ...password()])
  await until('a quote changes', 60_000, () => output().stdout.includes('\n~\t'))
  child.kill('SIGINT')
  assert.equal(await ended, 0, output().stderr)
  assert.match(output().stdout, /^ \tsymbol\tbid\task\n\+\tACME\t\d+\.\d{4}\t\d+\.\d{4}\n/)
})

test('the last command opens a streaming session', async () => {
  const line = lines[6] ?? ''
  assert.match(line, /^\.\/gatehouse stream /)
  const args = line.split(' ').slice(1)
  const { status, stdout, stderr } = await runGatehouse([...args, ...password()], {
    stdin: '{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":7}\n',
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /"Result":"Success"/)
})

function password(): string[] {
  const file = join(data, 'password')
  writeFileSync(file, 'wonderland-1\n')
  return ['--password-file', file]
}
