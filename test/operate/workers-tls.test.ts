/** `serve --workers` with TLS and a separate port for metrics. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

test('workers share a TLS port and a port for metrics, and a reload brings a new certificate to both', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-workers-tls-'))
  const first = createCertificate(['localhost'])
  const { certFile, keyFile } = await writeCertificate(first, folder)
  const metricsPort = await freePort()
  const tls = ['--tls-certificate', certFile, '--tls-key', keyFile, '--metrics-port', String(metricsPort)]
  const server = await serveProcess(['--workers', '2', '--data', join(folder, 'data'), ...tls])
  t.after(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const logged = (text: string) => until(text, 20_000, () => server.output().stdout.includes(`"${text}"`))
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()

  await logged('all workers have started')
  for (const _worker of [1, 2]) assert.equal(await readCertificate(server.port), first.cert)
  assert.match(await metrics(), /route="\/healthz",status="200"\} 2$/m)

  const second = createCertificate(['localhost'], 3.5)
  await writeCertificate(second, folder)
  server.child.kill('SIGHUP')
  await logged('all workers have been replaced')
  for (const _worker of [1, 2]) assert.equal(await readCertificate(server.port), second.cert)
  assert.match(await metrics(), /route="\/healthz",status="200"\} 4$/m)
  await logged('the TLS certificate expires soon: renew it and reload with SIGHUP')
})

/** The certificate on a new connection that answers. */
function readCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { port, path: '/healthz', agent: false, rejectUnauthorized: false }
    const request = https.get(options, (response) => {
      const socket = response.socket instanceof TLSSocket ? response.socket : undefined
      const text = socket?.getPeerX509Certificate()?.toString() ?? ''
      response.resume().once('end', () => resolve(text))
    })
    request.once('error', reject)
  })
}
