/** An OpenID provider of a few lines that tells the truth until a test lets it lie. */
import { createHash, generateKeyPairSync, hash, type JsonWebKey, type KeyObject, randomUUID, sign } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export type Claims = Record<string, unknown>

/** What a test changes of each answer. */
export interface Lies {
  metadata?: (document: Claims) => Claims
  /** The parameters of the redirect back. */
  answer?: (parameters: Record<string, string>) => Record<string, string>
  claims?: (claims: Claims) => Claims
  /** The whole ID token. */
  idToken?: (claims: Claims) => string
  token?: (body: Claims) => { readonly status?: number; readonly body: unknown }
  keys?: (keys: Claims[]) => Claims[]
  userinfo?: (claims: Claims) => Claims
  /** Nothing is answered. */
  silent?: boolean
}

export interface StubProvider {
  readonly issuer: string
  readonly port: number
  readonly clientId: string
  readonly secret: string
  /** The claims of the person who signs in; each ID token has them. */
  person: Claims
  /** Claims at userinfo besides `sub`. */
  more: Claims
  lies: Lies
  clock: () => number
  /** Every request that arrived. */
  readonly seen: { readonly path: string; readonly form: URLSearchParams; readonly headers: http.IncomingHttpHeaders }[]
  /** Plays the provider's part of a sign-in: the address that the browser is sent back to. */
  answer(request: URL): URL
  sign(claims: Claims, header?: Claims, key?: KeyObject): string
  logoutToken(claims: Claims, header?: Claims): string
  /** Of the key that signs now. */
  publicJwk(): JsonWebKey
  rotate(): void
  stop(): Promise<void>
}

export async function startStubProvider(path = '', issuerPath = path): Promise<StubProvider> {
  let key = newKey()
  const requests = new Map<string, URLSearchParams>()
  const server = http.createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const base = `${origin}${path}`
  const stub: StubProvider = {
    issuer: `${origin}${issuerPath}`,
    port,
    clientId: 'gatehouse',
    secret: 'a secret, with: signs & spaces',
    person: {
      sub: 'subject-1',
      preferred_username: 'ann',
      email: 'ann@example.com',
      email_verified: true,
      name: 'Ann',
    },
    more: {},
    lies: {},
    clock: Date.now,
    seen: [],
    answer(request) {
      const code = randomUUID()
      requests.set(code, request.searchParams)
      const back = new URL(request.searchParams.get('redirect_uri') ?? '')
      const truth = { code, state: request.searchParams.get('state') ?? '' }
      for (const [name, value] of Object.entries(stub.lies.answer?.(truth) ?? truth))
        back.searchParams.append(name, value)
      return back
    },
    sign: (claims, header = {}, other = key.privateKey) =>
      signed(claims, { alg: 'RS256', kid: key.kid, ...header }, other),
    logoutToken: (claims, header = {}) =>
      stub.sign(
        {
          iss: stub.issuer,
          aud: stub.clientId,
          iat: now(),
          exp: now() + 120,
          jti: randomUUID(),
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          ...claims,
        },
        { typ: 'logout+jwt', ...header },
      ),
    publicJwk: () => key.jwk,
    rotate() {
      key = newKey()
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return stub

  function now(): number {
    return Math.floor(stub.clock() / 1000)
  }

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (stub.lies.silent === true) return
    const url = new URL(request.url ?? '', origin)
    let body = ''
    for await (const chunk of request) body += chunk
    stub.seen.push({ path: url.pathname, form: new URLSearchParams(body), headers: request.headers })
    const reply = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    switch (url.pathname.slice(path.length)) {
      case '/.well-known/openid-configuration':
        return void reply((stub.lies.metadata ?? same)(metadata()))
      case '/jwks':
        return void reply({ keys: (stub.lies.keys ?? same)([key.jwk]) })
      case '/token':
        return void token(new URLSearchParams(body), reply)
      case '/userinfo': {
        const truth = { sub: stub.person.sub, ...stub.more }
        return void reply((stub.lies.userinfo ?? same)(truth))
      }
      default:
        return void reply({}, 404)
    }
  }

  function metadata(): Claims {
    return {
      issuer: stub.issuer,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      userinfo_endpoint: `${base}/userinfo`,
      jwks_uri: `${base}/jwks`,
      end_session_endpoint: `${base}/end-session`,
    }
  }

  /** RFC 7636 §4.6, RFC 6749 §4.1.3. */
  function token(form: URLSearchParams, reply: (value: unknown, status?: number) => void): void {
    const asked = requests.get(form.get('code') ?? '')
    requests.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = asked?.get('code_challenge') === challenge && asked.get('redirect_uri') === form.get('redirect_uri')
    if (!isRight) {
      reply({ error: 'invalid_grant' }, 400)
      return
    }
    const accessToken = randomUUID()
    const truth: Claims = {
      iss: stub.issuer,
      aud: stub.clientId,
      iat: now(),
      exp: now() + 300,
      nonce: asked.get('nonce'),
      at_hash: hash('sha256', accessToken, 'buffer').subarray(0, 16).toString('base64url'),
      ...stub.person,
    }
    const claims = (stub.lies.claims ?? same)(truth)
    const idToken = stub.lies.idToken?.(claims) ?? stub.sign(claims)
    const body = { id_token: idToken, access_token: accessToken, token_type: 'Bearer' }
    const { status = 200, body: sent } = stub.lies.token?.(body) ?? { body }
    reply(sent, status)
  }
}

export function signed(claims: Claims, header: Claims, key: KeyObject): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = randomUUID()
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' } as Claims }
}

function same<T>(value: T): T {
  return value
}
