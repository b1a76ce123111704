/** The keys and metadata of others: which are fetched, when, from where, and which signatures they verify. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { guardedRequest, type Resolve } from '../../packages/server/src/http/outgoing/guarded-request.ts'
import { MOST_CLIENT_BYTES } from '../../packages/server/src/identity/clients/client-keys.ts'
import { JwtFault, verifyForeignJwt } from '../../packages/server/src/identity/remote-keys/foreign-jwt.ts'
import { DocumentUnavailable } from '../../packages/server/src/identity/remote-keys/remote-documents.ts'
import { createRemoteKeys, metadataAddress } from '../../packages/server/src/identity/remote-keys/remote-keys.ts'
import { readKey, readKeySet } from '../../packages/server/src/store/keys/foreign-keys.ts'

import { encoded, type JsonMembers, signJwt, toJwk } from '../support/foreign-issuer.ts'

const jwt = (header: JsonMembers, key: KeyObject | string): string => signJwt(header, key, { sub: 'x' })
const MINUTE = 60_000
const PRIVATE = { allowPrivate: true, mostBytes: MOST_CLIENT_BYTES }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')

describe('documents of others', () => {
  let now = 1_800_000_000_000
  let server: http.Server
  let origin: string
  const fetched: string[] = []
  const failures: string[] = []
  let answer: http.RequestListener
  const serveKeys =
    (keys: readonly JsonMembers[], headers: Record<string, string> = {}): http.RequestListener =>
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ keys }))
  const one = [toJwk(ec.publicKey, { kid: 'one' })]

  before(async () => {
    server = http.createServer((request, response) => {
      fetched.push(request.url ?? '')
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    fetched.length = 0
    failures.length = 0
    answer = serveKeys(one)
  })
  const open = (resolve?: Resolve) =>
    createRemoteKeys({
      clock: () => now,
      metrics: { count: () => {} },
      onFailure: (_uri, reason) => failures.push(reason),
      resolve,
    })

  for (const [headers, minutes] of [
    [{}, 5],
    [{ 'cache-control': 'max-age=10' }, 5],
    [{ 'cache-control': 'public, max-age=1200, must-revalidate' }, 20],
    [{ 'cache-control': 'max-age=1200', age: '600' }, 10],
    [{ 'cache-control': 'max-age=86400' }, 60],
    [{ 'cache-control': 'no-store, max-age=1200' }, 5],
    [{ expires: new Date(1_800_000_000_000 + 30 * MINUTE).toUTCString() }, 30],
  ] as const)
    test(`a set is cached for ${minutes} minutes with ${JSON.stringify(headers)}`, async () => {
      now = 1_800_000_000_000
      answer = serveKeys(one, headers)
      const keys = open()
      assert.equal((await keys.find(`${origin}/a`, 'one', PRIVATE)).length, 1)
      now += minutes * MINUTE - 1
      await keys.find(`${origin}/a`, 'one', PRIVATE)
      assert.equal(fetched.length, 1)
      now += 1
      await keys.find(`${origin}/a`, 'one', PRIVATE)
      assert.equal(fetched.length, 2)
    })

  test('an unknown kid has the set fetched again, at most once a minute, however many ask', async () => {
    const keys = open()
    await keys.find(`${origin}/a`, 'one', PRIVATE)
    const flood = async () => {
      const all = await Promise.all(Array.from({ length: 200 }, (_, at) => keys.find(`${origin}/a`, `k${at}`, PRIVATE)))
      assert.ok(all.every(({ length }) => length === 0))
    }
    await flood()
    assert.equal(fetched.length, 1)
    now += MINUTE
    await flood()
    await flood()
    assert.equal(fetched.length, 2)
    now += MINUTE
    answer = serveKeys([...one, toJwk(rsa.publicKey, { kid: 'two' })])
    assert.equal((await keys.find(`${origin}/a`, 'two', PRIVATE)).length, 1)
    assert.equal(fetched.length, 3)
  })

  test('callers at the same time share one fetch', async () => {
    const keys = open()
    await Promise.all(Array.from({ length: 50 }, () => keys.find(`${origin}/a`, 'one', PRIVATE)))
    assert.equal(fetched.length, 1)
  })

  test('while it fails the last set serves a day, and is asked for once a minute', async () => {
    const keys = open()
    await keys.find(`${origin}/a`, 'one', PRIVATE)
    const began = now
    answer = (_request, response) => response.writeHead(500).end()
    now += 10 * MINUTE
    for (let at = 0; at < 3; at++) assert.equal((await keys.find(`${origin}/a`, 'one', PRIVATE)).length, 1)
    assert.equal(fetched.length, 2)
    assert.deepEqual(failures, ['The answer is 500'])
    now = began + 24 * 60 * MINUTE - 1
    assert.equal((await keys.find(`${origin}/a`, 'one', PRIVATE)).length, 1)
    now += MINUTE
    await assert.rejects(keys.find(`${origin}/a`, 'one', PRIVATE), DocumentUnavailable)
    answer = serveKeys(one)
    now += MINUTE
    assert.equal((await keys.find(`${origin}/a`, 'one', PRIVATE)).length, 1)
  })

  test('without a last set a failure is remembered for ten seconds', async () => {
    answer = (_request, response) => response.writeHead(404).end()
    const keys = open()
    for (let at = 0; at < 3; at++) await assert.rejects(keys.find(`${origin}/a`, 'one', PRIVATE), /The answer is 404/)
    assert.equal(fetched.length, 1)
    now += 10_000
    answer = serveKeys(one)
    assert.equal((await keys.find(`${origin}/a`, 'one', PRIVATE)).length, 1)
  })

  test('a slow address delays only those who ask for it, and not for long', async () => {
    answer = (request, response) => {
      if (request.url === '/slow') response.write('{')
      else serveKeys(one)(request, response)
    }
    const keys = open()
    const slow = assert.rejects(keys.find(`${origin}/slow`, 'one', PRIVATE), /closed before the end|aborted/)
    await Promise.all(Array.from({ length: 20 }, (_, at) => keys.find(`${origin}/${at}`, 'one', PRIVATE)))
    await assert.rejects(guardedRequest(`${origin}/slow`, { ...PRIVATE, timeoutMs: 100 }), /No answer in time/)
    server.closeAllConnections()
    await slow
  })

  for (const [what, reply, reason] of [
    ['redirects', (response) => response.writeHead(302, { location: '/b' }).end(), /The answer is 302/],
    ['is too large', (response) => response.end(' '.repeat(MOST_CLIENT_BYTES + 1)), /The answer is too long/],
    ['is no JSON', (response) => response.end('<html>'), /not JSON/],
    ['is no set', (response) => response.end('{"keys":1}'), /not a JWK set/],
    [
      'has 21 keys',
      (response) => response.end(JSON.stringify({ keys: Array.from({ length: 21 }, () => one[0]) })),
      /at most 20 keys/,
    ],
    [
      'is cut off',
      (response) => response.writeHead(200, { 'content-length': 99 }).write('{', () => response.destroy()),
      /closed before the end|aborted/,
    ],
  ] as [string, (response: http.ServerResponse) => void, RegExp][])
    test(`an answer that ${what} is refused`, async () => {
      answer = (_request, response) => reply(response)
      await assert.rejects(open().find(`${origin}/a`, 'one', PRIVATE), reason)
      assert.deepEqual(fetched, ['/a'])
    })

  test('private addresses, http and names that lead there are not called', async () => {
    const guarded = { allowPrivate: false, mostBytes: MOST_CLIENT_BYTES }
    const { port } = new URL(origin)
    await assert.rejects(open().find(`${origin}/a`, 'one', guarded), /not https/)
    await assert.rejects(open().find(`https://127.0.0.1:${port}/a`, 'one', guarded), /private/)
    await assert.rejects(open().find(`https://[::ffff:127.0.0.1]:${port}/a`, 'one', guarded), /private/)
    // Rebinding: public at the first look-up, private at the next. There is one look-up, and its result is connected to.
    let lookups = 0
    const rebinding: Resolve = (_hostname, _options, callback) => {
      lookups++
      callback(null, [
        { address: '8.8.8.8', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ])
    }
    await assert.rejects(open(rebinding).find(`https://keys.test:${port}/a`, 'one', guarded), /has a private address/)
    assert.equal(lookups, 1)
    assert.deepEqual(fetched, [])
  })

  test('metadata are cached likewise and must name an issuer and its keys', async () => {
    answer = (request, response) =>
      response.end(JSON.stringify(request.url?.startsWith('/good') ? { issuer: 'i', jwks_uri: `${origin}/a` } : {}))
    const keys = open()
    const found = await keys.metadata(metadataAddress(`${origin}/good/`), PRIVATE)
    assert.equal(found.jwksUri, `${origin}/a`)
    await keys.metadata(metadataAddress(`${origin}/good`), PRIVATE)
    assert.deepEqual(fetched, ['/good/.well-known/openid-configuration'])
    await assert.rejects(keys.metadata(metadataAddress(`${origin}/bad`), PRIVATE), /have no issuer/)
  })
})

describe('keys that are accepted', () => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
  const refused: [string, unknown, RegExp][] = [
    ['a private key', toJwk(ec.privateKey), /not a public key/],
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }, /not a public key/],
    ['RSA of 1024 bits', toJwk(weak), /1024 bits/],
    ['P-384', toJwk(p384), /is not RSA/],
    ['a key for encryption', toJwk(ec.publicKey, { use: 'enc' }), /not for signatures/],
    ['another operation', toJwk(ec.publicKey, { key_ops: ['sign'] }), /key_ops/],
    ['an alg of another type', toJwk(ec.publicKey, { alg: 'RS256' }), /alg/],
    ['RS512', toJwk(rsa.publicKey, { alg: 'RS512' }), /alg/],
    ['a point that is not on the curve', toJwk(ec.publicKey, { x: Buffer.alloc(32, 1).toString('base64url') }), /read/],
    ['missing members', { kty: 'RSA', n: 'AQAB' }, /read/],
    ['a long kid', toJwk(ec.publicKey, { kid: 'k'.repeat(257) }), /kid/],
    ['a text', 'key', /JSON Web Key/],
  ]
  for (const [what, jwk, fault] of refused)
    test(`not ${what}`, () => {
      const read = readKey(jwk)
      assert.match('fault' in read ? read.fault : 'accepted', fault)
      assert.deepEqual(readKeySet({ keys: [jwk] }), [])
    })
})

describe('signatures of others', () => {
  const keys = readKeySet({
    keys: [
      toJwk(rsa.publicKey, { kid: 'rsa' }),
      toJwk(rsa.publicKey, { kid: 'rs', alg: 'RS256' }),
      toJwk(ec.publicKey, { kid: 'ec' }),
      toJwk(ed.publicKey, { kid: 'ed', alg: 'EdDSA' }),
    ],
  })
  const find = async (kid: string | undefined) => keys.filter((key) => kid === undefined || key.kid === kid)
  const refuses = (token: string, fault: RegExp, accepted?: 'PS256'[]) =>
    assert.rejects(verifyForeignJwt(token, find, accepted), (error) => {
      assert.ok(error instanceof JwtFault)
      assert.match(error.message, fault)
      return true
    })

  for (const [alg, kid, key] of [
    ['RS256', 'rsa', rsa],
    ['PS256', 'rsa', rsa],
    ['ES256', 'ec', ec],
    ['EdDSA', 'ed', ed],
    ['Ed25519', 'ed', ed],
  ] as const)
    test(`${alg} with and without a kid`, async () => {
      assert.deepEqual((await verifyForeignJwt(jwt({ alg, kid }, key.privateKey), find)).claims, { sub: 'x' })
      await verifyForeignJwt(jwt({ alg }, key.privateKey), find)
      const [head = '', , signature = ''] = jwt({ alg, kid }, key.privateKey).split('.')
      await refuses(`${head}.${encoded({ sub: 'y' })}.${signature}`, /signature is wrong/)
    })

  test('none and HMAC, also with the public key as the secret, are refused', async () => {
    await refuses(`${encoded({ alg: 'none' })}.${encoded({})}.`, /alg is not accepted/)
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await refuses(jwt({ alg: 'HS256', kid: 'rsa' }, pem), /alg is not accepted/)
  })

  test('the key decides about the algorithm', async () => {
    await refuses(jwt({ alg: 'PS256', kid: 'rs' }, rsa.privateKey), /alg does not fit its key/)
    await refuses(jwt({ alg: 'RS256', kid: 'ec' }, rsa.privateKey), /alg does not fit its key/)
    await refuses(jwt({ alg: 'RS256', kid: 'rsa' }, rsa.privateKey), /alg is not accepted/, ['PS256'])
  })

  test('jwk, jku and x5u in a header are ignored, crit is refused', async () => {
    const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const header = { alg: 'ES256', jwk: toJwk(own.publicKey), jku: 'https://evil.test', x5u: 'https://evil.test' }
    await refuses(jwt(header, own.privateKey), /signature is wrong/)
    await refuses(jwt({ alg: 'ES256', kid: 'ec', crit: ['x'], x: 1 }, ec.privateKey), /crit/)
  })

  test('an ES256 signature in DER is refused', async () => {
    const input = `${encoded({ alg: 'ES256', kid: 'ec' })}.${encoded({})}`
    const der = sign('sha256', Buffer.from(input), ec.privateKey)
    await refuses(`${input}.${der.toString('base64url')}`, /signature is wrong/)
  })
})
