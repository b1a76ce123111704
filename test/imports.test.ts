/** The import rules: packages, folders of the server and the console, their entries, ports and dependencies, no cycles, a first line that says what a file is. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { before, test } from 'node:test'

const root = new URL('../packages/', import.meta.url).pathname

/** The name of the client library stands for what is built: within the repository it is imported by the files of its entries. */
const CLIENT_ENTRIES = ['client/src/index.ts', 'client/src/dpop.ts']

const BASE = ['lib', 'telemetry']
const DATA = [...BASE, 'store', 'events']
/** The folders that each folder of the server may import. */
const SERVER: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  telemetry: [],
  schema: ['lib'],
  'child-process': ['lib'],
  http: BASE,
  'step-up': BASE,
  store: BASE,
  events: [...BASE, 'store'],
  accounts: [...BASE, 'store'],
  identity: [...DATA, 'http', 'accounts'],
  streaming: [...DATA, 'http', 'step-up'],
  query: [...DATA, 'http', 'schema', 'step-up', 'child-process'],
  feeds: [...DATA, 'http', 'step-up'],
  wire: [...DATA, 'http', 'step-up', 'child-process', 'query'],
  alerts: [...BASE, 'store', 'http', 'schema', 'resources', 'query'],
  mail: [...BASE, 'store'],
  mcp: [...BASE, 'schema', 'store', 'http', 'query', 'feeds'],
  replication: [...BASE, 'store', 'child-process'],
  scim: ['lib', 'telemetry', 'http', 'accounts'],
  licences: [...DATA, 'http'],
  console: ['lib', 'http'],
  site: ['lib', 'http', 'identity'],
  config: ['lib'],
  demo: [...DATA, 'http', 'config', 'declarative', 'feeds', 'query'],
  resources: ['lib', 'schema', 'store', 'accounts'],
  declarative: ['lib', 'schema', 'store', 'accounts', 'config', 'resources'],
  admin: [...DATA, 'schema', 'http', 'accounts', 'resources', 'declarative', 'config', 'licences'],
  server: [
    ...[...DATA, 'schema', 'http', 'accounts', 'identity', 'site', 'streaming', 'query', 'feeds', 'mail', 'scim'],
    ...[
      'alerts',
      'licences',
      'wire',
      'mcp',
      'console',
      'declarative',
      'admin',
      'config',
      'demo',
      'step-up',
      'replication',
    ],
  ],
  supervisor: [...BASE, 'store', 'config', 'server'],
  move: ['store', 'query'],
  cli: [
    ...BASE,
    'store',
    'query',
    'resources',
    'declarative',
    'admin',
    'config',
    'server',
    'supervisor',
    'move',
    'licences',
    'mcp',
    'replication',
  ],
}

/** The parts of the console, and the parts that each may import. */
const CONSOLE: Readonly<Record<string, readonly string[]>> = {
  ui: ['server.ts'],
  grid: ['ui'],
  editor: ['ui'],
  chart: ['ui'],
  chat: ['ui', 'chart', 'styles'],
  shell: ['ui', 'server.ts', 'gate.ts', 'push.ts'],
  admin: ['ui', 'gate.ts', 'shell'],
  alerts: ['ui', 'gate.ts', 'push.ts', 'admin', 'chart'],
  areas: ['ui', 'server.ts', 'gate.ts', 'push.ts', 'shell', 'admin', 'alerts', 'grid', 'editor', 'chart'],
  'areas.ts': ['shell', 'areas'],
  'gate.ts': ['server.ts'],
  'push.ts': ['server.ts', 'gate.ts'],
  'main.tsx': ['areas.ts', 'shell', 'styles', 'server.ts', 'gate.ts'],
  'server.ts': [],
  'theme.ts': [],
}

/** Every source file with what it imports, as written; `import type` and `import()` count too. */
const imports = new Map<string, readonly string[]>()
const firstLines = new Map<string, string>()
/** The dependencies of each package, as its package.json has them. */
const dependencies = new Map<string, ReadonlySet<string>>()

before(async () => {
  for await (const file of glob('*/package.json', { cwd: root })) {
    const { dependencies: own = {}, devDependencies = {} } = JSON.parse(await readFile(join(root, file), 'utf8'))
    dependencies.set(findPackage(file), new Set([...Object.keys(own), ...Object.keys(devDependencies)]))
  }
  for await (const file of glob('*/src/**/*.{ts,tsx}', { cwd: root })) {
    if (file.endsWith('.d.ts')) continue
    const text = await readFile(join(root, file), 'utf8')
    firstLines.set(file, text.split('\n', 1)[0] ?? '')
    // Code that a page shows is in templates.
    const own = file.startsWith('console/') ? text.replaceAll(/`(?:\\.|[^`\\])*`/gs, '``') : text
    imports.set(
      file,
      [...own.matchAll(/(?:\bfrom|(?<!')\bimport)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) => target),
    )
  }
  assert.ok(imports.size > 800, 'the source files are found')
})

test('a package imports only packages that its package.json names, by their entries', () => {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    const from = findPackage(file)
    for (const target of targets) {
      const name = /^(?:gatehouse-|@gatehouse\/)(\w+)(\/.*)?$/.exec(target)
      const path = target.startsWith('.') ? resolve(file, target) : undefined
      const to =
        path !== undefined && CLIENT_ENTRIES.includes(path) ? 'client' : name?.[2] === undefined ? name?.[1] : undefined
      const isAllowed =
        path === undefined && name === null
          ? true
          : (path !== undefined && findPackage(path) === from) ||
            (to !== undefined && dependencies.get(from)?.has(`gatehouse-${to}`) === true)
      if (!isAllowed) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(violations, [])
})

test('every import is allowed for its folder', () => {
  assert.deepEqual([...findViolations('server', SERVER), ...findViolations('console', CONSOLE)], [])
})

/**
 * The files of a folder that the others may import: its entries. A second one is there for those who would otherwise load what they do not
 * need.
 */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  'server/src/alerts': ['alerts.ts'],
  'server/src/console': ['routes.ts', 'chat-page.ts'],
  'server/src/demo': ['market.ts'],
  'server/src/events': ['bus.ts', 'cluster.ts', 'freshness.ts', 'open-bus.ts', 'revocation-list.ts', 'token-effect.ts'],
  'server/src/feeds': ['feeds.ts'],
  'server/src/feeds/nats': ['nats.ts'],
  'server/src/feeds/postgres': ['engine.ts'],
  'server/src/feeds/sqlite': ['engine.ts'],
  'server/src/identity': [
    'identity.ts',
    'routes.ts',
    'page-parts.ts',
    // Each is loaded by itself, by what needs no more.
    'browser/browser-name.ts',
    'browser/page-settings.ts',
    'browser/signed-in-user.ts',
    'clients/client-caller.ts',
    'endpoints/connection-sign-in.ts',
    'pages/brand.ts',
    'pages/fonts.ts',
    'pages/tokens.ts',
    'providers/connectors.ts',
    'remote-keys/remote-keys.ts',
    'tokens/claims.ts',
  ],
  'server/src/identity/providers/openid': ['openid.ts'],
  // The report is also made where no service runs.
  'server/src/licences': ['licences.ts', 'usage/month.ts', 'usage/report.ts', 'usage/exported.ts'],
  'server/src/mail': ['mail.ts'],
  // The skill for assistants needs no server.
  'server/src/mcp': ['mcp.ts', 'skill.ts'],
  'server/src/move': ['move.ts'],
  'server/src/query': ['index.ts', 'codecs.ts', 'storage.ts', 'file-schema.ts'],
  // For the server, and for commands.
  'server/src/replication': ['replication.ts', 'restoring.ts'],
  'server/src/scim': ['routes.ts'],
  'server/src/step-up': ['step-up.ts'],
  // What a custom controller is made of, and which one's code runs.
  'server/src/streaming': ['streaming.ts', 'topics/controller.ts', 'controllers/scope.ts'],
  // The port is opened before the service, and before anything is written.
  'server/src/wire': ['wire.ts', 'listener/port.ts'],
}

test('a folder with entries is imported by them only', () => {
  const violations: string[] = []
  for (const [folder, entries] of Object.entries(ENTRIES)) {
    const paths = new Set(entries.map((entry) => `${folder}/${entry}`))
    for (const file of imports.keys()) {
      if (file.startsWith(`${folder}/`)) continue
      for (const target of importedFiles(file))
        if (target.startsWith(`${folder}/`) && !paths.has(target)) violations.push(`${file} imports ${target}`)
    }
    for (const path of paths) assert.ok(imports.has(path), path)
  }
  assert.deepEqual(violations, [])
})

/** Files of the core that only their own folder imports. The others are what it offers. */
const INTERNAL: readonly string[] = [
  'http/access-log.ts',
  'http/limits/pipelined-requests.ts',
  'http/listener-close.ts',
  'http/pending-reply.ts',
  'http/router.ts',
  'store/audit/chain.ts',
  'store/audit/repeats.ts',
  'store/backup/postgres-dump.ts',
  'store/backup/postgres-layout.ts',
  'store/backup/postgres-load.ts',
  'store/database/free-connections.ts',
  'store/database/migration.ts',
  'store/database/postgres-dialect.ts',
  'store/database/prepared-query.ts',
  'store/database/servers/pooler.ts',
  'store/database/servers/primary-search.ts',
  'store/database/servers/probe.ts',
  'store/database/sqlite-dialect.ts',
  'telemetry/metric-table.ts',
  'telemetry/trace-export.ts',
]

test('internal files of the core are imported by their folder only', () => {
  const violations: string[] = []
  for (const name of INTERNAL) {
    const path = `server/src/${name}`
    assert.ok(imports.has(path), path)
    const folder = path.split('/').slice(0, 3).join('/')
    for (const file of imports.keys())
      if (!file.startsWith(`${folder}/`) && importedFiles(file).includes(path))
        violations.push(`${file} imports ${path}`)
  }
  assert.deepEqual(violations, [])
})

/** What such a part imports of the rest, besides `lib` and `telemetry`. Everything else is passed to it. */
const PORTS: Readonly<Record<string, readonly string[]>> = {
  console: [
    'http/compressed.ts',
    'http/context.ts',
    'http/request/accept.ts',
    'http/request/cookies.ts',
    'http/route.ts',
  ],
  alerts: [
    'http/context.ts',
    'http/openapi.ts',
    'http/outgoing/guarded-request.ts',
    'http/route.ts',
    'query/index.ts',
    'resources/alert-shape.ts',
    'resources/define-resource.ts',
    'resources/webhook-address.ts',
    'schema/builders.ts',
    'schema/check-schema.ts',
    'store/alerts/alert.ts',
    'store/alerts/alerts.ts',
    'store/alerts/channel-secrets.ts',
    'store/alerts/channels.ts',
    'store/alerts/push-subscriptions.ts',
    'store/cluster/event-transaction.ts',
    'store/keys/opaque.ts',
  ],
  mail: [
    'store/accounts/set-up-links.ts',
    'store/accounts/user.ts',
    'store/keys/opaque.ts',
    'store/mail/kinds.ts',
    'store/mail/mail-queue.ts',
    'store/mail/notify.ts',
  ],
  feeds: [
    'http/context.ts',
    'http/events/event-response.ts',
    'http/events/open-responses.ts',
    'http/openapi.ts',
    'http/problem.ts',
    'http/request/accept.ts',
    'http/request/authentication.ts',
    'http/request/request-head.ts',
    'http/route.ts',
    'step-up/step-up.ts',
    'store/database/pg.ts',
    'store/database/privileges.ts',
    'store/database/servers/client.ts',
    'store/database/servers/listener.ts',
    'store/database/servers/responsiveness.ts',
    'store/database/servers/servers.ts',
    'store/database/servers/unfit-server.ts',
    'store/database/shared-file.ts',
    'store/database/unfit-database.ts',
    'store/feeds/feeds.ts',
  ],
  'feeds/nats': ['feeds/engine.ts', 'feeds/feed.ts', 'feeds/refusals.ts'],
  'identity/providers/openid': [
    'http/context.ts',
    'http/outgoing/guarded-request.ts',
    'http/request/body.ts',
    'http/route.ts',
    'identity/authorize/response.ts',
    'identity/providers/claims.ts',
    'identity/providers/connector.ts',
    'identity/providers/faults.ts',
    'identity/remote-keys/foreign-jwt.ts',
    'identity/remote-keys/remote-documents.ts',
    'identity/remote-keys/remote-keys.ts',
    'identity/tokens/jwt.ts',
    'store/keys/foreign-keys.ts',
    'store/keys/opaque.ts',
    'store/providers/provider-secrets.ts',
    'store/providers/providers.ts',
  ],
  mcp: [
    'feeds/feeds.ts',
    'http/context.ts',
    'http/cors.ts',
    'http/events/event-response.ts',
    'http/events/open-responses.ts',
    'http/problem.ts',
    'http/request/authentication.ts',
    'http/route.ts',
    'query/index.ts',
    'schema/builders.ts',
    'schema/check-schema.ts',
    'store/keys/opaque.ts',
  ],
  move: [
    'query/storage.ts',
    'store/audit/audit.ts',
    'store/audit/verify.ts',
    'store/check-stored.ts',
    'store/cluster/nodes.ts',
    'store/cluster/start-lock.ts',
    'store/database/data-folder.ts',
    'store/database/database.ts',
    'store/database/migration-plan.ts',
    'store/database/migrations.ts',
    'store/database/move-mark.ts',
    'store/database/privileges.ts',
    'store/database/schema.ts',
    'store/database/servers/addresses.ts',
    'store/database/servers/one-connection.ts',
    'store/keys/master-key.ts',
  ],
  replication: [
    'child-process/end-with-server.ts',
    'child-process/priority.ts',
    'child-process/program.ts',
    'store/audit/audit.ts',
    'store/audit/verify.ts',
    'store/backup/backup.ts',
    'store/backup/manifest.ts',
    'store/backup/restore.ts',
    'store/cluster/nodes.ts',
    'store/database/data-folder.ts',
    'store/database/database.ts',
    'store/database/migration-plan.ts',
    'store/database/migrations.ts',
    'store/database/servers/addresses.ts',
    'store/database/servers/one-connection.ts',
    'store/keys/master-key.ts',
  ],
  scim: [
    'accounts/account-fault.ts',
    'accounts/accounts.ts',
    'accounts/scim-reads.ts',
    'accounts/users.ts',
    'http/context.ts',
    'http/openapi.ts',
    'http/problem.ts',
    'http/request/authentication.ts',
    'http/route.ts',
  ],
  wire: [
    'child-process/end-with-server.ts',
    'child-process/frames.ts',
    'child-process/limits.ts',
    'child-process/priority.ts',
    'child-process/program.ts',
    'events/bus.ts',
    'events/token-effect.ts',
    'http/limits/rate-limits.ts',
    'http/listener.ts',
    'http/request/request-head.ts',
    'query/codecs.ts',
    'query/index.ts',
  ],
}

test('a part that can be switched on, or exchanged, imports its port only', () => {
  const found: Record<string, readonly string[]> = {}
  for (const part of Object.keys(PORTS)) {
    const folder = `server/src/${part}/`
    const used = [...imports.keys()].filter((file) => file.startsWith(folder)).flatMap(importedFiles)
    const outside = used.filter((file) => !file.startsWith(folder)).map((file) => file.slice('server/src/'.length))
    found[part] = [...new Set(outside)].filter((file) => !/^(lib|telemetry)\//.test(file)).sort()
  }
  assert.deepEqual(found, PORTS)
})

/** The folders that import a package from npm: who exchanges it has to look there. */
const USED_IN: Readonly<Record<string, readonly string[]>> = {
  '@msgpack/msgpack': ['streaming/codec'],
  '@nats-io/jetstream': ['feeds/nats'],
  '@nats-io/transport-node': ['feeds/nats'],
  '@node-rs/argon2': ['store/accounts'],
  '@simplewebauthn/server': ['identity/factors'],
  'better-sqlite3': ['store', 'query', 'feeds/sqlite', 'wire/catalogue', 'move', 'cli', 'child-process', 'replication'],
  hyparquet: ['query'],
  'hyparquet-writer': ['query'],
  'lean-qr': ['identity/pages'],
  marked: ['site/documentation'],
  nodemailer: ['mail'],
  pg: ['store', 'query', 'feeds/postgres', 'move'],
  pino: ['telemetry'],
  typebox: ['schema', 'resources', 'declarative', 'query'],
  ws: ['cli/stream'],
  yaml: ['declarative', 'cli/admin'],
}

test('a package from npm is imported in its folders only', () => {
  const violations: string[] = []
  const unused = new Set(Object.keys(USED_IN))
  for (const [file, targets] of imports) {
    if (!file.startsWith('server/src/')) continue
    for (const target of targets) {
      const name = Object.keys(USED_IN).find((known) => target === known || target.startsWith(`${known}/`))
      if (name === undefined) continue
      unused.delete(name)
      if (!USED_IN[name]?.some((folder) => file.startsWith(`server/src/${folder}/`)))
        violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual([...violations, ...unused], [])
})

/** Besides the account service, those that open the stores: they pass them on as `Stores`, which cannot write accounts. */
const OPENERS = [
  'server/src/accounts/accounts.ts',
  'server/src/cli/doctor/content.ts',
  'server/src/cli/doctor/providers.ts',
  'server/src/declarative/reconcile.ts',
  'server/src/server/mail.ts',
  'server/src/server/resources.ts',
]

test('only the account service writes accounts', async () => {
  const openers: string[] = []
  for (const file of imports.keys()) {
    if (!file.startsWith('server/src/') || file.startsWith('server/src/store/')) continue
    const text = await readFile(join(root, file), 'utf8')
    assert.ok(
      file.startsWith('server/src/accounts/') || !/\bWritableStores\b/.test(text),
      `${file} names WritableStores`,
    )
    if (/\bcreateStores\b/.test(text)) openers.push(file)
    // The tables of accounts are written by store/accounts, store/providers and store/scim, and moved as a whole.
    if (file.startsWith('server/src/move/')) continue
    assert.doesNotMatch(
      text,
      /(insertInto|updateTable|deleteFrom)\('(users|user_roles|factors|identities|set_up_links)'\)/,
      file,
    )
  }
  assert.deepEqual(openers.sort(), OPENERS)
})

test('the composition names what it passes on: nothing of the server is spread', async () => {
  const found: string[] = []
  for (const file of imports.keys()) {
    if (!file.startsWith('server/src/server/')) continue
    const text = await readFile(join(root, file), 'utf8')
    for (const [spread] of text.matchAll(/\.\.\.\{|\.\.\.(?:base|identity|resources|services|stores)\b(?!\.)/g))
      found.push(`${file}: ${spread}`)
  }
  assert.deepEqual(found, [])
})

test('an area of the console does not import another', () => {
  const violations: string[] = []
  for (const file of imports.keys()) {
    const area = /^console\/src\/areas\/([^/]+)\//.exec(file)?.[1]
    for (const target of importedFiles(file)) {
      const other = /^console\/src\/areas\/([^/]+)\//.exec(target)?.[1]
      if (area !== undefined && other !== undefined && area !== other) violations.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(violations, [])
})

/** The folders whose parts import each other in one direction only. */
const LAYERED = [
  'console/src',
  'iql/src',
  'server/src',
  'server/src/http',
  'server/src/identity',
  'server/src/identity/browser',
  'server/src/query',
  'server/src/query/live',
  'server/src/store',
  'server/src/streaming',
  ...['server/src/query/engines', 'server/src/query/engines/postgres', 'server/src/query/engines/sqlite'],
]

test('folders import each other in one direction', () => {
  const both: string[] = []
  for (const folder of LAYERED) {
    const pairs = new Set<string>()
    for (const file of imports.keys()) {
      const from = findPart(file, folder)
      for (const target of importedFiles(file)) {
        const to = findPart(target, folder)
        if (from !== undefined && to !== undefined && from !== to) pairs.add(`${from} ${to}`)
      }
    }
    assert.ok(pairs.size > 0, folder)
    both.push(
      ...[...pairs]
        .filter((pair) => pairs.has(pair.split(' ').reverse().join(' ')))
        .map((pair) => `${folder}: ${pair}`),
    )
  }
  assert.deepEqual(both, [])
})

test('lib and protocol import only Node modules and their own files', () => {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    if (!file.startsWith('protocol/') && !file.startsWith('server/src/lib/')) continue
    const outside = targets.filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
    violations.push(...outside.map((target) => `${file} imports ${target}`))
  }
  assert.deepEqual(violations, [])
})

test('there is no import cycle, not even of types', () => {
  const cycles = new Set([...imports.keys()].map(shortestCycle).filter((cycle) => cycle !== undefined))
  assert.deepEqual([...cycles].sort(), [])
})

/** `health` asks the server of this machine, whatever its certificate says; the socket is the one that the library is given. */
const OWN_CONNECTIONS = ['cli/health.ts imports node:http', 'cli/health.ts imports node:https']
const GIVEN_SOCKET = 'cli/stream/shared-socket.ts imports ws'

test('the command line talks to servers through the client library', async () => {
  const found: string[] = []
  for (const [path, targets] of imports) {
    if (!path.startsWith('server/src/cli/')) continue
    const file = path.slice('server/src/'.length)
    const own = targets.filter((target) => ['node:http', 'node:https', 'node:http2', 'ws', 'undici'].includes(target))
    found.push(...own.map((target) => `${file} imports ${target}`))
    if (/\bfetch\(/.test(await readFile(join(root, path), 'utf8'))) found.push(`${file} calls fetch`)
  }
  assert.deepEqual(found.sort(), [...OWN_CONNECTIONS, GIVEN_SOCKET])
})

test('the first line of every source file says what it is', () => {
  const without = [...firstLines].filter(([, line]) => !/^(\/\*\*|\/\/)( \S|$)/.test(line)).map(([file]) => file)
  assert.deepEqual(without, [])
})

function findViolations(name: string, allowed: Readonly<Record<string, readonly string[]>>): string[] {
  const found: string[] = []
  for (const file of imports.keys()) {
    const from = findPart(file, `${name}/src`)
    if (from === undefined) continue
    if (!Object.hasOwn(allowed, from)) throw new Error(`${from} of ${name} is in no table: add it`)
    for (const target of importedFiles(file)) {
      const to = findPart(target, `${name}/src`)
      if (to !== undefined && to !== from && !target.endsWith('.css') && !allowed[from]?.includes(to))
        found.push(`${file} imports ${target}`)
    }
  }
  return found
}

function findPackage(file: string): string {
  return file.split('/')[0] ?? ''
}

/** The first part of the path below a folder. */
function findPart(file: string, folder: string): string | undefined {
  const rest = file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : undefined
  return rest === undefined || (folder !== 'console/src' && !rest.includes('/')) ? undefined : rest.split('/')[0]
}

function importedFiles(file: string): string[] {
  return (imports.get(file) ?? []).filter((target) => target.startsWith('.')).map((target) => resolve(file, target))
}

function resolve(file: string, target: string): string {
  return normalize(join(dirname(file), target))
}

/** A shortest path from a file back to itself, as `a → b → a`, starting at its first file by name. */
function shortestCycle(start: string): string | undefined {
  const importers = new Map<string, string>()
  const queue = [start]
  for (const file of queue) {
    for (const target of importedFiles(file)) {
      if (target === start) return describeCycle(pathTo(file))
      if (importers.has(target)) continue
      importers.set(target, file)
      queue.push(target)
    }
  }
  return undefined

  function pathTo(file: string): string[] {
    return file === start ? [start] : [...pathTo(importers.get(file) ?? start), file]
  }
}

function describeCycle(files: readonly string[]): string {
  const first = files.indexOf([...files].sort()[0] ?? '')
  const rotated = [...files.slice(first), ...files.slice(0, first)]
  return [...rotated, rotated[0]].join(' → ')
}
