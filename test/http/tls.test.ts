/** TLS by the server itself: RFC 9325 §4.1 and §4.2 ask for forward secrecy and authenticated encryption. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import tls from 'node:tls'
import { type Listener, openListener } from '../../packages/server/src/http/listener.ts'
import { createCertificate } from '../support/certificate.ts'

let listener: Listener
before(async () => {
  listener = await openListener({ host: '127.0.0.1', port: 0, tls: createCertificate(['localhost']) })
})
after(() => listener.server.close())

/** The name of the cipher suite, or the code of the alert. */
function connect(options: tls.ConnectionOptions): Promise<string> {
  const { port } = listener.server.address() as { port: number }
  return new Promise((resolve) => {
    const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
    socket.once('secureConnect', () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.once('error', (error: Error & { code?: string }) => resolve(error.code ?? error.message))
  })
}

const older = (ciphers: string, version: tls.SecureVersion = 'TLSv1.2') =>
  connect({ ciphers: `${ciphers}:@SECLEVEL=0`, minVersion: version, maxVersion: version })

test('TLS 1.3 is preferred', async () => {
  assert.match(await connect({}), /^TLSv1\.3 TLS_AES_/)
})

test('RFC 9325 §4.2: TLS 1.2 with its four recommended suites is accepted', async () => {
  const suites = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384'].flatMap((name) => [
    `ECDHE-RSA-${name}`,
    `ECDHE-ECDSA-${name}`,
  ])
  const accepted = (await Promise.all(suites.map((name) => older(name)))).filter((result) =>
    result.startsWith('TLSv1.2'),
  )
  // Those of the kind of key that the certificate has.
  assert.equal(accepted.length, 2)
})

test('RFC 9325 §4.1: suites without forward secrecy or authenticated encryption, and others beside the four, are refused', async () => {
  for (const name of [
    ...['AES128-SHA', 'AES256-SHA256', 'AES128-GCM-SHA256', 'AES256-GCM-SHA384'],
    ...['ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA'],
    ...['DHE-RSA-AES128-GCM-SHA256', 'DHE-RSA-AES256-SHA', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ])
    assert.match(await older(name), /HANDSHAKE_FAILURE/, name)
})

test('RFC 9325 §3.1.1: versions before 1.2 are refused', async () => {
  for (const version of ['TLSv1', 'TLSv1.1'] as const)
    assert.match(await older('ALL', version), /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/)
})
