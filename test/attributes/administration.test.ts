/** Attributes in the administration: definitions, values of users and clients, and what is refused; on every engine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

onEveryEngineInLongRuns('administration of attributes', (place) => {
  let admin: TestAdmin
  let filters: (string | null)[] = []
  const table = (rowFilter: string | null, index: number) => ({
    ...{ name: `t${index}`, description: '', columns: [], readScope: null, writeScope: null, rowFilter, live: true },
  })
  before(async () => {
    const definitions = async () => ({ tables: filters.map(table), views: [], omitted: [] })
    admin = await startTestAdmin(place(), { definitions })
  })
  after(() => admin.stop())

  const declare = (body: object) => admin.call('POST', '/admin/attributes', { body })

  test('an attribute is declared, listed, changed and removed', async () => {
    const made = await declare({ name: 'desk', type: 'Text', many: true, claim: 'desk', scope: 'profile' })
    assert.deepEqual([made.status, made.headers.get('location')], [201, '/admin/attributes/desk'])
    assert.equal((await declare({ name: 'desk', type: 'Text' })).status, 409)
    assert.deepEqual((await admin.call('GET', '/admin/attributes')).body.items, [
      { name: 'desk', type: 'Text', many: true, claim: 'desk', scope: 'profile' },
    ])
    const changed = await admin.call('PATCH', '/admin/attributes/desk', { body: { scope: null }, ifMatch: '*' })
    assert.deepEqual(changed.body, { name: 'desk', type: 'Text', many: true, claim: 'desk' })
    assert.deepEqual(admin.events.splice(0), [{ kind: 'attributes-changed' }, { kind: 'attributes-changed' }])
    assert.equal((await admin.call('DELETE', '/admin/attributes/desk')).status, 204)
    assert.equal((await admin.call('GET', '/admin/attributes/desk')).status, 404)
  })

  test('the name, the type and the number of values stay', async () => {
    await declare({ name: 'level', type: 'Integer' })
    for (const body of [{ name: 'rank' }, { type: 'Text' }, { many: true }, { colour: null }]) {
      const reply = await admin.call('PATCH', '/admin/attributes/level', { body, ifMatch: '*' })
      assert.deepEqual([reply.status, reply.body.Faults[0].path], [422, Object.keys(body)[0]])
    }
  })

  const REFUSED = [
    ['a name in upper case', { name: 'Desk', type: 'Text' }, 'name'],
    ['a name that begins with a digit', { name: '1desk', type: 'Text' }, 'name'],
    ['a name that is too long', { name: `a${'b'.repeat(63)}`, type: 'Text' }, 'name'],
    ['a name that objects have', { name: '__proto__', type: 'Text' }, 'name'],
    ['an unknown type', { name: 'x', type: 'Json' }, 'type'],
    ['a claim of every token', { name: 'x', type: 'Text', claim: 'sub' }, 'claim'],
    ['a claim of every token in other case', { name: 'x', type: 'Text', claim: 'Scope' }, 'claim'],
    ['a standard claim', { name: 'x', type: 'Text', claim: 'email' }, 'claim'],
    ['the claim of roles', { name: 'x', type: 'Text', claim: 'role' }, 'claim'],
    ['a claim with a control character', { name: 'x', type: 'Text', claim: 'a\nb' }, 'claim'],
    ['a scope without a claim', { name: 'x', type: 'Text', scope: 'profile' }, 'scope'],
    ['an unknown scope', { name: 'x', type: 'Text', claim: 'x', scope: 'profil' }, 'scope'],
    ['a scope that grants no claims', { name: 'x', type: 'Text', claim: 'x', scope: 'offline_access' }, 'scope'],
    ['what SCIM writes to the user', { name: 'x', type: 'Text', scim: 'userName' }, 'scim'],
    ['no SCIM path', { name: 'x', type: 'Text', scim: 'a b' }, 'scim'],
    ['the claim of another attribute', { name: 'x', type: 'Text', claim: 'CITY' }, 'claim'],
  ] as const
  for (const [what, body, path] of REFUSED)
    test(`a definition with ${what} is refused`, async () => {
      await declare({ name: 'city', type: 'Text', claim: 'city' })
      const reply = await declare(body)
      assert.deepEqual([reply.status, reply.body.Faults?.[0].path], [422, path])
    })

  test('users and clients have values of declared attributes', async () => {
    await declare({ name: 'desk', type: 'Text', many: true })
    await declare({ name: 'since', type: 'Date' })
    const body = { username: 'ada', attributes: { desk: ['Rates', 'FX', 'FX'], since: '2024-02-29', level: 3 } }
    const made = await admin.call('POST', '/admin/users', { body })
    assert.deepEqual(made.body.attributes, { desk: ['FX', 'Rates'], level: [3], since: ['2024-02-29'] })
    admin.events.splice(0)
    const patch = { attributes: { desk: ['FX'], since: null } }
    const changed = await admin.call('PATCH', '/admin/users/ada', { body: patch, ifMatch: '*' })
    assert.deepEqual(changed.body.attributes, { desk: ['FX'], level: [3] })
    const { id } = made.body
    assert.deepEqual(admin.events, [{ kind: 'user-changed', subject: id, attributes: ['desk', 'since'] }])
    const client = { client_id: 'robot', grant_types: ['client_credentials'], attributes: { desk: ['FX'] } }
    assert.deepEqual((await admin.call('POST', '/admin/clients', { body: client })).body.attributes, { desk: ['FX'] })
    await admin.call('PATCH', '/admin/clients/robot', { body: { attributes: { desk: ['Rates'] } }, ifMatch: '*' })
    assert.deepEqual(admin.events.at(-1), { kind: 'clients-changed', clientId: 'robot', attributes: ['desk'] })
  })

  const BAD_VALUES = [
    ['an unknown attribute', { dask: ['FX'] }, 'attributes.dask'],
    ['two values of an attribute with one', { level: [1, 2] }, 'attributes.level'],
    ['a value of another type', { level: ['1'] }, 'attributes.level'],
    ['a number that is not whole', { level: [1.5] }, 'attributes.level'],
    ['a number that is too large', { level: [2 ** 53] }, 'attributes.level'],
    ['a day that does not exist', { since: ['2023-02-29'] }, 'attributes.since'],
    ['an empty text', { desk: [''] }, 'attributes.desk'],
    ['a text with NUL', { desk: ['a\0'] }, 'attributes.desk'],
    ['a lone surrogate', { desk: ['\ud800'] }, 'attributes.desk'],
    ['a text that is too long', { desk: ['x'.repeat(257)] }, 'attributes.desk'],
    ['101 values', { desk: Array.from({ length: 101 }, (_, index) => `d${index}`) }, 'attributes.desk'],
    ['a value that is an object', { desk: [{}] }, 'attributes.desk'],
  ] as const
  for (const [what, attributes, path] of BAD_VALUES)
    test(`${what} is refused in a user and in a client`, async () => {
      const user = await admin.call('POST', '/admin/users', { body: { username: 'bad', attributes } })
      const client = { client_id: 'bad', grant_types: ['client_credentials'], attributes }
      const refused = [user, await admin.call('POST', '/admin/clients', { body: client })]
      for (const { status, body } of refused) {
        assert.equal(status, 422)
        assert.ok(body.Faults[0].path.startsWith(path), body.Faults[0].path)
      }
    })

  test('an attribute that row filters or clients use is not removed: they are named', async () => {
    filters = ['lower(city) = :ATTRIBUTE.Desk', 'desk = :username', null]
    const refused = await admin.call('DELETE', '/admin/attributes/desk')
    assert.equal(refused.status, 409)
    assert.match(refused.body.detail, /the row filter of t0, the client robot/)
    assert.doesNotMatch(refused.body.detail, /t1/)
    filters = []
    await admin.call('PATCH', '/admin/clients/robot', { body: { attributes: null }, ifMatch: '*' })
    assert.equal((await admin.call('DELETE', '/admin/attributes/desk')).status, 204)
  })

  test('a removed attribute takes its values along: one that is declared later begins empty', async () => {
    await declare({ name: 'desk', type: 'Integer' })
    assert.deepEqual((await admin.call('GET', '/admin/users/ada')).body.attributes, { level: [3] })
  })

  test('there are at most 64 attributes', async () => {
    const { items } = (await admin.call('GET', '/admin/attributes')).body
    for (let number = items.length; number < 64; number++)
      assert.equal((await declare({ name: `a${number}`, type: 'Text' })).status, 201)
    const reply = await declare({ name: 'one_more', type: 'Text' })
    assert.deepEqual([reply.status, /at most 64/.test(reply.body.detail)], [422, true])
  })

  test('attributes are no matter of Platform/Admin', async () => {
    assert.equal((await admin.call('GET', '/admin/attributes', { token: 'Platform-Admin' })).status, 403)
  })
})
