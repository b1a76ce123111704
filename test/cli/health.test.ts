/** `gatehouse health`: alive and ready, over HTTP and TLS, on any port. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { trustedCertificate, writeCertificate } from '../support/certificate.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

test('a running server is alive and ready; one that stops is alive, and not ready', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-health-'))
  const { certFile, keyFile } = await writeCertificate(trustedCertificate(), folder)
  const tls = { '--tls-certificate': certFile, '--tls-key': keyFile }
  const server = await startTestServer(place, { flags: { ...tls, '--host': '0.0.0.0', '--stop-delay': '10' } })
  t.after(async () => {
    await leave()
    rmSync(folder, { recursive: true, force: true })
  })
  const health = (...args: readonly string[]) => {
    const flags = Object.entries({ ...tls, '--host': '0.0.0.0', '--port': String(server.port) }).flat()
    return runGatehouse(['health', ...args, ...flags])
  }
  assert.deepEqual(await health(), { status: 0, stdout: 'alive\n', stderr: '' })
  assert.deepEqual(await health('--ready'), { status: 0, stdout: 'ready\n', stderr: '' })
  const stopped = server.stop()
  const [alive, ready] = await Promise.all([health(), health('--ready')])
  assert.equal(alive.status, 0)
  assert.deepEqual([ready.status, ready.stderr], [1, 'gatehouse: The server is not ready: process: stopping\n'])
  await stopped
})

test('a server that is not there, or does not answer, is neither', async (t) => {
  const missing = await runGatehouse(['health', '--port', String(await freePort())])
  assert.equal(missing.status, 1)
  assert.match(missing.stderr, /^gatehouse: The server at port \d+ does not answer \(/)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const { status, stderr } = await runGatehouse(['health', '--timeout', '1', '--port', port])
  assert.deepEqual([status, stderr.includes('not within 1 s')], [1, true], stderr)
})
