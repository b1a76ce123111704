/** What goes wrong at night: pipes that close, folders that are mistyped or closed, names that play with the terminal. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { launchGatehouse, runGatehouse } from '../support/process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-night-'))
after(() => rmSync(base, { recursive: true, force: true }))
const data = ['--data', join(base, 'data')]

before(async () => {
  const { status, stderr } = await runGatehouse(['role', 'add', 'trader', ...data])
  assert.equal(status, 0, stderr)
})

/** As `gatehouse … | true` runs it. */
async function runUnread(args: readonly string[]): Promise<{ status: number | null; stderr: string }> {
  const { child, ended, output } = launchGatehouse(args)
  child.stdin?.end()
  child.stdout?.destroy()
  return { status: await ended, stderr: output().stderr }
}

test('a change whose answer nobody reads is made, and is on record', async () => {
  assert.deepEqual(await runUnread(['role', 'set', 'trader', '--description', 'unread', ...data]), {
    status: 0,
    stderr: '',
  })
  const { stdout } = await runGatehouse(['audit', 'list', '--json', ...data])
  assert.partialDeepStrictEqual(JSON.parse(stdout).items[0], { event: 'role.changed', target: 'trader' })
})

test('a pipe that closes early ends a listing without a word', async () => {
  for (const args of [['audit', 'export', ...data], ['--help'], ['config']])
    assert.deepEqual(await runUnread(args), { status: 0, stderr: '' }, args.join(' '))
})

test('a mistyped data folder is refused by all that look, and is not made', async () => {
  const typo = join(base, 'dat')
  for (const args of [
    ['audit', 'verify'],
    ['user', 'list'],
    ['keys', 'rotate'],
  ]) {
    const { status, stderr } = await runGatehouse([...args, '--data', typo])
    assert.equal(status, 1, args.join(' '))
    assert.match(stderr, /There is no data of gatehouse in .*name its folder with --data/)
  }
  assert.equal(existsSync(typo), false)
})

test('what the file system refuses is said in one line', async () => {
  const file = join(base, 'file')
  writeFileSync(file, 'mine')
  for (const args of [
    ['backup', join(base, 'copy'), '--data', join(base, 'none')],
    ['backup', file, ...data],
    ['backup', join(file, 'copy'), ...data],
  ]) {
    const { status, stderr } = await runGatehouse(args)
    assert.equal(status, 1, args.join(' '))
    assert.match(stderr, /^gatehouse: [^\n]+\n$/)
  }
  assert.equal(readFileSync(file, 'utf8'), 'mine')
})

test('a damaged database is said in one line by those that only read it', async () => {
  const damaged = join(base, 'damaged')
  await runGatehouse(['role', 'add', 'trader', '--data', damaged])
  writeFileSync(join(damaged, 'identity.db'), 'not a database at all')
  for (const args of [
    ['migrate', '--dry-run'],
    ['backup', join(base, 'copy')],
  ]) {
    const { status, stderr } = await runGatehouse([...args, '--data', damaged])
    assert.equal(status, 1)
    assert.match(stderr, /^gatehouse: .*damaged.*restore[^\n]*\n$/)
  }
})

test('no name moves the cursor or paints the terminal', async () => {
  await runGatehouse(['role', 'add', 'paint', '--description', 'a\u001b[31mb\nc\u202e', ...data])
  const { stdout } = await runGatehouse(['role', 'list', ...data])
  assert.ok(stdout.includes('a\\u001b[31mb\\nc\\u202e'), stdout)
})

test('--version says the version alone', async () => {
  const { status, stdout } = await runGatehouse(['--version'])
  assert.equal(status, 0)
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})
