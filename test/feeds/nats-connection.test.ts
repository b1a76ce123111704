/** Connections to NATS: TLS, passwords and tokens, and what is said where it cannot be reached. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { explain } from '../../packages/server/src/cli/explain.ts'
import { type NatsFeedsOptions, openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { isUnavailable } from '../../packages/server/src/lib/unavailable.ts'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { LATEST, publish, Workbench } from './suite/engine-under-test.ts'

describe('connections to NATS', { skip: whyWithoutNats() ?? false }, () => {
  const publishOnce = async (options: Omit<NatsFeedsOptions, 'isDeclared'>): Promise<void> => {
    const bench = await Workbench.open({
      engine: await openNatsFeeds({ ...options, isDeclared: async () => false }),
      close: async () => {},
    })
    try {
      await publish(await bench.create(LATEST), 'A=1')
    } finally {
      await bench.close()
    }
  }
  const onError = (): void => {}

  test('over TLS, with an authority of its own', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-tls-'))
    const { certFile, keyFile } = await writeCertificate(createCertificate(['localhost']), folder)
    const server = await startNats(`tls { cert_file: "${certFile}", key_file: "${keyFile}" }`)
    const url = server.url.replace('nats://127.0.0.1', 'tls://localhost')
    try {
      await publishOnce({ url, tlsCa: certFile, onError })
      await assert.rejects(publishOnce({ url, onError }), isUnavailable)
    } finally {
      await server.close()
      await rm(folder, { recursive: true })
    }
  })

  test('with a password that has odd characters, or a token', async () => {
    for (const [settings, right, wrong] of [
      ['authorization { user: gate, password: "a@b/c%" }', 'gate:a%40b%2Fc%25', 'gate:other'],
      ['authorization { token: "t0ken" }', 't0ken', 'other'],
    ]) {
      const server = await startNats(settings)
      const url = (user: string | undefined): string => server.url.replace('//', `//${user}@`)
      try {
        await publishOnce({ url: url(right), onError })
        await assert.rejects(publishOnce({ url: url(wrong), onError }), isUnavailable)
      } finally {
        await server.close()
      }
    }
  })
})

describe('without a nats-server', () => {
  test('the engine says which host it cannot reach, and no password', async () => {
    await assert.rejects(
      openNatsFeeds({ url: 'nats://user:secret@127.0.0.1:1', isDeclared: async () => false, onError: () => {} }),
      (error: Error) => {
        assert.match(error.message, /127\.0\.0\.1:1/)
        assert.doesNotMatch(error.message, /secret/)
        assert.match(explain(error) ?? '', /Check GATEHOUSE_NATS_URL\.$/)
        return isUnavailable(error)
      },
    )
  })
})
