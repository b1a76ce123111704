/** Each setting of the list that a reload takes over changes what a server does, with one process and with workers. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileName, type SettingName, settingNames } from '../../packages/server/src/config/config.ts'
import { reloadKind } from '../../packages/server/src/config/reload.ts'
import { trustedCertificate, writeCertificate } from '../support/certificate.ts'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { freshRequest, type RequestOptions } from '../support/fresh-request.ts'
import { type RunningProcess, servePlainly } from '../support/process.ts'
import { MAIL_PASSWORD, startSmtpServer } from '../support/smtp-server.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const SCOPE = 'Platform/Market Platform/Trading Platform/Admin Identity/Admin'
const CLIENTS = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6']
const DECLARED = {
  users: [{ username: 'alice', password: 'a-password-of-alice', roles: ['reader'] }],
  roles: [{ name: 'reader', scopes: ['Platform/Market'] }],
  clients: [
    ...CLIENTS.map((client_id) => ({
      ...{ client_id, client_secret: 'secret-of-the-service', scope: SCOPE },
      ...{ grant_types: ['client_credentials'], response_types: [] },
    })),
    {
      ...{ client_id: 'app', client_secret: 'secret-of-the-service', scope: 'openid offline_access Platform/Market' },
      ...{ grant_types: ['password', 'refresh_token'], response_types: [] },
    },
  ],
  tables: [{ name: 'ledger', columns: [{ name: 'id', type: 'Text', primary_key: true }] }],
  feeds: [{ name: 'Probe', keep: 'all' }],
}

interface Probe {
  /** The texts of the setting. */
  readonly values: readonly [before: string, after: string]
  /** What is seen. */
  readonly seen: readonly [before: unknown, after: unknown]
  readonly see: (server: Subject) => Promise<unknown>
}

/** By setting. Those that are missing are tested elsewhere. */
const PROBES: { readonly [Name in SettingName]?: Probe } = {
  logLevel: {
    values: ['info', 'debug'],
    seen: [false, true],
    see: (server) => server.logs(({ reqId, msg }, id) => reqId === id && msg === 'request', '/healthz'),
  },
  logSlowQuery: {
    values: ['', '0'],
    seen: [false, true],
    see: async (server) =>
      server.logs(
        ({ reqId, msg, statement, client }, id) =>
          reqId === id && msg === 'slow statement' && statement === 'SELECT 1 AS one' && client === 'c1',
        '/query',
        { token: await server.token('c1'), body: 'SELECT 1 AS one' },
      ),
  },
  limitToken: budget('/connect/token', { body: '' }),
  limitPages: budget('/.well-known/jwks'),
  limitQuery: budget('/query', { body: 'SELECT 1 AS one' }),
  limitStream: budget('/Platform'),
  limitAdmin: budget('/admin/users'),
  limitFeeds: budget('/feeds'),
  limitScim: budget('/scim/v2/Users'),
  limitMcp: budget('/mcp', { body: '{}', type: 'application/json' }),
  feedPublisherKeys: {
    values: ['1', '1000'],
    seen: [
      [200, 429],
      [200, 200],
    ],
    async see({ send, token }) {
      const publish = async (key: string) => {
        const headers = { 'idempotency-key': `${key}-${Math.random()}` }
        return send('/feeds/Probe/keys', { token: await token('c5'), body: '1', type: 'application/json', headers })
      }
      return [(await publish('first')).status, (await publish('second')).status]
    },
  },
  feedPublisherRate: {
    values: ['1', '1000'],
    seen: [
      [200, 429],
      [200, 200],
    ],
    async see({ send, token }) {
      const body = JSON.stringify([1, 2].map((Data) => ({ Topic: 'probe', Data })))
      const publish = async () => send('/feeds/Probe', { token: await token('c6'), body, type: 'application/json' })
      return [(await publish()).status, (await publish()).status]
    },
  },
  mailPassword: {
    values: ['another password', MAIL_PASSWORD],
    seen: [502, 204],
    async see({ send, token }) {
      const body = JSON.stringify({ to: 'ops@example.com' })
      const sent = await send('/admin/mail/test', { token: await token('c5'), body, type: 'application/json' })
      return sent.status
    },
  },
  /** Of three requests for a new password within a minute, those that are queued. */
  mailRate: {
    values: ['1', '50'],
    seen: [1, 3],
    async see({ send, token }) {
      const from = '127.0.0.9'
      const admin = await token('c5')
      const count = async () => JSON.parse((await send('/admin/mail', { token: admin })).body).items.length
      const before = await count()
      const { body: page, headers } = await send('/forgot-password', { from })
      const form_token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
      const cookie = (headers['set-cookie'] ?? []).map((text) => text.split(';', 1)[0]).join('; ')
      const body = new URLSearchParams({ form_token, username: 'nobody' }).toString()
      for (let index = 0; index < 3; index++)
        await send('/forgot-password', { from, body, type: 'application/x-www-form-urlencoded', headers: { cookie } })
      return (await count()) - before
    },
  },
  limitExempt: {
    values: ['', '127.0.0.3'],
    seen: [true, false],
    async see({ send }) {
      const { headers } = await send('/.well-known/jwks', { from: '127.0.0.3' })
      return headers['ratelimit-policy'] !== undefined
    },
  },
  trustedProxies: {
    values: ['', '127.0.0.2'],
    seen: [false, true],
    see: (server) =>
      server.logs(
        ({ reqId, req }, id) => reqId === id && JSON.stringify(req).includes('203.0.113.7'),
        '/.well-known/jwks',
        { from: '127.0.0.2', headers: { 'x-forwarded-for': '203.0.113.7' } },
      ),
  },
  maxConnectionsPerAddress: {
    values: ['2000', '2'],
    seen: [true, false],
    async see({ send }) {
      const agent = new http.Agent({ keepAlive: true })
      const replies = Array.from({ length: 8 }, () => send('/healthz', { agent, from: '127.0.0.4' }))
      const settled = await Promise.allSettled(replies)
      agent.destroy()
      return settled.every(({ status }) => status === 'fulfilled')
    },
  },
  accessTokenLifetime: {
    values: ['3000', '2000'],
    seen: [3000, 2000],
    see: async ({ issue }) => (await issue('c1')).expires_in,
  },
  refreshTokenIdle: {
    values: ['5000', '4000'],
    seen: [5000, 4000],
    async see(server) {
      const { refresh_token: token } = await server.signIn()
      const { exp, iat } = await server.form('/connect/introspect', { token, ...APP })
      return Number(exp) - Number(iat)
    },
  },
  refreshTokenLifetime: {
    values: ['90000', '80000'],
    seen: [90_000, 80_000],
    async see(server) {
      await server.signIn()
      const { body } = await server.send('/admin/grants', { token: await server.token('c1') })
      const [{ created_at: created, expires_at: expires }] = JSON.parse(body).items
      return Math.round((Date.parse(expires) - Date.parse(created)) / 1000)
    },
  },
  refreshTokenGrace: {
    values: ['10', '0'],
    seen: [undefined, 'invalid_grant'],
    async see(server) {
      const { refresh_token } = await server.signIn()
      const refresh = () => server.form('/connect/token', { grant_type: 'refresh_token', refresh_token, ...APP })
      assert.equal((await refresh()).error, undefined)
      return (await refresh()).error
    },
  },
  queryRows: {
    values: ['100000', '3'],
    seen: [10, 3],
    see: async (server) => (await server.query('SELECT n FROM generate_series(1, 10) AS n')).Rows.length,
  },
  queryResultBytes: {
    values: ['1000000', '2000'],
    seen: [2, 1],
    see: async (server) =>
      (await server.query(`SELECT rpad('x', 3000, 'x') AS x FROM generate_series(1, 2) AS n`)).Rows.length,
  },
  queryBodyBytes: {
    values: ['1000000', '2000'],
    seen: [200, 413],
    async see({ send, token }) {
      const body = JSON.stringify({ id: `${Math.random()}` }).padEnd(3000)
      return (await send('/query/ledger/insert', { token: await token('c1'), type: 'application/json', body })).status
    },
  },
  queryImportBytes: {
    values: ['1000000', '2000'],
    seen: [200, 413],
    async see({ send, token }) {
      const body = `id\n${Math.random()}\n`.padEnd(3000, '\n')
      return (await send('/query/ledger/insert', { token: await token('c1'), type: 'text/csv', body })).status
    },
  },
  queryPerUser: {
    values: ['32', '1'],
    seen: [false, true],
    async see({ send, token }) {
      const options = { token: await token('c2'), body: 'SELECT count(*) AS n FROM generate_series(1, 150000) AS n' }
      const replies = await Promise.all(
        Array.from({ length: 6 }, (_, n) => send('/query', { ...options, from: `127.0.2.${n + 1}` })),
      )
      return replies.some(({ status }) => status === 429)
    },
  },
  liveStatementsPerConnection: {
    values: ['100', '2'],
    seen: [false, true],
    see: (server) => server.isLiveRefused('c3', NO_ROWS, [1, 3], /Limited live statements/),
  },
  liveStatementsPerUser: {
    values: ['100', '3'],
    seen: [false, true],
    see: (server) => server.isLiveRefused('c4', NO_ROWS, [4, 2], /Limited live statements/),
  },
  liveRows: {
    values: ['100000', '1'],
    seen: [false, true],
    async see(server) {
      for (const id of ['a', 'b']) await server.query(`INSERT INTO ledger VALUES ('${id}-${Math.random()}')`)
      return server.isLiveRefused('c5', 'SELECT id FROM ledger', [1, 1], /Limited rows/)
    },
  },
  streamOrigins: {
    values: ['', 'https://desk.example.com'],
    seen: [1, 0],
    see: async ({ open }) => (await open(1, { origin: 'https://other.example.com' })).length,
  },
  streamMaxMessageBytes: {
    values: ['1000000', '2000'],
    seen: [undefined, 1009],
    see: async ({ open, token }) => codeFor(3000, await open(1, { authorization: `Bearer ${await token('c2')}` })),
  },
  streamMaxAnonymousMessageBytes: {
    values: ['65536', '1000'],
    seen: [undefined, 1009],
    see: async ({ open }) => codeFor(1500, await open(1)),
  },
  streamMaxSubscriptions: {
    values: ['1000', '3'],
    seen: [false, true],
    async see({ open, token }) {
      const [stream] = await open(1, { authorization: `Bearer ${await token('c6')}` })
      const replies = []
      for (const topic of ['Identify', 'Live/a', 'Live/b', 'Live/c']) {
        const Data = { Statement: NO_ROWS }
        const message = { Topic: topic, Action: 'Sub', Controller: topic === 'Identify' ? 'Auth' : 'Query', Data }
        replies.push(JSON.stringify(await stream?.request(message)))
      }
      return replies.some((reply) => reply.includes('"Limited subscriptions"'))
    },
  },
  streamMaxConnections: {
    values: ['50000', '8'],
    seen: [12, 8],
    see: async ({ open }) => (await open(12)).length,
  },
  streamMaxConnectionsPerUser: {
    values: ['100', '3'],
    seen: [true, false],
    see: async ({ open, token }) => (await open(8, { authorization: `Bearer ${await token('c2')}` })).length === 8,
  },
  streamMaxConnectionsPerAddress: {
    values: ['1000', '2'],
    seen: [true, false],
    see: async ({ open }) => (await open(6, {}, () => '127.0.0.5')).length === 6,
  },
}

const APP = { client_id: 'app', client_secret: 'secret-of-the-service' }

const NO_ROWS = `SELECT id FROM ledger WHERE id = ''`

/** The limit that the replies to a request name. */
function budget(path: string, options: RequestOptions = {}): Probe {
  return {
    values: ['address=40000/60', 'address=50000/60'],
    seen: ['40000', '50000'],
    async see({ send, token }) {
      const { headers } = await send(path, { token: await token('c1'), ...options })
      return /q=(\d+)/.exec(String(headers['ratelimit-policy']))?.[1]
    },
  }
}

type LogLine = Readonly<Record<string, unknown>>
type Subject = ReturnType<typeof createSubject>

function createSubject(server: RunningProcess) {
  let streams: StreamClient[] = []
  let ids = 0
  const send = (path: string, options?: RequestOptions) => freshRequest(server.port, path, options)
  const form = async (path: string, fields: Record<string, string>): Promise<Record<string, string>> => {
    const body = new URLSearchParams(fields).toString()
    return JSON.parse((await send(path, { body, type: 'application/x-www-form-urlencoded' })).body)
  }
  const issue = (client: string) =>
    form('/connect/token', { grant_type: 'client_credentials', ...APP, client_id: client, scope: SCOPE })
  const token = async (client: string) => (await issue(client)).access_token ?? ''
  const lines = (): LogLine[] =>
    server
      .output()
      .stdout.split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line): LogLine => JSON.parse(line))
  /** Each from a different address, unless one is given; returns those that are accepted. */
  const open = async (count: number, headers = {}, buildAddress = (n: number) => `127.0.1.${n + 1}`) => {
    const opened: StreamClient[] = []
    for (let n = 0; n < count; n++) {
      const stream = await connect(server.port, { headers, localAddress: buildAddress(n) }).catch(() => undefined)
      if (stream !== undefined) opened.push(stream)
    }
    streams.push(...opened)
    return opened
  }
  return {
    send,
    form,
    issue,
    token,
    lines,
    open,
    signIn: async (): Promise<{ refresh_token: string }> => {
      const user = {
        username: 'alice',
        password: 'a-password-of-alice',
        scope: 'openid offline_access Platform/Market',
      }
      const { refresh_token = '' } = await form('/connect/token', { grant_type: 'password', ...user, ...APP })
      return { refresh_token }
    },
    query: async (body: string): Promise<{ Rows: unknown[] }> =>
      JSON.parse((await send('/query', { token: await token('c1'), body })).body),
    /** Whether a request leaves such a line: the one after it on the same connection has been logged for certain. */
    async logs(isWanted: (line: LogLine, id: string) => boolean, path: string, options: RequestOptions = {}) {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const [id, last] = [`probe-${++ids}`, `last-${++ids}`]
      await send(path, { ...options, agent, headers: { ...options.headers, 'request-id': id } })
      await send('/no-such-page', { agent, headers: { 'request-id': last } })
      await until('the requests are logged', 2000, () => lines().some(({ reqId }) => reqId === last))
      agent.destroy()
      return lines().some((line) => isWanted(line, id))
    },
    /** Whether a live statement, of several on each of several connections, is refused in these words. */
    async isLiveRefused(client: string, Statement: string, [connections, statements]: [number, number], words: RegExp) {
      const replies: string[] = []
      const opened = await open(connections, { authorization: `Bearer ${await token(client)}` })
      for (const stream of opened)
        for (let n = 0; n < statements; n++) {
          const Data = { Statement }
          replies.push(
            JSON.stringify(await stream.request({ Controller: 'Query', Topic: `Live/${n}`, Action: 'Sub', Data })),
          )
        }
      return replies.some((reply) => words.test(reply))
    },
    async closeStreams() {
      for (const { socket } of streams) socket.terminate()
      streams = []
      const admin = await token('c1')
      await until('all streams are closed', 2000, async () => {
        const { body } = await send('/admin/streams', { token: admin })
        return JSON.parse(body).items.length === 0
      })
    },
  }
}

test('every setting of the list has a probe or a separate test', () => {
  const elsewhere = ['tlsCertificate', 'tlsKey', 'stopDelay', 'streamDrainTime']
  assert.deepEqual(
    [...Object.keys(PROBES), ...elsewhere].toSorted(),
    settingNames()
      .filter((name) => reloadKind(name) === 'always')
      .toSorted(),
  )
})

for (const workers of [1, 2])
  describe(`SIGHUP, with ${workers} process(es)`, workers === 1 ? {} : IN_LONG_RUNS, () => {
    test('applies each setting of the list, and names those that need a restart', async (t) => {
      const { place, leave } = await openPlace('sqlite')
      const file = join(place.dataFolder, 'gatehouse.json')
      const smtp = await startSmtpServer()
      const { certFile } = await writeCertificate(trustedCertificate(), place.dataFolder)
      const fixed = { scim: true, mcp: true, mail_url: smtp.flags['--mail-url'], mail_from: smtp.flags['--mail-from'] }
      const declare = (which: 0 | 1, more: object, declared: object = DECLARED) => {
        const settings = Object.entries(PROBES).map(([name, { values }]) => [
          fileName(name as SettingName),
          values[which],
        ])
        return writeFile(
          file,
          JSON.stringify({ ...declared, settings: { ...Object.fromEntries(settings), ...fixed, ...more } }),
        )
      }
      await declare(0, { stream_drain_time: 30, stop_delay: 0 })
      const server = await servePlainly(
        ['--config', file, '--data', join(place.dataFolder, 'data'), '--workers', `${workers}`],
        { environment: { NODE_EXTRA_CA_CERTS: certFile } },
      )
      await until('all have started', 5000, () => workers === 1 || server.output().stdout.includes('all workers have'))
      t.after(async () => {
        await server.stop('SIGKILL')
        await smtp.close()
        await leave()
      })
      const subject = createSubject(server)
      const logged = (message: string) => subject.lines().filter(({ msg }) => msg === message)
      const see = async (which: 0 | 1) => {
        const found: Record<string, unknown> = {}
        for (const [name, { see }] of Object.entries(PROBES)) {
          found[name] = await see(subject)
          await subject.closeStreams()
        }
        const expected = Object.entries(PROBES).map(([name, { seen }]) => [name, seen[which]])
        assert.deepEqual(found, Object.fromEntries(expected), which === 0 ? 'before' : 'after')
      }
      await see(0)

      const added = { ...DECLARED, roles: [...DECLARED.roles, { name: 'writer', scopes: ['Platform/Market'] }] }
      const waiting = { issuer: 'https://other.example.com', brand_name: 'Other' }
      await declare(1, { stream_drain_time: 0.1, stop_delay: 0.7, ...waiting }, added)
      server.child.kill('SIGHUP')
      const last = workers === 1 ? 'settings and certificates reloaded' : 'all workers have been replaced'
      await until('it is reloaded', 10_000, () => logged(last).length === 1)
      await see(1)

      const token = await subject.token('c1')
      const { settings } = logged('some changed settings need a restart')[0] ?? {}
      assert.deepEqual(settings, workers === 1 ? ['issuer', 'brand_name'] : ['issuer'])
      assert.equal((await subject.send('/admin/roles/writer', { token })).status, 200, 'the file is applied')
      const shown = JSON.parse((await subject.send('/admin/settings', { token })).body)
      const shownAs = (name: string) => shown.items.find((item: { name: string }) => item.name === name)?.value
      assert.deepEqual([shownAs('query_rows'), shownAs('issuer')], ['3', ''], 'the settings in force are shown')

      await subject.open(6)
      const since = performance.now()
      assert.equal(await server.stop('SIGTERM'), 0)
      const took = performance.now() - since
      assert.ok(took >= 700 && took < 15_000, `the stop took ${took} ms: its delay and its drain time are reloaded`)
    })
  })

/** The code with which a connection is closed that sends a message of about this length; undefined if it is answered. */
async function codeFor(length: number, [stream]: readonly StreamClient[]): Promise<number | undefined> {
  stream?.send({ Controller: 'Platform', Topic: 'ServerInfo', Action: 'Query', Data: 'x'.repeat(length) })
  const closed = stream?.closed.then(({ code }) => code)
  return stream?.next().then(
    () => undefined,
    () => closed,
  )
}
