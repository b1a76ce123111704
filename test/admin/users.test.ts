/** Administration of users over HTTP: profile, password, sessions, consents, and the events that changes publish. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { verifyPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

onEveryEngineInLongRuns('administration of users', (place) => {
  let admin: TestAdmin
  before(async () => {
    admin = await startTestAdmin(place())
  })
  after(() => admin.stop())

  test('a user is created, shown by id and name, changed, and deleted', async () => {
    const created = await admin.call('POST', '/admin/users', {
      body: { username: 'alice', password: 'correct horse', email: 'alice@example.com', name: 'Alice' },
    })
    assert.equal(created.status, 201)
    assert.match(created.body.id, /^usr_/)
    assert.equal(created.headers.get('location'), `/admin/users/${created.body.id}`)
    assert.partialDeepStrictEqual(created.body, { username: 'alice', email: 'alice@example.com', has_password: true })
    assert.ok(!created.text.includes('correct horse') && !created.text.includes('argon2'))
    const byName = await admin.call('GET', '/admin/users/ALICE')
    assert.deepEqual(byName.body, created.body)
    const tag = byName.headers.get('etag') ?? ''
    assert.equal(tag, created.headers.get('etag'))

    const changed = await admin.call('PATCH', '/admin/users/alice', {
      body: { name: null, locale: 'en' },
      ifMatch: tag,
    })
    assert.equal(changed.status, 200)
    assert.equal(changed.body.locale, 'en')
    assert.equal('name' in changed.body, false)
    assert.equal((await admin.call('DELETE', '/admin/users/alice', { ifMatch: tag })).status, 412)
    assert.equal((await admin.call('DELETE', '/admin/users/alice')).status, 204)
    assert.equal((await admin.call('GET', '/admin/users/alice')).status, 404)
    assert.partialDeepStrictEqual(admin.events.at(-1), { kind: 'subject-cut', subject: created.body.id })
  })

  test('a change without If-Match is 428, with a stale one 412, and nothing is written', async () => {
    await admin.call('POST', '/admin/users', { body: { username: 'bob' } })
    const bare = await admin.call('PATCH', '/admin/users/bob', { body: { nickname: 'x' } })
    assert.equal(bare.status, 428)
    const tag = bare.headers.get('etag') ?? ''
    const first = await admin.call('PATCH', '/admin/users/bob', { body: { nickname: 'one' }, ifMatch: tag })
    assert.equal(first.status, 200)
    const second = await admin.call('PATCH', '/admin/users/bob', { body: { nickname: 'two' }, ifMatch: tag })
    assert.equal(second.status, 412)
    assert.equal(second.headers.get('etag'), first.headers.get('etag'))
    assert.equal((await admin.call('GET', '/admin/users/bob')).body.nickname, 'one')
  })

  test('a patch without effect keeps the ETag', async () => {
    const body = { username: 'dora', nickname: 'd', roles: ['reader', 'auditor'] }
    for (const name of body.roles) await admin.env.stores.roles.put({ name, scopes: [] })
    const tag = (await admin.call('POST', '/admin/users', { body })).headers.get('etag') ?? ''
    await setTimeout(5)
    for (const patch of [{}, { nickname: 'd', disabled: false }, { roles: ['auditor', 'reader'] }, { gender: null }]) {
      const answer = await admin.call('PATCH', '/admin/users/dora', { body: patch, ifMatch: tag })
      assert.deepEqual([answer.status, answer.headers.get('etag')], [200, tag], JSON.stringify(patch))
    }
    for (const patch of [{ nickname: 'e' }, { roles: ['reader'] }, { disabled: true }]) {
      const before = (await admin.call('GET', '/admin/users/dora')).headers.get('etag')
      const answer = await admin.call('PATCH', '/admin/users/dora', { body: patch, ifMatch: '*' })
      assert.notEqual(answer.headers.get('etag'), before, JSON.stringify(patch))
    }
    assert.partialDeepStrictEqual((await admin.call('GET', '/admin/users/dora')).body, {
      nickname: 'e',
      roles: ['reader'],
      disabled: true,
    })
  })

  test('of concurrent changes to one version exactly one succeeds', async () => {
    await admin.call('POST', '/admin/users', { body: { username: 'carol' } })
    const tag = (await admin.call('GET', '/admin/users/carol')).headers.get('etag') ?? ''
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_value, index) =>
        admin.call('PATCH', '/admin/users/carol', { body: { nickname: `n${index}` }, ifMatch: tag }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412, 412, 412])
  })

  for (const [name, body, detail] of [
    ['not JSON', '{"username": ', /not JSON/],
    ['not an object', '[]', /JSON object/],
    ['a missing name', {}, /username: is missing/],
    ['an unknown member', { username: 'x', usernam: 'y' }, /unknown member/],
    ['a wrong type', { username: 'x', disabled: 'yes' }, /disabled: must be true or false/],
    ['an unknown role', { username: 'x', roles: ['nobody'] }, /unknown role/],
    ['a short password', { username: 'x', password: 'short' }, /password: must have 8/],
    ['an unknown time zone', { username: 'x', zoneinfo: 'Europe/Nowhere' }, /zoneinfo: is not a known time zone/],
    ['an unknown language', { username: 'x', locale: 'english' }, /locale: is not the tag of a known language/],
    ['a ready hash', { username: 'x', password_hash: '$argon2id$' }, /password_hash/],
  ] as const) {
    test(`a user with ${name} is 422 with the path of the fault`, async () => {
      const answer = await admin.call('POST', '/admin/users', { body })
      assert.equal(answer.status, 422)
      assert.equal(answer.body.Code, 'admin.bad_body')
      assert.match(answer.body.detail, detail)
      assert.ok(answer.body.Faults.length > 0)
    })
  }

  test('a user can be made to change the password, at creation, later, and with a password that is set', async () => {
    const { body: ruth } = await admin.call('POST', '/admin/users', {
      body: { username: 'ruth', password: 'for the first day', must_change_password: true },
    })
    assert.equal(ruth.must_change_password, true)
    const patch = async (body: object) =>
      (await admin.call('PATCH', '/admin/users/ruth', { body, ifMatch: '*' })).body.must_change_password
    assert.equal(await patch({ nickname: 'r' }), true)
    assert.equal(await patch({ must_change_password: false }), false)
    assert.equal(await patch({ must_change_password: true }), true)
    assert.equal(await patch({ must_change_password: null }), false)
    assert.equal(
      (await admin.call('PATCH', '/admin/users/ruth', { body: { must_change_password: 'x' }, ifMatch: '*' })).status,
      422,
    )
    const set = (body: object) => admin.call('PUT', '/admin/users/ruth/password', { body })
    const current = async () => (await admin.call('GET', '/admin/users/ruth')).body.must_change_password
    await set({ must_change_password: true })
    assert.equal(await current(), true)
    await set({ password: 'a password by hand' })
    assert.equal(await current(), true, 'it stays as it was')
    await set({ must_change_password: false })
    assert.equal(await current(), false)
  })

  test('a misspelled member that is to be removed is refused too, and the password is set elsewhere', async () => {
    await admin.call('POST', '/admin/users', { body: { username: 'nora', nickname: 'No' } })
    const patch = (body: object) => admin.call('PATCH', '/admin/users/nora', { body, ifMatch: '*' })
    assert.deepEqual((await patch({ nicknam: null })).body.Faults, [{ path: 'nicknam', text: 'unknown member' }])
    assert.equal((await patch({ nickname: null })).body.nickname, undefined)
    assert.match((await patch({ password: 'a password by hand' })).body.detail, /must be set at .*password$/)
    assert.match((await patch({ reset_password: true })).body.detail, /only in declarative files/)
  })

  test('a misspelled member resets no password, and no response repeats one', async () => {
    await admin.call('POST', '/admin/users', { body: { username: 'paula', password: 'kept-as-it-is' } })
    const misspelled = await admin.call('PUT', '/admin/users/paula/password', { body: { pasword: 'new-password' } })
    assert.equal(misspelled.status, 422)
    assert.match(misspelled.body.detail, /pasword: unknown member/)
    const bare = await admin.call('PUT', '/admin/users/paula/password', { body: 'new-password' })
    assert.equal(bare.status, 422)
    assert.ok(!JSON.stringify(bare.body).includes('new-pass'))
    const proto = { body: '{"__proto__":{"name":"x"}}', ifMatch: '*' }
    assert.equal((await admin.call('PATCH', '/admin/users/paula', proto)).status, 422)
  })

  test('names with characters that no database stores are not found', async () => {
    for (const path of ['users/%00', 'users/usr_%00', 'clients/%00', 'roles/%00', 'keys/%00', 'queries/%00'])
      for (const method of ['GET', 'DELETE']) {
        const { status } = await admin.call(method, `/admin/${path}`)
        assert.ok(status === 404 || status === 405, `${method} ${path}: ${status}`)
      }
  })

  test('a name that is taken is 409; an unknown parameter is 400; a body of another type is 415', async () => {
    await admin.call('POST', '/admin/users', { body: { username: 'dave' } })
    assert.equal((await admin.call('POST', '/admin/users', { body: { username: 'DAVE' } })).status, 409)
    await admin.call('POST', '/admin/users', { body: { username: 'erin' } })
    assert.equal(
      (await admin.call('PATCH', '/admin/users/erin', { body: { username: 'Dave' }, ifMatch: '*' })).status,
      409,
    )
    assert.equal((await admin.call('GET', '/admin/users?limti=5')).status, 400)
    const xml = await admin.call('POST', '/admin/users', { body: '<x/>', headers: { 'content-type': 'text/xml' } })
    assert.equal(xml.status, 415)
  })

  test('paging returns each user once', async () => {
    for (let index = 0; index < 7; index++)
      await admin.call('POST', '/admin/users', { body: { username: `page-${index}` } })
    const names: string[] = []
    let next: string | null = '/admin/users?limit=3'
    while (next !== null) {
      const { body } = await admin.call('GET', next)
      names.push(...body.items.map(({ username }: { username: string }) => username))
      next = body.next
    }
    assert.equal(new Set(names).size, names.length)
    assert.equal(names.filter((name) => name.startsWith('page-')).length, 7)
  })

  test('disabling a user, reducing rights and resetting a password publish revocations', async () => {
    await admin.call('POST', '/admin/roles', { body: { name: 'dealer', scopes: ['Platform/Trading'] } })
    const { body: user } = await admin.call('POST', '/admin/users', { body: { username: 'frank', roles: ['dealer'] } })
    admin.events.length = 0
    await admin.call('PATCH', '/admin/users/frank', { body: { roles: [] }, ifMatch: '*' })
    assert.partialDeepStrictEqual(admin.events, [{ kind: 'rights-changed', subject: user.id, scopes: [] }])
    admin.events.length = 0
    await admin.call('POST', '/admin/roles', { body: { name: 'rightless', scopes: [] } })
    await admin.call('PATCH', '/admin/users/frank', { body: { roles: ['rightless'] }, ifMatch: '*' })
    assert.partialDeepStrictEqual(admin.events, [
      { kind: 'rights-changed', subject: user.id, scopes: [], roles: ['rightless'] },
    ])
    admin.events.length = 0
    await admin.call('PATCH', '/admin/users/frank', { body: { disabled: true }, ifMatch: '*' })
    assert.partialDeepStrictEqual(admin.events, [{ kind: 'subject-cut', subject: user.id }])
    admin.events.length = 0
    const reset = await admin.call('PUT', '/admin/users/frank/password', { body: {} })
    assert.match(reset.body.password, /^[\w-]{20}$/)
    assert.partialDeepStrictEqual(admin.events, [{ kind: 'subject-cut', subject: user.id }])
    const stored = await admin.env.stores.users.findByUsername('frank')
    assert.ok(await verifyPassword(stored?.passwordHash ?? '', reset.body.password))
    const own = await admin.call('PUT', '/admin/users/frank/password', { body: { password: 'chosen by hand' } })
    assert.equal(own.status, 204)
  })

  test('factors, sessions and consents of a user are listed without secrets and removed', async () => {
    const { body: user } = await admin.call('POST', '/admin/users', { body: { username: 'henry' } })
    const { factors, sessions, consents } = admin.env.stores
    await factors.add({ userId: user.id, kind: 'totp', label: 'phone', secret: 'sealed-secret', counter: 0 })
    const { session } = await sessions.open(user.id, { amr: ['pwd'], userAgent: 'Firefox', address: '192.0.2.9' })
    await consents.allow(user.id, 'desk-app', ['openid', 'Platform/News'])

    const listed = await admin.call('GET', '/admin/users/henry/factors')
    assert.partialDeepStrictEqual(listed.body.items, [{ kind: 'totp', label: 'phone' }])
    assert.ok(!listed.text.includes('sealed-secret'))
    const factor = listed.body.items[0].id
    assert.equal((await admin.call('DELETE', `/admin/users/henry/factors/${factor}`)).status, 204)
    assert.equal((await admin.call('DELETE', `/admin/users/henry/factors/${factor}`)).status, 404)

    const open = await admin.call('GET', '/admin/users/henry/sessions')
    assert.partialDeepStrictEqual(open.body.items, [{ id: session.id, address: '192.0.2.9', methods: ['pwd'] }])
    assert.equal((await admin.call('DELETE', `/admin/users/gina/sessions/${session.id}`)).status, 404)
    admin.events.length = 0
    assert.equal((await admin.call('DELETE', `/admin/users/henry/sessions/${session.id}`)).status, 204)
    assert.partialDeepStrictEqual(admin.events, [{ kind: 'session-ended', sessionId: session.id }])

    assert.deepEqual((await admin.call('GET', '/admin/users/henry/consents')).body.items[0].client_id, 'desk-app')
    assert.equal((await admin.call('DELETE', '/admin/users/henry/consents/desk-app')).status, 204)
    assert.equal((await admin.call('DELETE', '/admin/users/henry/consents/desk-app')).status, 404)
    assert.deepEqual((await admin.call('DELETE', '/admin/users/henry/sessions')).body, {
      ended: 0,
      grants: 0,
      streams: 0,
    })
  })

  test('a client that needed no consent is listed with the others, and its access can be ended', async () => {
    const { body: user } = await admin.call('POST', '/admin/users', { body: { username: 'irene' } })
    const { consents, grants } = admin.env.stores
    await consents.allow(user.id, 'asked', ['openid'])
    const grant = {
      kind: 'password',
      userId: user.id,
      sessionId: undefined,
      authTime: Date.now(),
      details: { amr: ['pwd'] },
      expiresAt: Date.now() + 60_000,
    } as const
    const first = await grants.create({ ...grant, clientId: 'own', scopes: ['openid', 'offline_access'] })
    const second = await grants.create({ ...grant, clientId: 'own', scopes: ['Platform/News'] })
    await grants.create({ ...grant, clientId: 'asked', scopes: ['openid', 'profile'] })
    await grants.create({ ...grant, clientId: 'gone', scopes: ['openid'], expiresAt: Date.now() - 1 })

    const { body } = await admin.call('GET', '/admin/users/irene/consents')
    assert.deepEqual(
      body.items.map(({ client_id, scopes, consented }: Record<string, unknown>) => [client_id, scopes, consented]),
      [
        ['asked', ['openid', 'profile'], true],
        ['own', body.items[1].scopes, false],
      ],
    )
    assert.deepEqual(body.items[1].scopes.toSorted(), ['Platform/News', 'offline_access', 'openid'])
    assert.ok(Date.parse(body.items[1].created_at) <= Date.parse(body.items[1].updated_at))

    admin.events.length = 0
    assert.equal((await admin.call('DELETE', '/admin/users/irene/consents/own')).status, 204)
    assert.deepEqual(
      admin.events.map((event) => 'grantId' in event && event.grantId).sort(),
      [first.id, second.id].sort(),
    )
    assert.equal((await admin.call('DELETE', '/admin/users/irene/consents/own')).status, 404)
    const left = (await admin.call('GET', '/admin/users/irene/consents')).body.items
    assert.deepEqual(
      left.map(({ client_id }: Record<string, unknown>) => client_id),
      ['asked'],
    )
    assert.equal((await admin.call('DELETE', '/admin/users/irene/consents/asked')).status, 204)
    assert.deepEqual((await admin.call('GET', '/admin/users/irene/consents')).body.items, [])
  })
})
