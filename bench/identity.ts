/** The identity endpoints, compared with oidc-provider, bare programs and the signing speed of the processor. */
import { spawnSync } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Checkout, HERE, serve } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load, requestBytes } from './support/http-load.ts'
import { launchPeer, newPort, type Program, temporaryFolder } from './support/program.ts'

const CONNECTIONS = 32
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
const WARM_MS = ROUND_MS / 3
const SECRET = 'bench-secret'
const TOKEN = '/connect/token'
const USER_SCOPE = 'openid profile Platform/News'
/** Without openid, with which a refresh would sign an ID token too: client_credentials signs one token. */
const REFRESH_SCOPE = 'offline_access Platform/News'
const REDIRECT_URI = 'https://app.example/callback'
const BASIC = { authorization: `Basic ${Buffer.from(`bench:${SECRET}`).toString('base64')}` }
const COLUMNS = { rate: '/s', cpu: 'ms each' }
const CREDENTIALS_FORM = 'grant_type=client_credentials&scope=Platform%2FNews'
const BARE_SIGN = 'bare http, signing on the pool'
const BARE_FASTIFY = 'bare Fastify route'
const BARE_SAME = 'bare node:http doing the same'
const PEER = 'oidc-provider, in memory'

export const clientCredentials: Work = () => always(requestBytes('POST', TOKEN, BASIC, CREDENTIALS_FORM))

export const identity: readonly Measurement[] = [
  {
    name: 'token',
    about: 'client_credentials, RS256 JWT',
    columns: COLUMNS,
    ratios: [
      { column: 'rate', to: BARE_SIGN, least: 0.85 },
      { column: 'rate', to: PEER, least: 1.4 },
    ],
    subject: (checkout) => gatehouse('gatehouse', checkout, clientCredentials),
    async *references() {
      yield peer(BARE_SIGN, 'bare-sign.js', requestBytes('POST', TOKEN, BASIC, CREDENTIALS_FORM))
      yield peer(PEER, 'oidc-provider-jwt.js', requestBytes('POST', '/token', BASIC, CREDENTIALS_FORM))
      yield openssl()
    },
  },
  {
    name: 'refresh',
    about: 'refresh_token: rotated and durable, beside client_credentials',
    columns: COLUMNS,
    ratios: [{ column: 'rate', to: 'client_credentials', least: 0.65 }],
    subject: (checkout) => gatehouse('refresh_token', checkout, refreshing),
    async *references() {
      yield gatehouse('client_credentials', HERE, clientCredentials)
    },
  },
  {
    name: 'code',
    about: 'authorization_code with PKCE: redeemed and durable, beside client_credentials',
    columns: COLUMNS,
    subject: (checkout) => gatehouse('authorization_code', checkout, redeeming),
    async *references() {
      yield gatehouse('client_credentials', HERE, clientCredentials)
    },
  },
  besideSameWork('introspection', 'a JWT access token', 350, introspecting),
  besideSameWork('userinfo', 'claims of a user', 200, readingUserinfo),
  besideBareRoute('discovery', 'the discovery document', 2500, '/.well-known/openid-configuration'),
  besideBareRoute('jwks', 'the published keys', 450, '/.well-known/openid-configuration/jwks'),
]

/** Prepares the requests of a measurement; returns a caller for each connection. */
type Work = (server: TestedCheckout) => (() => Caller) | Promise<() => Caller>

interface TestedCheckout {
  readonly checkout: Checkout
  readonly port: number
  readonly dataFolder: string
}

function besideBareRoute(name: string, about: string, size: number, path: string): Measurement {
  return {
    name,
    about,
    columns: COLUMNS,
    ratios: [{ column: 'rate', to: BARE_FASTIFY, least: 0.8 }],
    subject: (checkout) => gatehouse('gatehouse', checkout, () => always(requestBytes('GET', path))),
    async *references() {
      yield bareFastify(requestBytes('GET', '/'), size)
    },
  }
}

/** `tokenRequest`: the request that is measured, with an access token of the server. */
function besideSameWork(
  name: string,
  about: string,
  size: number,
  tokenRequest: (token: string) => Buffer,
): Measurement {
  const work: Work = async ({ port }) => always(tokenRequest((await signIn(port, USER_SCOPE)).access_token))
  return {
    name,
    about,
    columns: COLUMNS,
    ratios: [{ column: 'rate', to: BARE_SAME, least: 0.8 }],
    subject: (checkout) => gatehouse('gatehouse', checkout, work),
    async *references() {
      yield bareSame(tokenRequest)
      yield bareFastify(tokenRequest('x'), size)
    },
  }
}

const DECLARATION = {
  roles: [{ name: 'reader', scopes: ['Platform/News'] }],
  clients: [
    {
      client_id: 'bench',
      client_secret: SECRET,
      grant_types: ['client_credentials', 'password', 'refresh_token', 'authorization_code'],
      redirect_uris: [REDIRECT_URI],
      scope: 'openid profile offline_access Platform/News',
    },
  ],
  users: [{ username: 'bench', password: SECRET, name: 'Bench', email: 'bench@example.com', roles: ['reader'] }],
}

export async function gatehouse(
  name: string,
  checkout: Checkout,
  work: Work,
  more: Readonly<Record<string, string>> = {},
): Promise<Contender> {
  const folder = await temporaryFolder()
  const [port, dataFolder, config] = [newPort(), join(folder.path, 'data'), join(folder.path, 'bench.json')]
  await writeFile(config, JSON.stringify(DECLARATION))
  const flags = { '--port': String(port), '--data': dataFolder, '--config': config, '--log-level': 'warn', ...more }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/healthz` })
  const caller = await work({ checkout, port, dataFolder })
  return {
    name,
    measure: () => measure(program, port, caller),
    async close() {
      await program.stop()
      await folder.remove()
    },
  }
}

async function peer(name: string, file: string, request: Buffer, args: readonly string[] = []): Promise<Contender> {
  const port = newPort()
  const program = await launchPeer(file, port, args)
  return { name, measure: () => measure(program, port, always(request)), close: program.stop }
}

function bareFastify(request: Buffer, size: number): Promise<Contender> {
  return peer(BARE_FASTIFY, 'bare-fastify.js', request, [String(size)])
}

async function bareSame(requestWith: (token: string) => Buffer): Promise<Contender> {
  const port = newPort()
  const program = await launchPeer('bare-identity.js', port, [SECRET])
  const { access_token } = (await (await fetch(`http://127.0.0.1:${port}/token`)).json()) as { access_token: string }
  const request = requestWith(access_token)
  return { name: BARE_SAME, measure: () => measure(program, port, always(request)), close: program.stop }
}

export const OPENSSL = 'openssl speed, every processor'

/** How often all processors together can sign. */
export function openssl(): Contender {
  return {
    name: OPENSSL,
    async measure() {
      const { stdout } = spawnSync('openssl', ['speed', '-seconds', '2', '-multi', '2', '-mr', 'rsa2048'], {
        encoding: 'utf8',
      })
      const rate = Number(/^\+F2:\d+:2048:([\d.]+)/m.exec(stdout)?.[1])
      return { rate: rate < 1 ? 1 / rate : rate, cpu: Number.NaN }
    },
  }
}

async function measure(program: Program, port: number, caller: () => Caller): Promise<Figures> {
  const callers = Array.from({ length: CONNECTIONS }, caller)
  await load(port, callers, WARM_MS)
  const before = program.use().cpuMs
  const { responses, seconds } = await load(port, callers, ROUND_MS)
  return { rate: responses / seconds, cpu: (program.use().cpuMs - before) / responses }
}

function always(request: Buffer): () => Caller {
  return () => ({ next: () => request })
}

async function refreshing({ port }: TestedCheckout): Promise<() => Caller> {
  const tokens: string[] = []
  for (let count = 0; count < CONNECTIONS; count++) tokens.push((await signIn(port, REFRESH_SCOPE)).refresh_token)
  let next = 0
  // Each connection continues with its own token family from round to round.
  return () => {
    const index = next++ % CONNECTIONS
    return {
      next: () => requestBytes('POST', TOKEN, BASIC, `grant_type=refresh_token&refresh_token=${tokens[index]}`),
      onResponse: (_status, body) => {
        tokens[index] = /"refresh_token":"([^"]+)"/.exec(body)?.[1] ?? ''
      },
    }
  }
}

const CODES = 60_000

/** Only the redemption is measured: the codes are written to the store of the checkout beforehand. */
async function redeeming({ checkout, dataFolder }: TestedCheckout): Promise<() => Caller> {
  const source = (file: string) => import(pathToFileURL(join(checkout.root, 'packages/server/src/store', file)).href)
  const { openDatabase }: typeof import('../packages/server/src/store/database/database.ts') =
    await source('database/database.ts')
  const { createStores }: typeof import('../packages/server/src/store/stores.ts') = await source('stores.ts')
  const database = await openDatabase({ dataFolder, url: '' })
  const stores = createStores(database, Date.now)
  const userId = (await stores.users.findByUsername('bench'))?.id ?? ''
  const codes: { code: string; verifier: string }[] = []
  const hour = 3_600_000
  while (codes.length < CODES) {
    await Promise.all(
      Array.from({ length: 500 }, async () => {
        const verifier = randomBytes(32).toString('base64url')
        const grant = await stores.grants.create({
          kind: 'authorization_code',
          clientId: 'bench',
          userId,
          sessionId: 'bench',
          scopes: ['offline_access', 'Platform/News'],
          authTime: Date.now(),
          details: { amr: ['pwd'] },
          expiresAt: Date.now() + hour,
        })
        const challenge = { method: 'S256', value: hash('sha256', verifier, 'base64url') } as const
        const code = await stores.codes.issue(grant.id, { redirectUri: REDIRECT_URI, challenge }, hour)
        codes.push({ code, verifier })
      }),
    )
  }
  await database.close()
  return () => ({
    next() {
      const next = codes.pop()
      if (next === undefined) throw new Error('All prepared codes are used: raise CODES')
      const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, code: next.code }
      const body = new URLSearchParams({ ...form, code_verifier: next.verifier }).toString()
      return requestBytes('POST', TOKEN, BASIC, body)
    },
  })
}

function introspecting(token: string): Buffer {
  return requestBytes('POST', '/connect/introspect', BASIC, `token=${token}`)
}

function readingUserinfo(token: string): Buffer {
  return requestBytes('GET', '/connect/userinfo', { authorization: `Bearer ${token}` })
}

async function signIn(port: number, scope: string): Promise<{ access_token: string; refresh_token: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${TOKEN}`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', username: 'bench', password: SECRET, scope }),
    headers: BASIC,
  })
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as { access_token: string; refresh_token: string }
}
