/** A first start without an administrator: the link is printed on a terminal, and never into a log. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runInProcess } from '../support/in-process.ts'
import { serveProcess } from '../support/process.ts'
import { createUserAgent, requirePage } from '../support/user-agent.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-first-'))
after(() => rmSync(base, { recursive: true, force: true }))

const LINK = /https?:\/\/\S+\/set-up\?token=[\w-]{43}/

test('without a terminal the log names the command that prints a link; once there is an administrator it does not', async () => {
  const data = ['--data', join(base, 'service')]
  const server = await serveProcess(data)
  try {
    const printed = await runInProcess(['user', 'first-admin', ...data])
    assert.equal(printed.status, 0, printed.stderr)
    const url = LINK.exec(printed.stdout)?.[0] ?? ''
    assert.ok(url.startsWith(`${server.issuer}/`), 'the address is that of the running server')
    const agent = createUserAgent({ home: server.issuer })
    const page = requirePage(await agent.get(url))
    const [form] = page.forms
    assert.ok(form !== undefined)
    const done = requirePage(await agent.submit(form, { username: 'root', new_password: 'a long enough password' }))
    assert.equal(done.url.pathname, '/console')
    assert.equal((await runInProcess(['user', 'first-admin', ...data])).status, 1)

    const invited = await runInProcess([
      'user',
      'invite',
      'bob',
      '--role',
      'admin',
      '--expires',
      '12h',
      '--json',
      ...data,
    ])
    const { url: link, username, created_at, expires_at } = JSON.parse(invited.stdout)
    assert.deepEqual([username, Date.parse(expires_at) - Date.parse(created_at)], ['bob', 12 * 3_600_000])
    assert.match(await (await fetch(link)).text(), /Welcome to Gatehouse/)
    const wrong = await runInProcess(['user', 'invite', 'eve', '--expires', '3', ...data])
    assert.equal(wrong.status, 2)
    assert.match(wrong.stderr, /--expires takes a time such as 90m, 12h or 3d/)
  } finally {
    await server.stop()
  }
  const { stdout, stderr } = server.output()
  assert.match(
    stdout,
    /"level":"warn".*there is no administrator: run \\"gatehouse user first-admin\\", as the user and with the settings of this server, to get a link/,
  )
  assert.doesNotMatch(stdout + stderr, /token=/)

  const again = await serveProcess(data)
  await again.stop()
  assert.doesNotMatch(again.output().stdout, /no administrator/)
})

test('on a terminal each start prints a new link, until there is an administrator', {
  skip: !hasScript(),
}, async () => {
  const data = join(base, 'terminal')
  const links: string[] = []
  for (let times = 0; times < 2; times++) {
    const output = await serveInTerminal(['--data', data])
    assert.match(output, /There is no administrator yet/)
    links.push(LINK.exec(output)?.[0] ?? '')
  }
  assert.ok(links.every((link) => link !== ''))
  assert.notEqual(links[0], links[1])
  await runInProcess(['role', 'add', 'chief', '--scope', 'Identity/Admin', '--data', data])
  await runInProcess(['user', 'add', 'carol', '--role', 'chief', '--data', data], { stdin: 'a long enough password\n' })
  assert.doesNotMatch(await serveInTerminal(['--data', data]), /administrator yet|token=/)
})

/** Of util-linux, which gives a program a terminal. */
function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

/** What a start prints on a terminal. */
async function serveInTerminal(args: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))
  const words = [process.execPath, program, 'serve', '--port', '0', '--stop-delay', '0', ...args]
  const child = spawn('script', ['-qec', words.map((word) => `'${word}'`).join(' '), '/dev/null'], { stdio: 'pipe' })
  let output = ''
  const ended = new Promise((resolve) => child.once('close', resolve))
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
      if (/"msg":"started"/.test(output)) resolve()
    })
    void ended.then(() => resolve())
  })
  // Ctrl-C; the server says what it has to say before it stops.
  child.stdin.write('\u0003')
  await ended
  return output
}
