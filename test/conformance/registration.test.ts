/** The server does not start with clients whose URIs or flows would be dangerous. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openPlace } from '../support/engines.ts'
import { startGatehouse } from '../support/providers/gatehouse.ts'

type Client = NonNullable<Declaration['clients']>[number]

const GOOD: Client = {
  client_id: 'app',
  client_secret: 'a-secret-that-is-long-enough-for-this',
  redirect_uris: ['https://app.example.com/callback'],
}

describe('registration', () => {
  test('oidcc-redirect-uri-regfrag: a redirect URI with a fragment is refused', () =>
    refuses({ redirect_uris: ['https://app.example.com/callback#fragment'] }, 'redirect_uris[0]'))

  test('oidcc-3rd_party-init-login-nohttps: initiate_login_uri must be https', () =>
    refuses({ initiate_login_uri: 'http://app.example.com/start' }, 'initiate_login_uri'))

  for (const address of [
    'http://app.example.com/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://*.example.com/callback',
    'https://app.example.com/callback#',
    'myapp:/callback',
    'not an address',
    'https://app.example.com/a/../callback',
    'https://user:password@app.example.com/callback',
  ])
    test(`C-21: ${address} is refused as a redirect URI`, () =>
      refuses({ redirect_uris: [address] }, 'redirect_uris[0]'))

  test('C-21, oidcc-3rd_party-init-login: https, loopback http and private-use schemes with a dot are accepted', async () => {
    const redirectUris = [...(GOOD.redirect_uris ?? []), 'http://127.0.0.1/callback', 'com.example.app:/callback']
    const { place, leave } = await openPlace('sqlite')
    const client = { ...GOOD, redirect_uris: redirectUris, initiate_login_uri: 'https://app.example.com/start' }
    const gatehouse = await startGatehouse(place, { declaration: { clients: [client] } })
    await gatehouse.stop()
    const { db, close } = await openDatabase({ dataFolder: place.dataFolder, url: '' })
    const { metadata } = await db.selectFrom('clients').select('metadata').executeTakeFirstOrThrow()
    await close()
    const kept = JSON.parse(metadata) as Partial<Client>
    assert.equal(kept.initiate_login_uri, client.initiate_login_uri)
    assert.deepEqual(kept.redirect_uris, redirectUris)
    await leave()
  })
})

/** The server does not start, and reports which value is wrong. */
async function refuses(change: Partial<Client>, path: string): Promise<void> {
  const { place, leave } = await openPlace('sqlite')
  const declaration = { clients: [{ ...GOOD, ...change }] }
  await assert.rejects(startGatehouse(place, { declaration }), (error: Error) => {
    assert.ok(error.message.includes(`clients[0].${path}`), error.message)
    return true
  })
  await leave()
}
