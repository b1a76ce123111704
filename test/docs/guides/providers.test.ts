/** The guide about other OpenID providers: what it declares is accepted, and signs people in with their roles. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { openPlace } from '../../support/engines.ts'
import { openGuide } from '../../support/guide.ts'
import { openProviderPlace } from '../../support/providers/provider-place.ts'
import { startStubProvider } from '../../support/providers/stub-provider.ts'
import { decodeClaims, readAnswer } from '../../support/sign-in-place.ts'

test('Sign in with Entra, Google, Okta or Keycloak', async () => {
  const guide = await openGuide('sign-in-with-a-provider')
  const stub = await startStubProvider('/realms/main')
  const { place: at, leave } = await openPlace('sqlite')
  const place = await openProviderPlace(at)
  stub.clock = place.clock
  await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })

  const redirect = guide.take('/external/corp/callback').text.trim()
  const declared = Object(parse(guide.take('providers:').text)).providers[0]
  const members = { ...declared, issuer: stub.issuer, client_secret: stub.secret, private: true }
  const { status, body } = await place.admin('POST', '/admin/providers', members)
  assert.equal(status, 201, JSON.stringify(body))
  assert.equal(new URL(String(body.redirect_uri)).pathname, new URL(redirect).pathname)

  stub.person = { sub: 's', preferred_username: 'fred', groups: ['gatehouse', 'fx'] }
  const end = await place.signIn(place.newAgent(), stub)
  const user = await place.stores.users.findById(String(decodeClaims(readAnswer(end).get('id_token') ?? '').sub))
  assert.deepEqual([user?.username, user?.roles], ['fred', ['trader']])

  const command = guide.take('provider add').text
  assert.ok(command.includes(`provider add ${declared.id} ${declared.issuer} ${declared.client_id}`))
  // The second Gatehouse knows the redirect URI of the first.
  const other = Object(parse(guide.take('attributes:').text))
  assert.deepEqual(other.clients[0].redirect_uris, ['http://localhost:5080/external/corp/callback'])
  assert.match(guide.take('serve').text, /--config other\.yaml --logout-private true/)
  guide.finish()
  await guide.close()
  await place.close()
  await stub.stop()
  await leave()
})
