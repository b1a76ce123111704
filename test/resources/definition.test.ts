/** A resource definition is all that a kind needs: routes, commands, a section of the declarative file, OpenAPI and documentation. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { after, before, test } from 'node:test'
import { Refusal } from 'gatehouse-protocol'
import { sql } from 'kysely'
import { describeAdmin } from '../../packages/server/src/admin/admin.ts'
import { callInProcess } from '../../packages/server/src/admin/in-process.ts'
import { resourceRoutes } from '../../packages/server/src/admin/resource-routes.ts'
import type { AdminCommandCall } from '../../packages/server/src/cli/admin/admin-command.ts'
import { toCommand } from '../../packages/server/src/cli/admin/commands.ts'
import { resourceCommands } from '../../packages/server/src/cli/admin/resource-commands.ts'
import { parseArguments } from '../../packages/server/src/cli/args.ts'
import { helpPage } from '../../packages/server/src/cli/command.ts'
import { checkShape } from '../../packages/server/src/declarative/check-shape.ts'
import { defer } from '../../packages/server/src/declarative/deferral.ts'
import { exportDeclaration } from '../../packages/server/src/declarative/export.ts'
import { reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import { describeApi } from '../../packages/server/src/http/openapi.ts'
import { CLIENTS } from '../../packages/server/src/resources/clients.ts'
import { PROVIDERS } from '../../packages/server/src/resources/providers.ts'
import { listResources } from '../../packages/server/src/resources/resources.ts'
import { ROLES } from '../../packages/server/src/resources/roles.ts'
import { routeRows } from '../../scripts/docs/admin.page.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { PERMISSIONS, TABLE } from './permissions.ts'

/** The same kind where one is also replaced as a whole, with what may be refused. */
const PERMITS: typeof PERMISSIONS = {
  ...PERMISSIONS,
  section: 'permits',
  routes: { ...PERMISSIONS.routes, replace: 'Declares a licence.' },
  isNewerThanNodes: ({ note }) => note === 'new',
  refusal: async (before, after) => (after !== undefined && after.seats < before.seats ? 'Seats stay' : undefined),
}
const ROUTES = [
  ...resourceRoutes(PERMISSIONS),
  ...resourceRoutes(ROLES),
  ...resourceRoutes(PERMITS, {
    async guard(key) {
      if (key.startsWith('fixed/')) throw new Refusal('admin.conflict', 409, 'It is fixed')
    },
    async require(_env, stores) {
      const all = await PERMITS.store(stores).list()
      if (all.some(({ seats }) => seats === 13)) throw new Refusal('admin.conflict', 409, 'That led to 13 seats')
    },
  }),
]
const RESOURCES = [...listResources(), PERMISSIONS]
const COLLECTION = '/admin/permissions'
const NEWS = `${COLLECTION}/news/trader/2026-01-01`

onEveryEngineInLongRuns('a kind that is only defined', (place) => {
  let admin: TestAdmin
  before(async () => {
    admin = await startTestAdmin(place(), {}, undefined, ROUTES)
    await sql.raw(TABLE).execute(admin.env.database.db)
    for (const name of ['trader', 'desk/fx']) await admin.env.stores.roles.put({ ...ROLE, name })
  })
  after(() => admin.stop())
  const ROLE = { scopes: [], description: '', requireSecondFactor: false }

  test('is created, shown, changed with If-Match, and removed', async () => {
    const body = { product: 'news', who: 'trader', from: '2026-01-01', seats: 5 }
    const made = await admin.call('POST', COLLECTION, { body })
    assert.equal(made.status, 201, made.text)
    assert.equal(made.headers.get('location'), NEWS)
    assert.deepEqual(made.body, { ...body, paused: false, licence_key: 'a-key-that-is-shown-once' })
    assert.equal((await admin.call('POST', COLLECTION, { body })).status, 409)

    const shown = await admin.call('GET', NEWS)
    assert.deepEqual(shown.body, { ...body, paused: false })
    const etag = shown.headers.get('etag') ?? assert.fail()
    const patch = (given: object, ifMatch?: string) =>
      admin.call('PATCH', NEWS, { body: given, ...(ifMatch !== undefined && { ifMatch }) })
    assert.equal((await patch({ seats: 6 })).status, 428)
    assert.equal((await patch({ seats: 6 }, etag)).body.seats, 6)
    assert.equal((await patch({ seats: 7 }, etag)).status, 412)
    assert.equal((await patch({ seats: null }, '*')).body.seats, 1)
    const faults = async (given: object) => (await patch(given, '*')).body.Faults.map(({ path }: Fault) => path)
    assert.deepEqual(await faults({ nothing: null }), ['nothing'])
    assert.deepEqual(await faults({ seat: 2 }), ['seat'])
    assert.deepEqual(await faults({ from: '2027-01-01' }), ['from'])
    assert.deepEqual(await faults({ seats: 1001 }), ['seats'])
    assert.deepEqual(await faults({ licence_key: 'for-a-trial', note: 'trial' }), ['licence_key'])
    assert.equal((await admin.call('GET', NEWS, { token: 'Identity-Admin' })).status, 403)

    await patch({ seats: 101 }, '*')
    assert.match((await admin.call('DELETE', NEWS)).text, /more than 100 seats/)
    await patch({ seats: 2, licence_key: 'a-key-of-our-own' }, '*')
    assert.equal((await admin.call('DELETE', NEWS, { ifMatch: etag })).status, 412)
    assert.equal((await admin.call('DELETE', NEWS)).status, 204)
    assert.equal((await admin.call('GET', NEWS)).status, 404)
    await admin.env.audit.flush()
    const rows = await sql<{
      event: string
    }>`select event from audit_log where target = ${'news/trader/2026-01-01'} order by seq`.execute(
      admin.env.database.db,
    )
    const events = rows.rows.map(({ event }) => event)
    assert.deepEqual([events[0], events.at(-1)], ['permission.created', 'permission.deleted'])
    assert.deepEqual([...new Set(events.slice(1, -1))], ['permission.changed'])
  })

  test('PUT refuses what PATCH refuses: by the guard, for nodes of an earlier version, as a change, and for what it has led to', async () => {
    const { db } = admin.env.database
    const [id, now] = ['old', Date.now()]
    const older = { id, name: `${hostname()}:${process.ppid}`, issuer: 'http://localhost', schema_version: 1 }
    await db
      .insertInto('nodes')
      .values({ ...older, seen_at: now, started_at: now })
      .execute()
    const put = async (product: string, body: object) => {
      const { status, text } = await admin.call('PUT', `/admin/permits/${product}/trader/2026-01-01`, { body })
      return `${status} ${JSON.parse(text).detail ?? ''}`
    }
    assert.equal(await put('put', { seats: 5 }), '201 ')
    assert.equal(await put('put', { seats: 6 }), '200 ')
    assert.equal(await put('fixed', { seats: 5 }), '409 It is fixed')
    assert.match((await admin.call('POST', '/admin/permits/fixed/trader/2026-01-01/pause')).text, /It is fixed/)
    assert.match(await put('put', { seats: 6, note: 'new' }), /^409 Nodes of an earlier version/)
    assert.equal(await put('put', { seats: 4 }), '409 Seats stay')
    assert.equal(await put('put', { seats: 13 }), '409 That led to 13 seats')
    assert.equal((await admin.call('GET', '/admin/permits/put/trader/2026-01-01')).body.seats, 6)
    assert.equal((await admin.call('DELETE', '/admin/permits/put/trader/2026-01-01')).status, 204)
    await db.deleteFrom('nodes').where('id', '=', id).execute()
  })

  test('a list has pages, by the key of several members, and filters', async () => {
    for (const [product, from] of [
      ['news', '2026-01-01'],
      ['news', '2026-02-01'],
      ['a/b', '2026-01-01'],
    ])
      assert.equal((await admin.call('POST', COLLECTION, { body: { product, who: 'desk/fx', from } })).status, 201)
    const keys: string[] = []
    for (let next: string | null = `${COLLECTION}?limit=1`; next !== null; ) {
      const { body }: { body: { items: Listed[]; next: string | null } } = await admin.call('GET', next)
      keys.push(...body.items.map(({ product, from }) => `${product} ${from}`))
      next = body.next
    }
    assert.deepEqual(keys, ['a/b 2026-01-01', 'news 2026-01-01', 'news 2026-02-01'])
    const { body } = await admin.call('GET', `${COLLECTION}?product=a/b`)
    assert.deepEqual(
      body.items.map(({ product }: Listed) => product),
      ['a/b'],
    )
    assert.equal((await admin.call('GET', `${COLLECTION}?nothing=x`)).status, 400)
    assert.equal((await admin.call('GET', `${COLLECTION}/a%2Fb/desk%2Ffx/2026-01-01`)).body.product, 'a/b')
  })

  test('commands list, add, show, set, pause and remove it', async () => {
    const commands = resourceCommands(PERMISSIONS)
    assert.deepEqual(
      commands.map(({ name }) => name),
      ['list', 'show', 'add', 'set', 'pause', 'remove'].map((verb) => `permission ${verb}`),
    )
    const add = commands.find(({ name }) => name === 'permission add') ?? assert.fail()
    assert.match(
      helpPage(toCommand(add)),
      /permission add PRODUCT WHO FROM[\s\S]*--seats COUNT +how many may use it at once/,
    )
    const request: AdminCommandCall['request'] = async (method, target, { body, ifMatch } = {}) => {
      const reply = await callInProcess(admin.env, { method, target, body, ifMatch, caller: OPERATOR }, ROUTES)
      return { body: reply.body, lines: reply.lines }
    }
    const run = async (line: string) => {
      const [noun, verb, ...args] = line.split(' ')
      const command = commands.find(({ name }) => name === `${noun} ${verb}`) ?? assert.fail(line)
      const output = await command.run({
        args: parseArguments(command, args),
        request,
        readPassword: () => assert.fail('no secret'),
      })
      return output.kind === 'text' ? output.text : output.kind === 'lines' ? '' : JSON.stringify(output.body)
    }
    const key = 'chart trader 2026-03-01'
    assert.match(await run(`permission add ${key} --seats 3`), /"seats":3,/)
    assert.match(await run(`permission set ${key} --seats 4 --note Pilot`), /"seats":4,"note":"Pilot"/)
    assert.match(await run(`permission set ${key} --default seats`), /"note":"Pilot","seats":1/)
    assert.match(await run(`permission pause ${key} --note unpaid`), /"note":"unpaid","paused":true.*"paused_by"/)
    assert.match(await run(`permission show ${key}`), /"paused":true/)
    assert.match(await run('permission list --product chart --limit 5'), /^\{"items":\[\{"product":"chart"/)
    const remove = commands.find(({ name }) => name === 'permission remove')
    assert.equal(remove?.confirm?.(key.split(' ')), `Take ${key} away?`)
    assert.equal(await run(`permission remove ${key}`), `The permission to ${key} was taken away.`)
  })

  const reconcileEnv = () => ({
    database: admin.env.database,
    clock: admin.env.clock,
    audit: admin.env.audit,
    mail: undefined,
    environment: { KEY: 'a-key-of-the-file' },
    tables: undefined,
    digestKey: Buffer.alloc(32),
    providerKey: Buffer.alloc(32),
    resources: RESOURCES,
  })

  test('a file declares it: shape, checks, dry run, plan, pruning, and an export that is the same file', async () => {
    const apply = async (permissions: readonly object[], { prune = false, isDryRun = false } = {}) => {
      const checked = checkShape({ permissions, prune }, RESOURCES)
      if ('faults' in checked) return checked.faults.map(({ path, text }) => `${path}: ${text}`)
      const declared = { source: 'file', folder: '.', declaration: checked.declaration, rows: new Map() }
      const changes = await reconcile(declared, reconcileEnv(), isDryRun)
      return changes.map((change) =>
        [change.action, change.what, change.name, ...(change.action === 'update' ? change.differences : [])].join(' '),
      )
    }
    const news = { product: 'wire', who: 'trader', from: '2026-01-01' }
    const gold = { product: 'gold', who: 'trader', from: '2026-01-01', seats: 9 }
    assert.deepEqual(await apply([{ ...news, from: 'today' }]), [
      'permissions[0].from: must be a day such as 2026-01-31',
    ])
    await assert.rejects(apply([{ ...news, who: 'nobody' }]), /permissions\[0\]\.who: unknown role "nobody"/)
    await assert.rejects(apply([news, news]), /permissions\[1\].*is already the name of permissions\[0\]/)
    await assert.rejects(apply([{ ...news, seats: 1001 }]), /more than 1000/)
    await assert.rejects(
      apply([{ ...news, note: 'trial', licence_key: 'for-a-trial' }]),
      /permissions\[0\]\.licence_key: is not for trials/,
    )
    const wanted = [{ ...gold, licence_key: { env: 'KEY' } }, news]
    const created = ['create permission gold/trader/2026-01-01', 'create permission wire/trader/2026-01-01']
    const removed = [
      'remove permission a%2Fb/desk%2Ffx/2026-01-01',
      'remove permission news/desk%2Ffx/2026-01-01',
      'remove permission news/desk%2Ffx/2026-02-01',
    ]
    assert.deepEqual(await apply(wanted, { prune: true, isDryRun: true }), [...created, ...removed])
    assert.deepEqual(await apply(wanted, { prune: true }), [...created, ...removed])
    assert.deepEqual(await apply(wanted, { prune: true }), [])
    assert.deepEqual(await apply([{ ...gold, seats: 8, licence_key: 'another-key' }]), [
      'update permission gold/trader/2026-01-01 seats: 9 → 8 licence_key: changed',
    ])
    const options = { users: false, definitions: undefined, operator: true, resources: RESOURCES }
    const exported = await exportDeclaration(admin.env.stores, options)
    assert.deepEqual(exported.permissions, [{ ...gold, seats: 8 }, news])
    assert.deepEqual(await apply(exported.permissions ?? [], { prune: true }), [])
  })

  test('a file keeps the API whose scope one names, and defers one that names a deferred scope', async () => {
    const scoped: typeof PERMISSIONS = { ...PERMISSIONS, namedScopes: ({ note }) => [note] }
    const resources = [...listResources(), scoped]
    const declare = (declaration: object) => {
      const checked = checkShape(declaration, resources)
      return 'faults' in checked ? assert.fail(JSON.stringify(checked.faults)) : checked.declaration
    }
    const apply = (declaration: object) =>
      reconcile(
        { source: 'file', folder: '.', declaration: declare(declaration), rows: new Map() },
        { ...reconcileEnv(), resources },
      )
    const apis = [{ resource: 'urn:desk', scopes: [{ name: 'desk:read' }] }]
    const named = { product: 'scoped', who: 'trader', from: '2026-01-01', note: 'desk:read' }
    const other = { product: 'other', who: 'trader', from: '2026-01-01' }
    const { permissions } = {
      permissions: [],
      ...defer(declare({ apis, permissions: [named, other] }), resources)?.declaration,
    }
    assert.deepEqual(permissions, [other])
    await apply({ apis, permissions: [named] })
    const refusal = /cannot be removed; the permission scoped\/trader\/2026-01-01 use them/
    await assert.rejects(apply({ apis: [], prune: true }), refusal)
    await apply({ apis: [], permissions: [], prune: true })
  })

  test('OpenAPI and the documentation have it', () => {
    const { paths } = JSON.parse(JSON.stringify(describeApi('https://gate.example.com', describeAdmin(ROUTES))))
    const one = paths['/admin/permissions/{product}/{who}/{from}']
    assert.deepEqual(Object.keys(one), ['get', 'patch', 'delete'])
    assert.deepEqual(Object.keys(paths['/admin/permissions/{product}/{who}/{from}/pause']), ['post'])
    assert.match(JSON.stringify(paths[COLLECTION].post), /How many may use it at once/)
    assert.match(JSON.stringify(paths[COLLECTION].get), /Only those of this product/)
    const row = '| POST | `/admin/permissions` | `Platform/Admin` | Gives a permission. |'
    assert.ok(routeRows(ROUTES).split('\n').includes(row))
  })
})

test('a value of --set that is no JSON is refused, whatever the kind', async () => {
  for (const resource of [PROVIDERS, CLIENTS]) {
    const command = resourceCommands(resource).find(({ name }) => name.endsWith(' set')) ?? assert.fail()
    const args = parseArguments(command, ['x', '--set', 'disabled=yes'])
    await assert.rejects(
      command.run({ args, request: () => assert.fail('sent'), readPassword: () => assert.fail('asked') }),
      /--set disabled=… takes JSON/,
    )
  }
})

interface Fault {
  readonly path: string
}

interface Listed {
  readonly product: string
  readonly from: string
}

const OPERATOR = {
  subject: 'local:olivia',
  kind: 'user',
  clientId: 'command-line',
  scopes: new Set<string>(),
  roles: [],
  audiences: [],
  tokenId: '',
  sessionId: undefined,
  grantId: undefined,
  username: 'olivia',
  displayName: 'olivia',
  issuedAt: 0,
  expiresAt: Number.MAX_SAFE_INTEGER,
  authTime: undefined,
} as const
