/** Administration of APIs: what can be declared, limits, and the removal of what others name. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

const ORDERS = 'https://orders.example.com'
const ADDRESS = `/admin/apis/${encodeURIComponent(ORDERS)}`

onEveryEngineInLongRuns('administration of APIs', (place) => {
  let admin: TestAdmin
  const tables: { name: string; readScope: string }[] = []
  before(async () => {
    const definitions = async () => ({ tables: tables as never[], views: [], omitted: [] })
    admin = await startTestAdmin(place(), { definitions })
  })
  after(() => admin.stop())
  beforeEach(async () => {
    for (const { resource } of await admin.env.stores.apis.list()) await admin.env.stores.apis.remove(resource)
    await admin.env.database.db.deleteFrom('nodes').execute()
  })

  const add = (api: object) => admin.call('POST', '/admin/apis', { body: api })
  const fault = async (api: object) => {
    const { status, body } = await add(api)
    return status === 422 ? `${body.Faults[0].path}: ${body.Faults[0].text}` : `${status}`
  }
  const withScope = (name: string) => ({ resource: ORDERS, scopes: [{ name }] })

  test('An API is created, listed, shown, changed and removed, each in the audit log, with an event', async () => {
    const created = await add({ resource: ORDERS, scopes: [{ name: 'orders:write', text: { en: 'Place orders' } }] })
    assert.equal(created.status, 201, created.text)
    assert.equal(created.headers.get('location')?.endsWith(ADDRESS), true)
    assert.deepEqual(created.body.name, ORDERS)
    assert.equal((await add(withScope('other'))).status, 409)
    assert.deepEqual((await admin.call('GET', '/admin/apis')).body.items, [created.body])
    const shown = await admin.call('GET', ADDRESS)
    const patched = await admin.call('PATCH', ADDRESS, {
      body: { name: 'Order desk', access_token_lifetime: 600 },
      ifMatch: shown.headers.get('etag') ?? '',
    })
    assert.deepEqual([patched.status, patched.body.name, patched.body.access_token_lifetime], [200, 'Order desk', 600])
    assert.equal((await admin.call('PATCH', ADDRESS, { body: { name: 'x' }, ifMatch: '"old"' })).status, 412)
    assert.equal((await admin.call('DELETE', ADDRESS)).status, 204)
    assert.equal((await admin.call('GET', ADDRESS)).status, 404)
    await admin.env.audit.flush()
    const rows = await admin.env.database.db.selectFrom('audit_log').select(['event', 'target']).execute()
    for (const event of ['api.created', 'api.changed', 'api.deleted'])
      assert.ok(
        rows.some((row) => row.event === event && row.target === ORDERS),
        event,
      )
    assert.ok(admin.events.some(({ kind }) => kind === 'apis-changed'))
  })

  test('resource: an absolute URI without a fragment, up to 512 characters', async () => {
    const form = 'must be an absolute URI without a fragment, such as https://orders.example.com, or platform'
    for (const resource of ['orders', '/orders', `${ORDERS}#part`, `${ORDERS}/ö`, `${ORDERS}/a b`, `${ORDERS}/%zz`, ''])
      assert.equal(await fault({ resource }), `resource: ${form}`, resource)
    assert.match(await fault({ resource: `https://x.example/${'a'.repeat(500)}` }), /^resource: /)
    for (const resource of ['https://', 'https:orders', 'https://user:secret@orders.example.com'])
      assert.equal(await fault({ resource }), 'resource: is not a valid address', resource)
    for (const path of ['', '/query', '/Platform'])
      assert.match(await fault({ resource: admin.env.issuer + path }), /is an address of this server/)
    for (const resource of ['urn:example:orders', 'https://orders.example.com/v1?x=1', 'HTTPS://orders.example.com'])
      assert.equal(await fault({ resource }), '201', resource)
  })

  test('resource is never changed', async () => {
    await add({ resource: ORDERS })
    const patched = await admin.call('PATCH', ADDRESS, { body: { resource: 'https://x.example' }, ifMatch: '*' })
    assert.deepEqual([patched.status, patched.body.Faults[0].path], [422, 'resource'])
  })

  test('Lifetime: 60 to 86400 seconds', async () => {
    for (const seconds of [59, 86_401, 1.5])
      assert.match(await fault({ resource: ORDERS, access_token_lifetime: seconds }), /^access_token_lifetime/)
    assert.equal(await fault({ resource: ORDERS, access_token_lifetime: 60 }), '201')
  })

  test('Scopes: the characters of RFC 6749, up to 128', async () => {
    for (const name of ['a b', 'a"b', 'a\\b', 'ä', '', 'a\u0001'])
      assert.match(await fault(withScope(name)), /^scopes\[0\]\.name: /, name)
    assert.match(await fault(withScope('x'.repeat(129))), /^scopes\[0\]\.name: /)
    assert.equal(await fault(withScope(`${'x'.repeat(126)}:!`)), '201')
  })

  test('Scopes: built-in names, Identity/…, Platform/…, address and phone are reserved, in any case', async () => {
    const reserved = ['openid', 'OpenID', 'profile', 'email', 'roles', 'offline_access', 'address', 'Phone']
    for (const name of [...reserved, 'Platform/Market', 'platform/mine', 'Identity/Provisioning', 'IDENTITY/x'])
      assert.equal(await fault(withScope(name)), `scopes[0].name: "${name}" is reserved: choose another`)
    assert.equal(await fault(withScope('PlatformX')), '201')
  })

  test('Scopes: names are unique without case, in one API and over all', async () => {
    const twice = { resource: ORDERS, scopes: [{ name: 'orders' }, { name: 'Orders' }] }
    assert.match(await fault(twice), /^scopes\[1\]\.name: "Orders" is a scope of .* already/)
    assert.equal(await fault(withScope('orders')), '201')
    assert.match(await fault({ resource: 'urn:other', scopes: [{ name: 'ORDERS' }] }), /^scopes\[0\]\.name: .*already/)
  })

  test('claims: those about users, and no others', async () => {
    assert.equal(
      await fault({ resource: ORDERS, claims: ['roles'] }),
      'claims[0]: unknown claim "roles"; did you mean "role"?',
    )
    for (const claims of [['sub'], ['scope'], ['__proto__'], ['role', 'role']])
      assert.match(await fault({ resource: ORDERS, claims }), /^claims/)
    assert.equal(await fault({ resource: ORDERS, claims: ['role', 'email', 'locale'] }), '201')
  })

  test('platform only gains scopes', async () => {
    assert.match(await fault({ resource: 'platform', claims: ['role'] }), /^claims: is not for platform/)
    assert.match(await fault({ resource: 'platform', access_token_lifetime: 60 }), /is not for platform/)
    assert.equal(await fault({ resource: 'platform', scopes: [{ name: 'desk:read' }] }), '201')
    assert.match(await fault({ resource: 'identity' }), /^resource: must be an absolute URI/)
  })

  test('Limits: 200 APIs, and 1,000 scopes of all together', async () => {
    const { apis } = admin.env.stores
    const some = (count: number, at: number) =>
      Array.from({ length: count }, (_, each) => ({ name: `s${at}-${each}`, text: {} }))
    const base = { name: 'x', accessTokenLifetime: undefined, claims: [] }
    for (let at = 0; at < 199; at++)
      await apis.put({ ...base, resource: `urn:a:${at}`, scopes: at < 9 ? some(111, at) : [] })
    assert.equal(
      await fault({ resource: 'urn:b', scopes: [{ name: 'one' }, { name: 'two' }] }),
      'apis: all APIs together can have at most 1000 scopes, not 1001',
    )
    assert.equal(await fault({ resource: 'urn:b', scopes: [{ name: 'one' }] }), '201')
    assert.equal(await fault({ resource: 'urn:c' }), 'apis: there can be at most 200 APIs, not 201')
  })

  test('Removing scopes that roles, clients, feeds, topics or tables name: 409 with their names', async () => {
    const { stores } = admin.env
    await add({ resource: 'platform', scopes: [{ name: 'desk:read' }, { name: 'desk:free' }] })
    const role = await admin.call('POST', '/admin/roles', { body: { name: 'desk', scopes: ['desk:read'] } })
    assert.equal(role.status, 201, role.text)
    await admin.call('POST', '/admin/clients', {
      body: { client_id: 'app', grant_types: ['client_credentials'], scope: 'Platform/Market desk:read' },
    })
    const feed = await admin.call('POST', '/admin/feeds', { body: { name: 'Desk', read: 'desk:read' } })
    assert.equal(feed.status, 201, feed.text)
    const controller = { url: 'https://c.example.com', topics: [{ name: 'Ask', needs: 'desk:read' }] }
    assert.equal((await admin.call('PUT', '/admin/controllers/Helper', { body: controller })).status, 201)
    tables.push({ name: 'positions', readScope: 'desk:read' })
    const names = 'the role desk, the client app, the remote controller Helper, the feed Desk, the table positions'
    const removed = await admin.call('DELETE', '/admin/apis/platform')
    assert.deepEqual([removed.status, removed.body.Code], [409, 'admin.conflict'])
    assert.ok(removed.body.detail.includes(names), removed.text)
    const only = (...scopes: string[]) =>
      admin.call('PATCH', '/admin/apis/platform', { body: { scopes: scopes.map((name) => ({ name })) }, ifMatch: '*' })
    assert.equal((await only('desk:free')).status, 409)
    assert.equal((await only('desk:read')).status, 200)
    await stores.roles.remove('desk')
    await stores.clients.remove('app')
    await stores.feeds.remove('Desk')
    await stores.controllers.remove('Helper')
    tables.pop()
    assert.equal((await admin.call('DELETE', '/admin/apis/platform')).status, 204)
  })

  test('Roles and clients may name scopes of APIs, tables and feeds only those of the platform', async () => {
    await add(withScope('orders:write'))
    const role = (scopes: string[]) => admin.call('POST', '/admin/roles', { body: { name: 'r', scopes } })
    assert.match((await role(['orders:wrte'])).body.Faults[0].text, /did you mean orders:write\?$/)
    assert.equal((await role(['Orders:Write'])).status, 422)
    assert.match((await role(['Identity/Provisioning'])).body.Faults[0].text, /cannot be given by a role/)
    assert.equal((await role(['orders:write'])).status, 201)
    await admin.env.stores.roles.remove('r')
    assert.equal((await admin.call('POST', '/admin/feeds', { body: { name: 'F', read: 'orders:write' } })).status, 422)
    const { items } = (await admin.call('GET', '/admin/scopes')).body
    assert.deepEqual(
      items.find(({ name }: { name: string }) => name === 'orders:write'),
      { name: 'orders:write', resource: ORDERS, roles: [] },
    )
  })

  test('While a node of an older version runs, declarations are 409 Upgrade.Pending', async () => {
    const { db } = admin.env.database
    const node = {
      id: 'old',
      name: `${(await import('node:os')).hostname()}:${process.ppid}`,
      issuer: 'http://localhost',
    }
    const times = { seen_at: Date.now(), started_at: Date.now() }
    await db
      .insertInto('nodes')
      .values({ ...node, ...times, schema_version: 1 })
      .execute()
    const refused = await add({ resource: ORDERS })
    assert.deepEqual([refused.status, refused.body.Code], [409, 'Upgrade.Pending'])
  })

  test('The export has the APIs, without defaults', async () => {
    await add({ resource: ORDERS, scopes: [{ name: 'orders:write' }] })
    const { declaration } = (await admin.call('GET', '/admin/declaration')).body
    assert.deepEqual(declaration.apis, [{ resource: ORDERS, scopes: [{ name: 'orders:write' }] }])
  })
})
