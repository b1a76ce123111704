/** Failures of the environment: closed pipes, wrong folders, damaged databases, control characters in names. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runInProcess } from '../support/in-process.ts'
import { launchGatehouse, runGatehouse } from '../support/process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-environment-'))
after(() => rmSync(base, { recursive: true, force: true }))
const data = ['--data', join(base, 'data')]

before(async () => {
  await runInProcess(['migrate', '--create', ...data])
  const { status, stderr } = await runInProcess(['role', 'add', 'trader', ...data])
  assert.equal(status, 0, stderr)
})

/** Like `gatehouse … | true`. */
async function runUnread(args: readonly string[]): Promise<{ status: number | null; stderr: string }> {
  const { child, ended, output } = launchGatehouse(args)
  child.stdin?.end()
  child.stdout?.destroy()
  return { status: await ended, stderr: output().stderr }
}

test('a change is made and audited even if nothing reads the output', async () => {
  assert.deepEqual(await runUnread(['role', 'set', 'trader', '--description', 'unread', ...data]), {
    status: 0,
    stderr: '',
  })
  const { stdout } = await runInProcess(['audit', 'list', '--json', ...data])
  assert.partialDeepStrictEqual(JSON.parse(stdout).items[0], { event: 'role.changed', target: 'trader' })
})

test('a pipe that closes early is not an error', async () => {
  for (const args of [['audit', 'export', ...data], ['--help'], ['config']])
    assert.deepEqual(await runUnread(args), { status: 0, stderr: '' }, args.join(' '))
})

test('an error of the file system is reported in one line', async () => {
  const file = join(base, 'file')
  writeFileSync(file, 'mine')
  for (const args of [
    ['backup', join(base, 'copy'), '--data', join(base, 'none')],
    ['backup', file, ...data],
    ['backup', join(file, 'copy'), ...data],
  ]) {
    const { status, stderr } = await runInProcess(args)
    assert.equal(status, 1, args.join(' '))
    assert.match(stderr, /^gatehouse: [^\n]+\n$/)
  }
  assert.equal(readFileSync(file, 'utf8'), 'mine')
})

test('a damaged database is reported in one line', async () => {
  const damaged = join(base, 'damaged')
  await runInProcess(['migrate', '--create', '--data', damaged])
  writeFileSync(join(damaged, 'identity.db'), 'not a database at all')
  for (const args of [
    ['migrate', '--dry-run'],
    ['backup', join(base, 'copy')],
  ]) {
    const { status, stderr } = await runInProcess([...args, '--data', damaged])
    assert.equal(status, 1)
    assert.match(stderr, /^gatehouse: .*damaged.*restore[^\n]*\n$/)
  }
})

test('control characters in names are escaped', async () => {
  await runInProcess(['role', 'add', 'paint', '--description', 'a\u001b[31mb\nc\u202e', ...data])
  const { stdout } = await runInProcess(['role', 'list', ...data])
  assert.ok(stdout.includes('a\\u001b[31mb\\nc\\u202e'), stdout)
})

test('--version prints the version, and what the program is made of', async () => {
  const { status, stdout } = await runGatehouse(['--version'])
  assert.equal(status, 0)
  const lines = stdout.split('\n')
  assert.match(lines[0] ?? '', /^gatehouse \d+\.\d+\.\d+$/)
  assert.match(stdout, /^schema +\d+ /m)
  assert.match(stdout, /^runtime +Node 24\.\d+\.\d+, V8 .*, OpenSSL \d.*, SQLite 3\./m)
  assert.match(stdout, /^zones +20\d\d[a-z] of IANA/m)
  assert.match(stdout, /^packages .*better-sqlite3 \d+\.\d+\.\d+, .*ws \d/m)
})
