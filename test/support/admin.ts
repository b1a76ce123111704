/** The administration routes over a real socket and database, with callers whose rights the test chooses. */

import type { Authenticate, GateEvent, Principal } from 'gatehouse-protocol'
import { adminGroup } from '../../packages/server/src/admin/admin.ts'
import {
  createClusterActivity,
  handleActivityCalls,
  type LocalActivity,
} from '../../packages/server/src/admin/node-activity.ts'
import type { AdminEnv, AdminRoute } from '../../packages/server/src/admin/route.ts'
import { openCluster } from '../../packages/server/src/events/cluster.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores } from '../../packages/server/src/store/stores.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import type { TestPlace } from './engines.ts'
import { createLocalBus } from './local-bus.ts'

export interface TestAdmin {
  readonly env: AdminEnv & { readonly stores: WritableStores }
  readonly events: GateEvent[]
  /** Calls with all administration scopes unless `token` is given. */
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
const authenticate: Authenticate = async (token) =>
  token === 'bad' ? undefined : principal(token.replaceAll('-', '/').split('+'))

export async function startTestAdmin(
  place: TestPlace,
  parts: Partial<AdminEnv> = {},
  here: LocalActivity = { streams: undefined, queries: undefined },
  routes?: readonly AdminRoute[],
): Promise<TestAdmin> {
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  const clock = Date.now
  const fail = (error: unknown) => {
    throw error
  }
  const audit = openAuditLog(database, { clock, node: 'test', onError: fail })
  const bus = createLocalBus(fail)
  const events: GateEvent[] = []
  bus.subscribe((event) => void events.push(event))
  const stores = createStores(database, clock)
  const cluster = openCluster({
    name: 'test',
    issuer: 'http://localhost',
    bus,
    nodes: stores.nodes,
    clock,
    onError: fail,
  })
  handleActivityCalls(cluster, here)
  const env: TestAdmin['env'] = {
    database,
    builtInClients: new Map(),
    clock,
    issuer: 'https://gate.example.com/id',
    audit,
    publish: (event) => bus.publish(event),
    receive: (recorded) => bus.receive(recorded),
    keyring: {
      list: async () => [],
      rotate: () => fail('no keyring'),
      retire: () => fail('no keyring'),
      withdraw: () => fail('no keyring'),
    },
    hashPassword,
    settings: () => [],
    activity: createClusterActivity(cluster),
    definitions: async () => undefined,
    providerKey: Buffer.alloc(32),
    reload: async () => {},
    loadedControllers: [],
    feeds: undefined,
    mail: undefined,
    stopping: new AbortController().signal,
    ...parts,
    stores,
  }
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const logger = createLogger({ level: 'fatal', format: 'json' })
  const options = { logger, metrics: new Metrics(), readAddress: connectionAddress, authenticate }
  listener.answerWith(new Pipeline({ ...options, groups: [adminGroup(env, options.authenticate, routes)] }))
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
      const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get('content-type') ?? '')
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    },
    async stop() {
      await listener.close(1000)
      await cluster.close()
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
