/** The identity endpoints beside oidc-provider, the bare programs and what the processor can sign. */
import { spawnSync } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/store/database.ts'
import { hashPassword } from '../src/store/password-hash.ts'
import { createStores, type Stores } from '../src/store/stores.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load, requestBytes } from './support/http-load.ts'
import { type Program, startProgram } from './support/program.ts'

const FIRST_PORT = 15_500
const CONNECTIONS = 32
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
const WARM_MS = ROUND_MS / 3
const SECRET = 'bench-secret'
const BASIC = { authorization: `Basic ${Buffer.from(`bench:${SECRET}`).toString('base64')}` }
const COLUMNS = { rate: '/s', cpu: 'ms each' }
const CREDENTIALS = requestBytes('POST', '/connect/token', BASIC, 'grant_type=client_credentials&scope=Platform%2FNews')
const BARE_SIGN = 'bare http, signing on the pool'
const BARE_FASTIFY = 'bare Fastify route'
const PEER = 'oidc-provider, in memory'

export const identity: readonly Measurement[] = [
  {
    name: 'token',
    about: 'client_credentials, RS256 JWT',
    columns: COLUMNS,
    ratios: [
      { column: 'rate', to: BARE_SIGN, least: 0.85 },
      { column: 'rate', to: PEER, least: 1.4 },
    ],
    contenders: async () => [
      await gatehouse('gatehouse', () => always(CREDENTIALS)),
      await peer(BARE_SIGN, 'peers/bare-sign.js', always(CREDENTIALS)),
      await peer(
        PEER,
        'peers/oidc-provider-jwt.js',
        always(requestBytes('POST', '/token', BASIC, 'grant_type=client_credentials&scope=Platform%2FNews')),
      ),
      openssl(),
    ],
  },
  {
    name: 'refresh',
    about: 'refresh_token: rotated and durable, beside client_credentials',
    columns: COLUMNS,
    ratios: [{ column: 'rate', to: 'client_credentials', least: 0.6 }],
    contenders: async () => [
      await gatehouse('refresh_token', refreshing),
      await gatehouse('client_credentials', () => always(CREDENTIALS)),
    ],
  },
  {
    name: 'code',
    about: 'authorization_code with PKCE: spent and durable, beside client_credentials',
    columns: COLUMNS,
    contenders: async () => [
      await gatehouse('authorization_code', redeeming),
      await gatehouse('client_credentials', () => always(CREDENTIALS)),
    ],
  },
  ofDocument('introspection', 'a JWT access token', 0.5, 350, introspecting),
  ofDocument('userinfo', 'claims of a user', 0.5, 200, asking),
  ofDocument('discovery', 'the discovery document', 0.8, 2500, () =>
    always(requestBytes('GET', '/.well-known/openid-configuration')),
  ),
  ofDocument('jwks', 'the published keys', 0.8, 450, () =>
    always(requestBytes('GET', '/.well-known/openid-configuration/jwks')),
  ),
]

type MakeCaller = (gate: Gate) => (() => Caller) | Promise<() => Caller>

interface Gate {
  readonly port: number
  readonly stores: Stores
  readonly userId: string
}

function ofDocument(name: string, about: string, least: number, size: number, make: MakeCaller): Measurement {
  return {
    name,
    about,
    columns: COLUMNS,
    ratios: [{ column: 'rate', to: BARE_FASTIFY, least }],
    contenders: async () => [
      await gatehouse('gatehouse', make),
      await peer(
        BARE_FASTIFY,
        'peers/bare-fastify.js',
        always(name === 'introspection' ? requestBytes('POST', '/', BASIC, 'token=x') : requestBytes('GET', '/')),
        [String(size)],
      ),
    ],
  }
}

let nextPort = FIRST_PORT

async function gatehouse(name: string, make: MakeCaller): Promise<Contender> {
  const data = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const port = nextPort++
  const args = ['serve', '--port', String(port), '--data', data, '--log-level', 'warn']
  const program = await startProgram('../bin/gatehouse.js', port, args, '/healthz')
  const database = await openDatabase({ dataFolder: data, url: '' })
  const stores = createStores(database, Date.now)
  const userId = await seed(stores)
  const caller = await make({ port, stores, userId })
  return {
    name,
    measure: () => measure(program, caller),
    async close() {
      await program.stop()
      await database.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

async function peer(
  name: string,
  file: string,
  caller: () => Caller,
  more: readonly string[] = [],
): Promise<Contender> {
  const port = nextPort++
  const program = await startProgram(file, port, [String(port), ...more])
  return { name, measure: () => measure(program, caller), close: () => program.stop() }
}

/** How often all processors together could sign, if they did nothing else. */
function openssl(): Contender {
  return {
    name: 'openssl speed, every processor',
    async measure() {
      const { stdout } = spawnSync('openssl', ['speed', '-seconds', '2', '-multi', '2', '-mr', 'rsa2048'], {
        encoding: 'utf8',
      })
      const rate = Number(/^\+F2:\d+:2048:([\d.]+)/m.exec(stdout)?.[1])
      return { rate: rate < 1 ? 1 / rate : rate, cpu: Number.NaN }
    },
  }
}

async function measure(program: Program, caller: () => Caller): Promise<Figures> {
  const callers = Array.from({ length: CONNECTIONS }, caller)
  await load(program.port, callers, WARM_MS)
  const before = program.cpuMs()
  const { answers, seconds } = await load(program.port, callers, ROUND_MS)
  return { rate: answers / seconds, cpu: (program.cpuMs() - before) / answers }
}

function always(request: Buffer): () => Caller {
  return () => ({ next: () => request })
}

async function refreshing({ port }: Gate): Promise<() => Caller> {
  const families: string[] = []
  for (let count = 0; count < CONNECTIONS; count++)
    families.push((await signIn(port, 'offline_access Platform/News')).refresh_token)
  let next = 0
  // Each connection goes on with its own family from round to round.
  return () => {
    const index = next++ % CONNECTIONS
    return {
      next: () =>
        requestBytes('POST', '/connect/token', BASIC, `grant_type=refresh_token&refresh_token=${families[index]}`),
      take: (_status, body) => {
        families[index] = /"refresh_token":"([^"]+)"/.exec(body)?.[1] ?? ''
      },
    }
  }
}

const CODES = 60_000

/** Codes are made beforehand: this measures their redemption. */
async function redeeming({ stores, userId }: Gate): Promise<() => Caller> {
  const redirectUri = 'https://app.example/callback'
  const pairs: { code: string; verifier: string }[] = []
  const hour = 3_600_000
  while (pairs.length < CODES) {
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
        pairs.push({ code: await stores.codes.issue(grant.id, { redirectUri, challenge }, hour), verifier })
      }),
    )
  }
  return () => ({
    next() {
      const pair = pairs.pop()
      if (pair === undefined) throw new Error('More codes must be made beforehand')
      const form = { grant_type: 'authorization_code', redirect_uri: redirectUri, code: pair.code }
      const body = new URLSearchParams({ ...form, code_verifier: pair.verifier }).toString()
      return requestBytes('POST', '/connect/token', BASIC, body)
    },
  })
}

async function introspecting({ port }: Gate): Promise<() => Caller> {
  const { access_token } = await signIn(port, 'openid profile Platform/News')
  return always(requestBytes('POST', '/connect/introspect', BASIC, `token=${access_token}`))
}

async function asking({ port }: Gate): Promise<() => Caller> {
  const { access_token } = await signIn(port, 'openid profile Platform/News')
  return always(requestBytes('GET', '/connect/userinfo', { authorization: `Bearer ${access_token}` }))
}

async function signIn(port: number, scope: string): Promise<{ access_token: string; refresh_token: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', username: 'bench', password: SECRET, scope }),
    headers: BASIC,
  })
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as { access_token: string; refresh_token: string }
}

async function seed(stores: Stores): Promise<string> {
  await stores.roles.put({ name: 'reader', scopes: ['Platform/News'] })
  await stores.clients.put({
    client_id: 'bench',
    grant_types: ['client_credentials', 'password', 'refresh_token', 'authorization_code'],
    redirect_uris: ['https://app.example/callback'],
    scope: 'openid profile offline_access Platform/News',
  })
  await stores.clients.addSecret('bench', SECRET)
  return stores.users.create({
    username: 'bench',
    passwordHash: await hashPassword(SECRET),
    profile: { name: 'Bench', email: 'bench@example.com' },
    roles: ['reader'],
  })
}
