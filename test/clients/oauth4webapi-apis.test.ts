/** npm `oauth4webapi`: from an API by its metadata (RFC 9728) to tokens for two APIs by one refresh token (RFC 8707). */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { CALLBACK, followAsAlice, type OpenGatehouse, openGatehouse, SECRET, webClient } from './gatehouse.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const client: oauth.Client = { client_id: 'desk' }
const basic = oauth.ClientSecretBasic(SECRET)
const servers: Server[] = []
let gatehouse: OpenGatehouse
let resources: readonly string[]

/** An API that refuses every request as RFC 9728 §5.1 says, and publishes its metadata. */
async function openApi(scope: string): Promise<string> {
  const server = createServer((request, response) => {
    const resource = `http://localhost:${(server.address() as AddressInfo).port}/`
    const document = `${resource}.well-known/oauth-protected-resource`
    if (request.url?.startsWith('/.well-known/'))
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ resource, authorization_servers: [gatehouse.issuer], scopes_supported: [scope] }))
    else response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${document}"` }).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, resolve))
  return `http://localhost:${(server.address() as AddressInfo).port}/`
}

before(async () => {
  const scopes = ['orders:write', 'risk']
  resources = await Promise.all(scopes.map(openApi))
  const apis = resources.map((resource, index) => ({ resource, scopes: [{ name: scopes[index] ?? '' }] }))
  const scope = `openid offline_access ${scopes.join(' ')}`
  gatehouse = await openGatehouse([{ ...webClient, client_id: 'desk', scope }], { apis })
})
after(async () => {
  await gatehouse.close()
  for (const server of servers) server.close()
})

const readAudience = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).aud

test('RFC 9728: an API leads to its authorization server, whose tokens for two APIs come from one refresh token', async () => {
  const [orders = '', risk = ''] = resources
  const refused = await fetch(orders)
  assert.match(refused.headers.get('www-authenticate') ?? '', /resource_metadata=/)
  const response = await oauth.resourceDiscoveryRequest(new URL(orders), insecure)
  const { authorization_servers: found = [] } = await oauth.processResourceDiscoveryResponse(new URL(orders), response)
  const issuer = new URL(found[0] ?? '')
  const discovery = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
  const server = await oauth.processDiscoveryResponse(issuer, discovery)
  assert.ok([server.protected_resources].flat().includes(orders))

  const verifier = oauth.generateRandomCodeVerifier()
  const start = new URL(server.authorization_endpoint ?? '')
  start.search = new URLSearchParams([
    ['client_id', 'desk'],
    ['redirect_uri', CALLBACK],
    ['response_type', 'code'],
    ['scope', 'openid offline_access orders:write risk'],
    ['code_challenge', await oauth.calculatePKCECodeChallenge(verifier)],
    ['code_challenge_method', 'S256'],
    ...resources.map((resource) => ['resource', resource]),
  ] as [string, string][]).toString()
  const { url } = await followAsAlice(gatehouse, start)
  const answer = oauth.validateAuthResponse(server, client, url)
  const first = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, basic, answer, CALLBACK, verifier, {
      ...insecure,
      additionalParameters: { resource: orders },
    }),
  )
  assert.deepEqual(readAudience(first.access_token), [orders, 'identity'])
  let token = first.refresh_token ?? ''
  for (const [resource, scope] of [
    [risk, 'risk'],
    [orders, 'orders:write'],
  ] as const) {
    const refreshed = await oauth.refreshTokenGrantRequest(server, client, basic, token, {
      ...insecure,
      additionalParameters: { resource, scope },
    })
    const tokens = await oauth.processRefreshTokenResponse(server, client, refreshed)
    assert.deepEqual([readAudience(tokens.access_token), tokens.scope], [resource, scope])
    token = tokens.refresh_token ?? token
  }
  const other = await oauth.refreshTokenGrantRequest(server, client, basic, token, {
    ...insecure,
    additionalParameters: { resource: `${gatehouse.issuer}/query` },
  })
  await assert.rejects(oauth.processRefreshTokenResponse(server, client, other), { error: 'invalid_target' })
})

test('RFC 9728: the query service leads to its metadata by its challenge', async () => {
  const address = `${gatehouse.issuer}/query`
  const response = await fetch(address, { method: 'POST', body: 'select 1 as one' })
  const [, document = ''] = /resource_metadata="([^"]+)"/.exec(response.headers.get('www-authenticate') ?? '') ?? []
  const metadata = await oauth.processResourceDiscoveryResponse(new URL(address), await fetch(document))
  assert.deepEqual(metadata.authorization_servers, [gatehouse.issuer])
  await oauth.processResourceDiscoveryResponse(
    new URL(address),
    await oauth.resourceDiscoveryRequest(new URL(address), insecure),
  )
})
