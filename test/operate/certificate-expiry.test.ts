/** An expired or soon expiring TLS certificate is logged at the start and daily, and its expiry is a metric. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { watchCertificateExpiry } from '../../packages/server/src/server/watch/certificate-expiry.ts'
import { Cleanup } from '../../packages/server/src/server/watch/cleanup.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { createTestClock, startTestServer } from '../support/server.ts'

const DAY = 86_400_000
let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-expiry-'))
})
after(() => rm(base, { recursive: true, force: true }))

for (const { name, days, says } of [
  { name: 'is valid for a month', days: 30, says: [] },
  {
    name: 'expires in five days',
    days: 5.5,
    says: ['warn 5 the TLS certificate expires soon: renew it and reload with SIGHUP'],
  },
  {
    name: 'expired two days ago',
    days: -1.5,
    says: ['error -2 the TLS certificate has expired: renew it and reload with SIGHUP'],
  },
]) {
  test(`a certificate that ${name}: the server starts, the log and the metric tell`, async () => {
    const folder = await mkdtemp(join(base, 'place-'))
    const { certFile, keyFile } = await writeCertificate(createCertificate(['localhost'], days), folder)
    const place = { engine: 'sqlite', dataFolder: join(folder, 'data'), databaseUrl: '' } as const
    const flags = { '--tls-certificate': certFile, '--tls-key': keyFile, '--metrics-port': '0' }
    const server = await startTestServer(place, { flags })
    try {
      assert.deepEqual(expiryLines(server.log), says)
      const seconds = await expiryMetric(server.metricsPort)
      assert.ok(Math.abs(seconds - days * 86_400) < 60, `${seconds}`)
    } finally {
      await server.stop()
    }
  })
}

test('after a reload the metric and the log follow the new certificate', async () => {
  const folder = await mkdtemp(join(base, 'place-'))
  const { certFile, keyFile } = await writeCertificate(createCertificate(['localhost'], 5.5), folder)
  const place = { engine: 'sqlite', dataFolder: join(folder, 'data'), databaseUrl: '' } as const
  const flags = { '--tls-certificate': certFile, '--tls-key': keyFile, '--metrics-port': '0' }
  const server = await startTestServer(place, { flags })
  try {
    await writeCertificate(createCertificate(['localhost'], 90), folder)
    const reload = () => server.reload(loadConfig({ flags: { '--port': '0', '--data': place.dataFolder, ...flags } }))
    await reload()
    assert.equal(expiryLines(server.log).length, 1, 'the renewed certificate is not reported')
    assert.ok(Math.abs((await expiryMetric(server.metricsPort)) - 90 * 86_400) < 60)
    await writeCertificate(createCertificate(['localhost'], 3.5), folder)
    await reload()
    assert.deepEqual(expiryLines(server.log).slice(1), [
      'warn 3 the TLS certificate expires soon: renew it and reload with SIGHUP',
    ])
  } finally {
    await server.stop()
  }
})

test('it is logged again every day', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const log: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } })
  const clock = createTestClock()
  const cleanup = new Cleanup()
  const certificate = Buffer.from(createCertificate(['localhost'], 22.5).cert)
  watchCertificateExpiry(certificate, { clock, logger, metrics: new Metrics() }, cleanup)
  const reported = () => expiryLines(log).map((line) => line.split(' ', 2).join(' '))
  assert.deepEqual(reported(), [])
  for (let day = 0; day < 2; day++) {
    clock.advance(DAY)
    t.mock.timers.tick(DAY)
  }
  assert.deepEqual(reported(), ['warn 20'])
  clock.advance(DAY)
  t.mock.timers.tick(DAY)
  assert.deepEqual(reported(), ['warn 20', 'warn 19'])
  cleanup.run()
  t.mock.timers.tick(DAY)
  assert.equal(reported().length, 2)
})

async function expiryMetric(port: number | undefined): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^gatehouse_tls_certificate_expiry_seconds (\S+)$/m.exec(metrics)?.[1])
}

/** `level days message` of the lines about the certificate. */
function expiryLines(log: readonly string[]): string[] {
  return log
    .map((line): { level: string; days: number; msg: string } => JSON.parse(line))
    .filter(({ msg }) => msg.includes('TLS certificate'))
    .map(({ level, days, msg }) => `${level} ${days} ${msg}`)
}
