/** Reconciliation against a real database: what is created, kept, changed, revoked and refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { UsernameTaken } from '../../packages/server/src/accounts/account-fault.ts'
import { apply } from '../../packages/server/src/declarative/apply.ts'
import { BadDeclaration } from '../../packages/server/src/declarative/bad-declaration.ts'
import { checkMeaning } from '../../packages/server/src/declarative/check-meaning.ts'
import { checkShape } from '../../packages/server/src/declarative/check-shape.ts'
import { defer } from '../../packages/server/src/declarative/deferral.ts'
import { DEMO, DEMO_ROWS } from '../../packages/server/src/declarative/demo.ts'
import { findDeclared, reconcile, summarise } from '../../packages/server/src/declarative/reconcile.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { secretMatches } from '../../packages/server/src/identity/clients/client-request.ts'
import { listResources } from '../../packages/server/src/resources/resources.ts'
import { USERS } from '../../packages/server/src/resources/users.ts'
import { hashPassword, verifyPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import { openTestAudit } from '../support/audit.ts'
import { onEveryEngine } from '../support/engines.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reconcile-'))
after(() => rmSync(folder, { recursive: true }))

const FIRST: Declaration = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [{ username: 'Alice', password: 'first password', roles: ['trader'], name: 'Alice Liddell' }],
  clients: [
    { client_id: 'web', client_secret: 'first secret', redirect_uris: ['https://app.example.com/cb'], scope: 'openid' },
  ],
}

onEveryEngine('reconciling', (place) => {
  let database: Database
  let stores: Stores
  const clock = () => Date.now()

  before(async () => {
    database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    stores = createStores(database, clock)
  })
  after(() => database.close())

  async function applied(declaration: Declaration, dryRun = false): Promise<string[]> {
    writeFileSync(join(folder, 'file.json'), JSON.stringify(declaration))
    const declared = await findDeclared({ config: join(folder, 'file.json'), demo: false })
    assert.ok(declared)
    const digestKey = Buffer.alloc(32, 7)
    const changes = await reconcile(
      declared,
      {
        ...{ database, clock, environment: {}, tables: undefined, digestKey },
        audit: openTestAudit(database),
        mail: undefined,
        providerKey: digestKey,
      },
      dryRun,
    )
    return changes.map(({ action, what, name }) => `${action} ${what} ${name}`)
  }

  test('a dry run returns the changes and applies none', async () => {
    const planned = await applied(FIRST, true)
    assert.deepEqual(planned, ['create role trader', 'create user Alice', 'create client web'])
    assert.equal(await stores.users.findByUsername('alice'), undefined)
    assert.deepEqual(await applied(FIRST), planned)
  })

  test('a user who is created by others after the plan was made keeps the password', async () => {
    await stores.users.create({ username: 'eve', passwordHash: 'of Eve', roleSource: 'operator' })
    const change = {
      action: 'create',
      what: 'user',
      name: 'eve',
      differences: [],
      target: USERS.toItem({ username: 'eve' }),
      secret: { value: 'of the file', digest: 'digest' },
    } as const
    const env = {
      ...{ database, clock, tables: undefined, mail: undefined, resources: listResources() },
      hashPassword: async () => 'of the file',
      initialRows: () => undefined,
      tablePath: () => '',
      audit: openTestAudit(database),
      providerKey: Buffer.alloc(32, 7),
    }
    await assert.rejects(apply('gate.json', [change], env), UsernameTaken)
    assert.equal((await stores.users.findByUsername('eve'))?.passwordHash, 'of Eve')
    await stores.users.remove((await stores.users.findByUsername('eve'))?.id ?? '')
  })

  test('declared data is stored, secrets only as hashes', async () => {
    const alice = await stores.users.findByUsername('alice')
    assert.deepEqual([...(alice?.rights ?? [])], ['Platform/Market'])
    assert.equal(alice?.profile.name, 'Alice Liddell')
    assert.ok(await verifyPassword(alice?.passwordHash ?? '', 'first password'))
    assert.ok(!JSON.stringify(alice).includes('first password'))
    assert.ok(secretMatches(await stores.clients.find('web'), 'web', 'first secret', clock()))
  })

  test('a second run changes nothing, and keeps a password that the user has changed', async () => {
    assert.deepEqual(await applied(FIRST), [])
    const alice = await stores.users.findByUsername('alice')
    assert.ok(alice)
    await stores.users.setPassword(alice.id, await hashPassword('her own choice'))
    assert.deepEqual(await applied(FIRST), [])
    const after = await stores.users.findByUsername('alice')
    assert.ok(await verifyPassword(after?.passwordHash ?? '', 'her own choice'))
  })

  test('a new password in the file is set, and tokens issued before are revoked', async () => {
    const changed = { ...FIRST, users: [{ ...FIRST.users?.[0], username: 'Alice', password: 'second password' }] }
    assert.deepEqual(await applied(changed), ['update user Alice'])
    const alice = await stores.users.findByUsername('alice')
    assert.ok(await verifyPassword(alice?.passwordHash ?? '', 'second password'))
    const revocations = await stores.events.unexpired(['subject-cut'])
    assert.ok(revocations.some((event) => event.kind === 'subject-cut' && event.subject === alice?.id))
    assert.deepEqual(await applied(changed), [])
  })

  test('a user who was created in another way keeps password and tokens when the file first names them', async () => {
    const id = await stores.users.create({ username: 'carol', passwordHash: await hashPassword('her own password') })
    const carol = async () => (await stores.users.findById(id))?.passwordHash ?? ''
    const cuts = async () =>
      (await stores.events.unexpired(['subject-cut'])).filter((event) => JSON.stringify(event).includes(id))
    const named = (password: string, member = {}) => ({ users: [{ username: 'Carol', password, ...member }] })
    assert.deepEqual(await applied(named('from the file')), ['update user Carol'])
    assert.ok(await verifyPassword(await carol(), 'her own password'))
    assert.deepEqual(await cuts(), [])
    assert.deepEqual(await applied(named('from the file')), [], 'the second run has nothing to do')
    assert.deepEqual(await applied(named('a new value')), ['update user Carol'])
    assert.ok(await verifyPassword(await carol(), 'a new value'), 'a changed value in the file is set')

    const other = await stores.users.create({ username: 'dora', passwordHash: await hashPassword('her own password') })
    const reset = { users: [{ username: 'dora', password: 'from the file', reset_password: true }] }
    assert.deepEqual(await applied(reset), ['update user dora'])
    assert.ok(await verifyPassword((await stores.users.findById(other))?.passwordHash ?? '', 'from the file'))
    await stores.users.remove(id)
    await stores.users.remove(other)
  })

  test('a declared password can be one to be changed; once the user has changed it, later runs leave it so', async () => {
    const declared = (password: string): Declaration => ({
      users: [{ username: 'emil', password, must_change_password: true }],
    })
    const emil = async () => stores.users.findByUsername('emil')
    await applied(declared('for the first day'))
    assert.equal((await emil())?.mustChangePassword, true)
    await stores.users.setPassword((await emil())?.id ?? '', await hashPassword('chosen by emil'))
    assert.equal((await emil())?.mustChangePassword, false)
    assert.deepEqual(await applied(declared('for the first day')), [])
    assert.equal((await emil())?.mustChangePassword, false)
    assert.deepEqual(await applied(declared('for the second day')), ['update user emil'])
    assert.equal((await emil())?.mustChangePassword, true)
    await assert.rejects(
      applied({ users: [{ username: 'emil', must_change_password: true }] }),
      /must_change_password: needs a password/,
    )
    await stores.users.remove((await emil())?.id ?? '')
  })

  test('a new client secret replaces the declared one and keeps one added by hand', async () => {
    await stores.clients.addSecret('web', 'by hand')
    const [web] = FIRST.clients ?? []
    assert.ok(web)
    assert.deepEqual(await applied({ clients: [{ ...web, client_secret: 'second secret' }] }), ['update client web'])
    const client = await stores.clients.find('web')
    assert.deepEqual(
      ['first secret', 'second secret', 'by hand'].map((secret) => secretMatches(client, 'web', secret, clock())),
      [false, true, true],
    )
  })

  test('changing the scopes of a role publishes one event for the role, none for its holders', async () => {
    assert.deepEqual(await applied({ roles: [{ name: 'trader', scopes: ['Platform/News'] }] }), ['update role trader'])
    const [event, ...others] = await stores.events.unexpired(['rights-changed', 'roles-changed'])
    assert.deepEqual(others, [])
    assert.partialDeepStrictEqual(event, {
      kind: 'roles-changed',
      roles: [{ name: 'trader', scopes: ['Platform/News'] }],
    })
  })

  test('feeds are stored, with one event for all that differ; a list that is not there prunes none', async () => {
    const feeds: Declaration['feeds'] = [{ name: 'Prices' }, { name: 'News', history: {} }]
    const published = async () => (await stores.events.unexpired(['feeds-changed'])).length
    assert.deepEqual(await applied({ feeds }), ['create feed Prices', 'create feed News'])
    assert.equal(await published(), 1)
    assert.deepEqual((await stores.feeds.find('News'))?.history, { messages: 1000, time: 3_600_000 })
    assert.deepEqual(await applied({ feeds }), [])
    assert.deepEqual(await applied({ tables: [], prune: true }), [])
    assert.equal(await published(), 1)
    assert.deepEqual(await applied({ feeds: [], prune: true }), ['remove feed News', 'remove feed Prices'])
    assert.equal(await published(), 2)
  })

  test('a feed and a remote controller cannot share a name, unless the file replaces one by the other', async () => {
    const controller = { name: 'Orders', url: 'https://oms.example/', topics: [{ name: 'Place', needs: 'identity' }] }
    const both = { feeds: [{ name: 'Orders' }], controllers: [controller] }
    const refused = { message: /feeds\[0\]\.name: Orders is the name of a remote controller: choose another$/ }
    await assert.rejects(applied(both), refused)
    assert.deepEqual(await applied({ controllers: [controller] }), ['create controller Orders'])
    await assert.rejects(applied({ feeds: both.feeds }), refused)
    const replaced = { feeds: both.feeds, controllers: [], prune: true }
    assert.deepEqual(await applied(replaced), ['create feed Orders', 'remove controller Orders'])
    await assert.rejects(applied({ controllers: [controller] }), {
      message: /controllers\[0\]\.name: Orders is the name of a feed: choose another$/,
    })
    assert.deepEqual(await applied({ feeds: [], prune: true }), ['remove feed Orders'])
  })

  test('with one fault anywhere, nothing is changed', async () => {
    const bad: Declaration = {
      roles: [{ name: 'new-role' }],
      users: [{ username: 'bob', password: { env: 'NOT_SET' }, roles: ['nobody'] }],
    }
    await assert.rejects(applied(bad), (error: Error) => {
      assert.ok(error instanceof BadDeclaration)
      assert.deepEqual(
        error.faults.map(({ path }) => path),
        ['users[0].password', 'users[0].roles[0]'],
      )
      return true
    })
    assert.deepEqual(
      (await stores.roles.list()).map(({ name }) => name),
      ['trader'],
    )
  })

  test('prune removes users, roles and clients that are no longer in the file', async () => {
    assert.deepEqual(await applied({ prune: true, roles: [], users: [{ username: 'carol' }] }), [
      'create user carol',
      'remove user Alice',
      'remove role trader',
    ])
    assert.equal(await stores.users.findByUsername('alice'), undefined)
    assert.ok(await stores.clients.find('web'), 'the file has no list of clients')
  })

  test('the demonstration data is merged with a file', async () => {
    writeFileSync(
      join(folder, 'beside.yaml'),
      'roles:\n  - {name: trader, scopes: [Platform/News]}\ntables:\n  - {name: Trades, columns: [{name: id, type: Integer}]}\n',
    )
    const declared = await findDeclared({ config: join(folder, 'beside.yaml'), demo: true })
    assert.ok(declared)
    const changes = await reconcile(declared, {
      database,
      clock,
      environment: {},
      tables: undefined,
      audit: openTestAudit(database),
      mail: undefined,
      digestKey: Buffer.alloc(32),
      providerKey: Buffer.alloc(32),
    })
    assert.deepEqual(summarise(changes), { created: 11, changed: 0, deleted: 0 })
    assert.deepEqual([...declared.rows.keys()], ['instruments', 'quotes'])
    assert.equal(declared.declaration.views, undefined, 'they read the trades of the demonstration')
    const [alice, admin] = await Promise.all(['alice', 'admin'].map((name) => stores.users.findByUsername(name)))
    assert.deepEqual([...(alice?.rights ?? [])], ['Platform/News'])
    assert.ok(admin?.rights.has('Identity/Admin') && admin.rights.has('Platform/Admin'))
    assert.ok(await verifyPassword(alice?.passwordHash ?? '', 'wonderland-1'))
  })
})

test('materialized views wait while nodes of an earlier version run; a file without them does not', () => {
  const views = [{ name: 'counts', query: 'SELECT id, count(*) AS n FROM t GROUP BY id', materialized: true }]
  const tables = [{ name: 't', columns: [{ name: 'id', type: 'Integer' }] }]
  assert.deepEqual(defer({ tables, views }), { declaration: { tables }, sections: ['views'] })
  assert.equal(defer({ tables, views: views.map(({ materialized, ...view }) => view) }), undefined)
  assert.ok(defer(DEMO)?.sections.includes('views'))
})

test('the demonstration data is a valid declaration', async () => {
  assert.ok('declaration' in checkShape(structuredClone(DEMO)))
  assert.deepEqual(checkMeaning(DEMO, []), [])
})

test('the demonstration market is deterministic and fits its columns', async () => {
  for (const table of DEMO.tables ?? []) {
    const rows = await Array.fromAsync(DEMO_ROWS.get(table.name)?.() ?? [])
    assert.deepEqual(rows, await Array.fromAsync(DEMO_ROWS.get(table.name)?.() ?? []))
    assert.deepEqual(
      rows[0],
      table.columns.map(({ name }) => name),
    )
    assert.equal(new Set(rows.map(([key]) => key)).size, rows.length, `${table.name} has one row for each key`)
  }
  const trades = await Array.fromAsync(DEMO_ROWS.get('trades')?.() ?? [])
  assert.equal(trades.length, 4001)
  for (const [, , side, quantity, price, , time] of trades.slice(1)) {
    assert.match(`${side} ${quantity} ${price} ${time}`, /^(Buy|Sell) [1-9]\d* \d+\.\d{4} 2026-01-0[5-9]T/)
  }
})
