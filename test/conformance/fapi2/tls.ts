/** FAPI 2.0 Security Profile §5.2: TLS 1.3 where both can, of TLS 1.2 only what RFC 9325 recommends, and nothing older. */
import assert from 'node:assert/strict'
import tls from 'node:tls'

const RECOMMENDED = ['ECDSA', 'RSA'].flatMap((type) =>
  ['AES128-GCM-SHA256', 'AES256-GCM-SHA384'].map((cipher) => `ECDHE-${type}-${cipher}`),
)

export async function checkTls(address: string): Promise<void> {
  const { hostname, port } = new URL(address)
  const connect = (options: tls.ConnectionOptions) =>
    new Promise<string | null>((resolve, reject) => {
      const place = { host: hostname, port: Number(port || 443), servername: hostname }
      const socket = tls.connect({ ...place, ...options }, () => {
        resolve(socket.getProtocol())
        socket.destroy()
      })
      socket.on('error', reject)
    })
  assert.equal(await connect({}), 'TLSv1.3', 'TLS 1.3 is preferred')
  assert.equal(await connect({ maxVersion: 'TLSv1.2', ciphers: RECOMMENDED.join(':') }), 'TLSv1.2')
  const others = ['ALL:@SECLEVEL=0', ...RECOMMENDED.map((name) => `!${name}`)].join(':')
  await assert.rejects(connect({ maxVersion: 'TLSv1.2', ciphers: others }), 'a cipher that RFC 9325 does not recommend')
  for (const version of ['TLSv1', 'TLSv1.1'] as const) {
    const options = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' } as const
    await assert.rejects(connect(options), version)
  }
}
