/** Signed request objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { openRequestObject } from '../../packages/server/src/identity/authorize/request-object.ts'
import { inlineKeys } from '../../packages/server/src/identity/clients/client-keys.ts'
import { toClient } from '../../packages/server/src/store/clients/client-metadata.ts'

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

async function open(inner: JWTPayload, outer: Readonly<Record<string, string>> = {}) {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const client = toClient({ client_id: 'c', jwks: { keys: [{ ...(await exportJWK(publicKey)) }] } }, [])
  const request = await new SignJWT(inner).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
  const parameters = new Map(Object.entries({ ...outer, request }))
  return openRequestObject({ get: (name) => parameters.get(name), repeated: new Set(), all: () => [] }, client, {
    issuer: 'https://gate.example',
    clock: Date.now,
    clientKeys: async ({ jwks }) => inlineKeys(jwks),
  })
}
