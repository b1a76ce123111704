/** The test command: it finds every kind of planted secret in what servers wrote, and what fails is not lost. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { makeWrittenFolder, searchWritten, WRITTEN_FOLDER } from '../support/written.ts'

const part = (bytes: number) => randomBytes(bytes).toString('base64url')

/** Assembled here, so that this file itself does not match. */
const PLANTED: Readonly<Record<string, string>> = {
  'a signed token': `eyJ${part(12)}.eyJ${part(12)}.${part(24)}`,
  'a password hash': ['$argon2id', 'v=19', 'm=19456,t=2,p=1', part(16), part(32)].join('$'),
  'a private key': `-----BEGIN ${'PRIVATE'} KEY-----`,
  'a password of the tests': ['wonderland', '1'].join('-'),
  'a client secret of the tests': ['demo-service', 'secret'].join('-'),
  'the password of a database': `postgres://gatehouse:${part(8)}@db/gatehouse`,
  'an authorization header': `Bearer ${part(24)}`,
}

const line = (text: string) => `{"level":30,"msg":"request","text":"${text}"}\n`

for (const [what, leak] of Object.entries(PLANTED)) {
  test(`${what} is found in one line among many`, async () => {
    const folder = await makeWrittenFolder()
    await writeFile(join(folder, 'clean.txt'), line('nothing').repeat(1000))
    await writeFile(join(folder, 'leaky.txt'), line('nothing').repeat(500) + line(leak) + line('nothing').repeat(500))
    const { files, found } = await searchWritten(folder)
    assert.equal(files, 2)
    assert.deepEqual(found, [`${what}: ${line(leak).trim()}`])
  })
}

test('clean output has no findings', async () => {
  const folder = await makeWrittenFolder()
  await writeFile(join(folder, 'clean.txt'), line('a Bearer token was refused; eyJ is how one begins').repeat(10))
  assert.deepEqual(await searchWritten(folder), { files: 1, found: [] })
})

test('the test command fails when a server of a passing test has logged a token', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-planted-'))
  const support = pathToFileURL(fileURLToPath(new URL('../support/', import.meta.url))).href
  const planted = (path: string) => `
    import { test } from 'node:test'
    import { openPlace } from '${support}engines.ts'
    import { startTestServer } from '${support}server.ts'
    test('passes', async () => {
      const { place, leave } = await openPlace('sqlite')
      const server = await startTestServer(place)
      await fetch(server.issuer + '/nowhere/${path}')
      await server.stop()
      await leave()
    })`
  try {
    for (const [path, status] of [
      ['harmless', 0],
      [PLANTED['a signed token'] ?? '', 1],
    ] as const) {
      const file = join(folder, `${status}.test.ts`)
      await writeFile(file, planted(path))
      const outcome = await runTests(file)
      assert.equal(outcome.status, status, outcome.output)
      assert.match(outcome.output, /pass 1\b/)
      assert.match(
        outcome.output,
        status === 0 ? /server logs of 1 test files: 0\n/ : /server logs of 1 test files: 1\na signed token: /,
      )
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a file that fails is run again alone, and reported if it then passes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-planted-'))
  const file = join(folder, 'file.test.ts')
  const first = JSON.stringify(join(folder, 'first'))
  const beginning = `import { test } from 'node:test'\nimport { existsSync, writeFileSync } from 'node:fs'\n`
  try {
    for (const [source, status, says] of [
      [
        `test('a', () => { if (!existsSync(${first})) { writeFileSync(${first}, ''); throw new Error() } })`,
        0,
        /UNSTEADY/,
      ],
      [`test('a', () => { throw new Error() })`, 1, /fail 1\b/],
      [`test('a', () => process.kill(process.pid, 'SIGKILL'))`, 1, /again/],
    ] as const) {
      await writeFile(file, `${beginning}${source}`)
      const outcome = await runTests('--retry', file)
      assert.equal(outcome.status, status, outcome.output)
      assert.match(outcome.output, says)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** Runs the test command of the project in a separate process with a separate output folder. */
async function runTests(...args: string[]): Promise<{ status: number | null; output: string }> {
  const { NODE_TEST_CONTEXT: _outer, [WRITTEN_FOLDER]: _folder, ...environment } = process.env
  const command = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url))
  const child = spawn(process.execPath, [command, ...args], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { output: await text(child.stdout), status: await ended }
}
