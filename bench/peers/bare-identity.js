// node:http that does the work of introspection and userinfo, with nothing around it: an upper bound, not a peer. A token is verified
// once; after that it is compared, and its expiry is checked. GET /token issues one. The claims are those of our tokens and replies.
import { generateKeyPairSync, randomUUID, sign, timingSafeEqual, verify } from 'node:crypto'
import http from 'node:http'

const [, , port, secret] = process.argv
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const issuer = `http://127.0.0.1:${port}`
const clients = new Map([['bench', Buffer.from(secret)]])
const users = new Map([['user', { name: 'Bench', preferred_username: 'bench', updated_at: 1_700_000_000 }]])
const verified = new Map()

http
  .createServer((request, response) => {
    if (request.url === '/connect/introspect') withBody(request, (body) => introspect(request, body, response))
    else if (request.url === '/connect/userinfo') userinfo(request, response)
    else reply(response, request.url === '/token' ? { access_token: issue() } : {})
  })
  .listen(Number(port), '127.0.0.1')

function introspect(request, body, response) {
  const claims = isClient(request.headers.authorization)
    ? verifyClaims(new URLSearchParams(body).get('token'))
    : undefined
  if (claims === undefined) return reply(response, { active: false })
  const { scope, client_id, exp, iat, nbf, sub, aud, iss, jti } = claims
  const username = users.get(sub).preferred_username
  reply(response, { active: true, scope, client_id, username, token_type: 'Bearer', exp, iat, nbf, sub, aud, iss, jti })
}

function userinfo(request, response) {
  const claims = verifyClaims(/^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '')
  if (claims === undefined) return response.writeHead(401).end()
  reply(response, { sub: claims.sub, ...users.get(claims.sub) })
}

function isClient(authorization = '') {
  const text = Buffer.from(/^Basic (\S+)$/i.exec(authorization)?.[1] ?? '', 'base64').toString()
  const colon = text.indexOf(':')
  const known = clients.get(text.slice(0, colon))
  const offered = Buffer.from(text.slice(colon + 1))
  return known?.length === offered.length && timingSafeEqual(known, offered)
}

function verifyClaims(token) {
  let claims = verified.get(token)
  if (claims === undefined) {
    const [header, payload, signature] = token.split('.')
    const input = Buffer.from(`${header}.${payload}`)
    if (!verify('sha256', input, publicKey, Buffer.from(signature ?? '', 'base64url'))) return undefined
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    verified.set(token, claims)
  }
  return claims.exp * 1000 > Date.now() ? claims : undefined
}

function issue() {
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    iss: issuer,
    sub: 'user',
    aud: 'platform',
    client_id: 'bench',
    scope: 'openid profile Platform/News',
    iat,
    nbf: iat,
    exp: iat + 3600,
    jti: randomUUID(),
  }
  const encoded = [{ alg: 'RS256', typ: 'at+jwt', kid: 'bare' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const input = encoded.join('.')
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
}

function withBody(request, use) {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => use(String(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))))
}

function reply(response, value) {
  const text = JSON.stringify(value)
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store, no-cache, max-age=0',
    pragma: 'no-cache',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
