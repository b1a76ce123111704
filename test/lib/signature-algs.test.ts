/** Signatures of JWTs: ours are those that others read, and the reverse (RFC 7518 §3.4: r and s of ES256, 32 bytes each). */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { createSignature, isSigned } from '../../packages/server/src/lib/signature-algs.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const inFixedLength = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const })

test('RFC 7518 §3.4: Node reads signatures of ES256 that were made here, and the reverse', async () => {
  // One of 128 signatures has a number that begins with a zero.
  for (let n = 0; n < 1_000; n++) {
    const input = Buffer.from(`input ${n}`)
    const ours = await createSignature('ES256', privateKey, input)
    assert.equal(ours.length, 64)
    assert.ok(verify('sha256', input, inFixedLength(publicKey), ours), ours.toString('hex'))
    const theirs = sign('sha256', input, inFixedLength(privateKey))
    assert.ok(isSigned('ES256', publicKey, input, theirs), theirs.toString('hex'))
  }
})

test('a signature of ES256 that is altered, of another length, zero or in ASN.1 is refused', async () => {
  const input = Buffer.from('input')
  const good = await createSignature('ES256', privateKey, input)
  const altered = Buffer.from(good)
  altered[40] = (altered[40] ?? 0) ^ 1
  const refused = {
    altered,
    empty: Buffer.alloc(0),
    'a byte short': good.subarray(1),
    'a byte long': Buffer.concat([good, Buffer.of(0)]),
    'both numbers zero': Buffer.alloc(64),
    's zero': Buffer.concat([good.subarray(0, 32), Buffer.alloc(32)]),
    'numbers beyond the order': Buffer.alloc(64, 0xff),
    'in ASN.1': sign('sha256', input, privateKey),
  }
  for (const [name, signature] of Object.entries(refused))
    assert.equal(isSigned('ES256', publicKey, input, signature), false, name)
})
