/** The lock on the stored logins: one holder at a time, however long it takes, and free when its process is killed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { credentialsFile, loginStorage } from '../../packages/server/src/cli/sign-in/credentials.ts'
import { until } from '../support/until.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-lock-'))
const before = process.env.XDG_CONFIG_HOME
process.env.XDG_CONFIG_HOME = base
after(() => {
  if (before === undefined) delete process.env.XDG_CONFIG_HOME
  else process.env.XDG_CONFIG_HOME = before
  rmSync(base, { recursive: true, force: true })
})

const LOGIN = { clientId: 'c', accessToken: 'x', expiresAt: 0, refreshToken: undefined }
const storage = loginStorage('https://gate.example.com', LOGIN)
const locked = (act: () => Promise<void>): Promise<void> => storage.lock?.('', act) ?? assert.fail('there is no lock')

test('a lock is kept while its process lives, however old it looks, and is free once it is killed', async () => {
  const source = pathToFileURL(join(import.meta.dirname, '../../packages/server/src/cli/sign-in/credentials.ts'))
  const program = `const { loginStorage } = await import(${JSON.stringify(source)})
    const storage = loginStorage('https://gate.example.com', ${JSON.stringify(LOGIN)})
    await storage.lock('', () => new Promise((resolve) => { console.log('locked'); setTimeout(resolve, 600_000) }))`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(holder.stdout, 'data')
    // As after a night in which the machine slept.
    const folder = join(credentialsFile(), '..')
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), new Date(0), new Date(0))
    let isOurs = false
    const next = locked(async () => {
      isOurs = true
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal(isOurs, false, 'two commands hold the lock')
    holder.kill('SIGKILL')
    await until('the lock is free', 10_000, () => isOurs)
    await next
  } finally {
    holder.kill('SIGKILL')
  }
})

test('in one process too, one holds it at a time', async () => {
  let [inside, most] = [0, 0]
  await Promise.all(
    Array.from({ length: 4 }, () =>
      locked(async () => {
        most = Math.max(most, ++inside)
        await new Promise((resolve) => setTimeout(resolve, 20))
        inside--
      }),
    ),
  )
  assert.equal(most, 1)
})
