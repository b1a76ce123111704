/** After a first start that was killed at any moment, the next start completes the data folder. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { IS_LONG_RUN } from '../support/engines.ts'
import { serveProcess } from '../support/process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-killed-'))
after(() => rmSync(base, { recursive: true, force: true }))

const PROGRAM = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))

test('kill -9 during the first start, repeatedly', async () => {
  const folder = join(base, 'data')
  const complete = join(base, 'complete')
  const started = performance.now()
  await (await serveProcess(['--data', complete, '--demo'])).stop()
  const startMs = performance.now() - started
  // From when the folder appears to when the demo data is complete.
  for (const share of IS_LONG_RUN ? [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] : [0.4, 0.6, 0.8]) {
    const child = spawn(
      process.execPath,
      [PROGRAM, 'serve', '--demo', '--demo-market=false', '--port', '0', '--data', folder],
      {
        stdio: 'ignore',
      },
    )
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await sleep(startMs * share)
    child.kill('SIGKILL')
    await ended
  }
  const server = await serveProcess(['--data', folder, '--demo'])
  try {
    const token = await passwordToken(server.issuer)
    assert.equal(await count(server.issuer, token, 'trades'), 4000)
    assert.equal(await count(server.issuer, token, 'instruments'), 60)
  } finally {
    await server.stop()
  }
})

async function passwordToken(issuer: string): Promise<string> {
  const response = await fetch(`${issuer}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-cli',
      username: 'alice',
      password: 'wonderland-1',
    }),
  })
  return /"access_token":"([^"]+)"/.exec(await response.text())?.[1] ?? ''
}

async function count(issuer: string, token: string, table: string): Promise<number> {
  const response = await fetch(`${issuer}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
    body: `select count(*) as n from ${table}`,
  })
  const text = await response.text()
  return Number(/"n":(\d+)\}/.exec(text)?.[1] ?? assert.fail(text))
}
