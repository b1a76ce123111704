/** An API that takes access tokens of Gatehouse: a resource server (RFC 6750, RFC 9068) with metadata that clients discover (RFC 9728). */
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { GATEHOUSE_SERVER: issuer = 'http://localhost:5080', RESOURCE: resource = 'http://localhost:5095' } = process.env
const port = Number(process.env.PORT ?? 5095)

const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json()
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
const orders = []

const DOCUMENT = '/.well-known/oauth-protected-resource'
const description = {
  resource,
  authorization_servers: [issuer],
  scopes_supported: ['orders:read', 'orders:write'],
  bearer_methods_supported: ['header'],
}

/** Each route, and the scope that it needs. */
const ROUTES = {
  'GET /orders': { scope: 'orders:read', run: () => [200, orders] },
  'POST /orders': {
    scope: 'orders:write',
    run({ sub, role }, body) {
      const order = { id: orders.length + 1, by: sub, role, ...body }
      orders.push(order)
      return [201, order]
    },
  },
}

createServer(async (request, response) => {
  const reply = (status, body, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  const { pathname } = new URL(request.url, resource)
  if (pathname === DOCUMENT) return reply(200, description)
  const key = `${request.method} ${pathname}`
  if (!Object.hasOwn(ROUTES, key)) return reply(404, { error: 'not_found' })
  const { scope, run } = ROUTES[key]
  const challenge = (status, error) =>
    reply(status, error === undefined ? {} : { error }, {
      'www-authenticate': `Bearer ${error === undefined ? '' : `error="${error}", `}scope="${scope}", resource_metadata="${resource}${DOCUMENT}"`,
    })
  // RFC 6750 §3.1: without a token there is no error, only what is needed.
  if (request.headers.authorization === undefined) return challenge(401)
  let claims
  try {
    claims = await verify(request.headers.authorization)
  } catch {
    return challenge(401, 'invalid_token')
  }
  if (!claims.scope.split(' ').includes(scope)) return challenge(403, 'insufficient_scope')
  try {
    return reply(...run(claims, request.method === 'POST' ? JSON.parse(await readText(request)) : undefined))
  } catch {
    return reply(400, { error: 'invalid_request' })
  }
}).listen(port, () => console.log(`Orders at http://localhost:${port}/orders`))

/** The signature, the issuer, this API as the audience, the time, and that it is an access token (RFC 9068 §4). */
async function verify(authorization = '') {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: resource,
    typ: 'at+jwt',
    algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    requiredClaims: ['exp', 'sub', 'client_id', 'scope'],
  })
  return payload
}

const MOST_BYTES = 10_000

async function readText(request) {
  let text = ''
  for await (const part of request) {
    text += part
    if (text.length > MOST_BYTES) throw new Error('too long')
  }
  return text
}
