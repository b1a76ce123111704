/** What a signed request object says about the parameters of a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { openRequestObject } from '../../src/identity/authorize/request-object.ts'
import { toClient } from '../../src/store/client-metadata.ts'

test('B-15: an empty value inside a request object counts as absent, so that it stands for no nonce', async () => {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const client = toClient({ client_id: 'c', jwks: { keys: [{ ...(await exportJWK(publicKey)) }] } }, [])
  const request = await new SignJWT({ nonce: '', state: 'inner' }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
  const outer = new Map([
    ['request', request],
    ['state', 'outer'],
  ])
  const parameters = await openRequestObject({ get: (name) => outer.get(name), repeated: new Set() }, client, {
    issuer: 'https://gate.example',
    clock: Date.now,
  })
  assert.deepEqual([parameters.get('nonce'), parameters.get('state')], [undefined, 'inner'])
})
