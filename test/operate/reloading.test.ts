/** SIGHUP: certificates, the log level and rate limits change while the server runs; what cannot be used changes nothing. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { openPlace } from '../support/engines.ts'
import { launchGatehouse, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

test('SIGHUP reloads the certificate and the rate limits', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reload-'))
  const [first, second] = [createCertificate(['localhost']), createCertificate(['localhost'])]
  const { certFile, keyFile } = await writeCertificate(first, folder)
  const file = join(folder, 'gatehouse.json')
  const declare = (settings: object) => writeFile(file, JSON.stringify({ settings }))
  await declare({ limit_exempt: '' })
  const options = { environment: { GATEHOUSE_TLS_CERTIFICATE: certFile, GATEHOUSE_TLS_KEY: keyFile } }
  const server = await serveProcess(['--data', place.dataFolder, '--config', file], options)
  t.after(async () => {
    await server.stop()
    await leave()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The certificate of a new connection, and the reply to one request. */
  async function ask(path = '/connect/userinfo'): Promise<{ serial: string; reply: string }> {
    const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const serial = socket.getPeerX509Certificate()?.serialNumber ?? ''
    socket.setEncoding('utf8').write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    let reply = ''
    for await (const chunk of socket) reply += chunk
    return { serial, reply }
  }
  const lines = () =>
    server
      .output()
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  const logged = (message: RegExp) => lines().filter(({ msg }) => message.test(msg)).length

  assert.equal((await ask()).serial, new X509Certificate(first.cert).serialNumber)

  await writeCertificate(second, folder)
  await declare({ limit_exempt: '', limit_pages: 'address=1/600' })
  server.child.kill('SIGHUP')
  await until('the settings are reloaded', 5000, () => logged(/^settings and certificates reloaded$/) === 1)
  assert.equal((await ask()).serial, new X509Certificate(second.cert).serialNumber)
  assert.match((await ask('/no-such-page')).reply, /^HTTP\/1.1 404 /)
  assert.match((await ask('/no-such-page')).reply, /^HTTP\/1.1 429 /)

  await writeFile(certFile, 'no certificate')
  server.child.kill('SIGHUP')
  await until('the failure is logged', 5000, () => logged(/^settings could not be reloaded/) === 1)
  assert.equal((await ask()).serial, new X509Certificate(second.cert).serialNumber, 'the earlier one stays in force')
})

test('SIGHUP changes the log level, and names the settings that need a restart', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reload-'))
  const file = join(folder, 'gatehouse.json')
  const declare = (settings: object) => writeFile(file, JSON.stringify({ settings: { stop_delay: 0, ...settings } }))
  await declare({ log_level: 'info', brand_name: 'A' })
  const { child, output, ended } = launchGatehouse([
    ...['serve', '--port', '0', '--data', place.dataFolder, '--config', file],
  ])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    await leave()
    rmSync(folder, { recursive: true, force: true })
  })
  const seen = (pattern: RegExp) => output().stdout.match(pattern)
  await until('it has started', 10_000, () => seen(/"msg":"started"/) !== null)
  const port = /"port":(\d+)/.exec(output().stdout)?.[1]
  const request = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)

  await declare({ log_level: 'error', brand_name: 'B' })
  child.kill('SIGHUP')
  await until('the warning is logged', 5000, () => seen(/"settings":\["brand_name"\]/) !== null)
  await request('/no-such-page')
  await declare({ log_level: 'info', brand_name: 'A' })
  child.kill('SIGHUP')
  await until('the level is back', 5000, async () => {
    await request('/.well-known/jwks')
    return seen(/"path":"\/.well-known\/jwks"/) !== null
  })
  assert.equal(seen(/"path":"\/no-such-page"/), null, 'no request was logged at the level error')
})
