/** Signed request objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, SignJWT } from 'jose'
import { openRequestObject } from '../../packages/server/src/identity/authorize/request-object.ts'
import { inlineKeys } from '../../packages/server/src/identity/clients/client-keys.ts'
import { type ClientMetadata, toClient } from '../../packages/server/src/store/clients/client-metadata.ts'
import type { JsonMembers } from '../support/foreign-issuer.ts'

test('B-15: an empty value in a request object counts as absent, so an empty nonce is no nonce', async () => {
  const parameters = await open({ nonce: '', state: 'inner' }, { state: 'outer' })
  assert.deepEqual([parameters.get('nonce'), parameters.get('state')], [undefined, 'inner'])
})

test('OpenID Connect Core §6.1: claims and registration in a request object are JSON', async () => {
  const parameters = await open({ claims: { userinfo: { name: null } }, registration: { logo_uri: 'x' } })
  assert.equal(parameters.get('claims'), '{"userinfo":{"name":null}}')
  assert.equal(parameters.get('registration'), '{"logo_uri":"x"}')
})

test('RFC 6749 §3.1: unknown members are ignored, whatever their type', async () => {
  const parameters = await open({ id_token: { max_age: 10 }, userinfo: null, colours: ['1', '2'], state: 'inner' })
  assert.deepEqual([parameters.get('id_token'), parameters.get('state')], [undefined, 'inner'])
})

test('a parameter of the wrong type is refused', async () => {
  for (const name of ['scope', 'dpop_jkt', 'acr_values', 'max_age', 'code_challenge'])
    for (const value of [['a', 'b'], { a: 1 }, null])
      await assert.rejects(open({ [name]: value }), { code: 'invalid_request_object' }, JSON.stringify(value))
  for (const resource of [1, [1], { a: 1 }, null])
    await assert.rejects(open({ resource }), { code: 'invalid_request_object' }, JSON.stringify(resource))
})

const HOUR = 3600
const now = Math.floor(Date.now() / 1000)
const GOOD = { aud: ['x', 'https://gate.example'], nbf: now, exp: now + 60, client_id: 'c', state: 'inner' }
const FAPI: Partial<ClientMetadata> = { profile: 'fapi2' }

test('FAPI 2.0 Message Signing §5.3.1: nbf and exp are there, within an hour, and aud is the issuer', async () => {
  for (const changes of [{}, { nbf: now + 30 - HOUR, exp: now + 20 }, { nbf: now + 8 }, { exp: now + HOUR }])
    await open({ ...GOOD, ...changes }, {}, FAPI, 'PS256')
  for (const [changes, why] of [
    [{ nbf: undefined }, /nbf is missing/],
    [{ exp: undefined }, /exp is missing/],
    [{ nbf: now - HOUR - 5 }, /nbf is more than an hour ago/],
    [{ nbf: now + 30 }, /nbf is in the future/],
    [{ exp: now + HOUR + 5 }, /exp is more than an hour after nbf/],
    [{ nbf: now - 60, exp: now - 5 }, /expired/],
    [{ aud: undefined }, /aud is missing/],
    [{ aud: 'https://else.example' }, /aud is not this server/],
    [{ client_id: undefined }, /client_id/],
  ] as const)
    await assert.rejects(open({ ...GOOD, ...changes }, {}, FAPI, 'PS256'), {
      code: 'invalid_request_object',
      message: why,
    })
})

test('FAPI 2.0 Security Profile §5.4.1: RS256 is not accepted', async () => {
  await assert.rejects(open(GOOD, {}, FAPI, 'RS256'), { message: /alg is not accepted/ })
})

test('FAPI 2.0 Message Signing §5.3.1, RFC 9101 §6.3: parameters outside the request object do not count', async () => {
  const parameters = await open(GOOD, { scope: 'openid', state: 'outer', resource: 'x' }, FAPI, 'PS256')
  const values = ['scope', 'state', 'request'].map((name) => parameters.get(name))
  assert.deepEqual([...values, parameters.all('resource')], [undefined, 'inner', undefined, []])
})

async function open(
  inner: JsonMembers,
  outer: Readonly<Record<string, string>> = {},
  metadata: Partial<ClientMetadata> = {},
  alg = 'RS256',
) {
  const { publicKey, privateKey } = await findPair(alg)
  const client = toClient({ client_id: 'c', jwks: { keys: [{ ...(await exportJWK(publicKey)) }] }, ...metadata }, [])
  const request = await new SignJWT(JSON.parse(JSON.stringify(inner))).setProtectedHeader({ alg }).sign(privateKey)
  const parameters = new Map(Object.entries({ ...outer, request }))
  const received = {
    get: (name: string) => parameters.get(name),
    repeated: new Set<string>(),
    all: (name: string) => [parameters.get(name) ?? []].flat(),
  }
  return openRequestObject(received, client, {
    issuer: 'https://gate.example',
    clock: () => now * 1000,
    clientKeys: async ({ jwks }) => inlineKeys(jwks),
  })
}

const pairs = new Map<string, Promise<GenerateKeyPairResult>>()

function findPair(alg: string): Promise<GenerateKeyPairResult> {
  const pair = pairs.get(alg) ?? generateKeyPair(alg)
  pairs.set(alg, pair)
  return pair
}
