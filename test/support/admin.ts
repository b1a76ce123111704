/** The administration door over a real socket and database, with callers whose rights the test chooses. */
import { type AdminDoor, registerAdmin } from '../../src/admin/admin.ts'
import { answerForHere, createLive, type LiveHere } from '../../src/admin/live.ts'
import type { AdminEnv } from '../../src/admin/route.ts'
import { openAssembly } from '../../src/events/assembly.ts'
import { createLocalBus } from '../../src/events/local-bus.ts'
import { createApp } from '../../src/http/app.ts'
import { openListener } from '../../src/http/listener.ts'
import { createLogger } from '../../src/http/log.ts'
import type { GateEvent } from '../../src/protocol/gate-event.ts'
import { createMetrics } from '../../src/protocol/metrics.ts'
import type { Principal } from '../../src/protocol/principal.ts'
import { openAuditLog } from '../../src/store/audit.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createNodes } from '../../src/store/nodes.ts'
import { hashPassword } from '../../src/store/password-hash.ts'
import { createStores } from '../../src/store/stores.ts'
import type { TestPlace } from './engines.ts'

export interface TestAdmin {
  readonly env: AdminEnv
  readonly events: GateEvent[]
  /** Calls as an administrator of everything unless `token` says otherwise. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  stop(): Promise<void>
}

export interface CallOptions {
  readonly body?: unknown
  readonly ifMatch?: string
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
  readonly body: any
  readonly text: string
}

/** A token is the list of its scopes, joined by +. */
const authenticate: AdminDoor['authenticate'] = async (token) =>
  token === 'bad' ? undefined : principal(token.replaceAll('-', '/').split('+'))

export async function startTestAdmin(
  place: TestPlace,
  parts: Partial<AdminEnv> = {},
  here: LiveHere = { streams: undefined, queries: undefined },
): Promise<TestAdmin> {
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  const clock = Date.now
  const fail = (error: unknown) => {
    throw error
  }
  const audit = openAuditLog(database, { clock, node: 'test', onError: fail })
  const bus = createLocalBus(fail)
  const events: GateEvent[] = []
  bus.subscribe((event) => events.push(event))
  const assembly = openAssembly({ name: 'test', bus, nodes: createNodes(database, clock), clock, onError: fail })
  answerForHere(assembly, here)
  const env: AdminEnv = {
    database,
    stores: createStores(database, clock),
    clock,
    audit,
    publish: (event) => bus.publish(event),
    keyring: {
      list: async () => [],
      rotate: () => fail('no keyring'),
      retire: () => fail('no keyring'),
      withdraw: () => fail('no keyring'),
    },
    hashPassword,
    settings: () => [],
    live: createLive(assembly),
    ...parts,
  }
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const logger = createLogger({ level: 'fatal', format: 'json' })
  const app = createApp({ logger, trustedProxies: [], listener, metrics: createMetrics() })
  registerAdmin(app, { env, authenticate, admit() {} })
  await app.ready()
  listener.answerWith(app.routing)
  return {
    env,
    events,
    async call(method, path, { body, ifMatch, token = 'Identity-Admin+Platform-Admin', headers = {} } = {}) {
      const response = await fetch(`http://127.0.0.1:${listener.port}${path}`, {
        method,
        headers: {
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json; charset') === true
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    },
    async stop() {
      await listener.close(1000)
      await app.close()
      await assembly.close()
      await audit.close()
      await bus.close()
      await database.close()
    },
  }
}

function principal(scopes: readonly string[]): Principal {
  return {
    subject: 'usr_operator',
    kind: 'user',
    clientId: 'console',
    scopes: new Set(scopes),
    roles: [],
    audiences: ['identity'],
    tokenId: 't',
    sessionId: undefined,
    grantId: undefined,
    username: 'operator',
    displayName: undefined,
    issuedAt: 0,
    expiresAt: Number.MAX_SAFE_INTEGER,
    authTime: undefined,
  }
}
