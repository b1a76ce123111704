/** One-time set-up links in the administration: created for new and existing users, listed without their token, revoked. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { digestSecret } from '../../packages/server/src/store/keys/opaque.ts'
import { type Answer, startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

const URL_FORM = /^https:\/\/gate\.example\.com\/id\/set-up\?token=([\w-]{43})$/

onEveryEngineInLongRuns('set-up links of the administration', (place) => {
  let admin: TestAdmin
  before(async () => {
    admin = await startTestAdmin(place())
    await admin.env.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })
  })
  after(() => admin.stop())

  const create = (body: object): Promise<Answer> => admin.call('POST', '/admin/links', { body })
  const requestToken = (url: string) => URL_FORM.exec(url)?.[1] ?? assert.fail(url)

  test('a new user is invited in one step, and gets a link that is shown once', async () => {
    const { status, body, headers } = await create({
      username: 'bob',
      roles: ['trader'],
      name: 'Bob Jones',
      expires_in: 3600,
    })
    assert.equal(status, 201)
    const token = requestToken(body.url)
    assert.partialDeepStrictEqual(body, {
      kind: 'invitation',
      state: 'open',
      username: 'bob',
      created_by: 'usr_operator',
    })
    assert.equal(Date.parse(body.expires_at) - Date.parse(body.created_at), 3_600_000)
    const user = (await admin.call('GET', '/admin/users/bob')).body
    assert.partialDeepStrictEqual(user, { id: body.user, roles: ['trader'], has_password: false, name: 'Bob Jones' })
    const shown = await admin.call('GET', headers.get('location') ?? '')
    const { url, ...rest } = body
    assert.deepEqual(shown.body, rest)
    const row = await admin.env.database.db.selectFrom('set_up_links').selectAll().executeTakeFirstOrThrow()
    assert.equal(row.digest, digestSecret(token))
    assert.ok(!JSON.stringify(row).includes(token))
  })

  test('a link of an existing user replaces the earlier one; whether it is a reset depends on the password', async () => {
    const first = (await create({ user: 'BOB' })).body
    assert.equal(first.kind, 'invitation')
    assert.equal(Date.parse(first.expires_at) - Date.parse(first.created_at), 3 * 86_400_000)
    await admin.call('PUT', '/admin/users/bob/password', { body: { password: 'a long one' } })
    const second = (await create({ user: first.user })).body
    assert.equal(second.kind, 'reset')
    const { items } = (await admin.call('GET', '/admin/links?user=bob')).body
    assert.deepEqual(
      items.map(({ id, state }: Record<string, unknown>) => [id, state]),
      [
        [second.id, 'open'],
        [first.id, 'revoked'],
        [items[2].id, 'revoked'],
      ],
    )
    assert.ok(items.every((item: object) => !('url' in item) && !('digest' in item)))
  })

  test('an open link is revoked once; the audit log has each step without the token', async () => {
    const { body } = await create({ user: 'bob' })
    assert.equal((await admin.call('DELETE', `/admin/links/${body.id}`)).status, 204)
    assert.equal((await admin.call('GET', `/admin/links/${body.id}`)).body.state, 'revoked')
    assert.equal((await admin.call('DELETE', `/admin/links/${body.id}`)).status, 409)
    assert.equal((await admin.call('DELETE', '/admin/links/none')).status, 404)
    const { text, body: log } = await admin.call('GET', '/admin/audit?event=link')
    assert.deepEqual(
      log.items.slice(0, 2).map(({ event, target }: Record<string, unknown>) => [event, target]),
      [
        ['link.revoked', body.user],
        ['link.created', body.user],
      ],
    )
    assert.ok(!text.includes(requestToken(body.url)))
  })

  test('links are paged, newest first', async () => {
    for (let count = 0; count < 4; count++) await create({ username: `many-${count}` })
    const ids: string[] = []
    for (let next: string | null = '/admin/links?limit=3'; next !== null; ) {
      const { body } = await admin.call('GET', next)
      ids.push(...body.items.map(({ id }: { id: string }) => id))
      next = body.next
    }
    const { items } = (await admin.call('GET', '/admin/links')).body
    assert.deepEqual(
      ids,
      items.map(({ id }: { id: string }) => id),
    )
    assert.equal(new Set(ids).size, 8)
  })

  for (const [name, body, status, detail] of [
    ['nobody', {}, 422, /username: is missing/],
    ['an unknown user', { user: 'nobody' }, 404, /no user "nobody"/],
    ['a user and members of another', { user: 'bob', roles: ['trader'] }, 422, /roles: unknown member/],
    ['a user that is no text', { user: 7 }, 422, /user: must be/],
    ['a name that is taken', { username: 'BOB' }, 409, /taken/],
    ['an unknown role', { username: 'x', roles: ['tradr'] }, 422, /unknown role "tradr"; did you mean "trader"/],
    ['a password', { username: 'x', password: 'a long password' }, 422, /password: is not allowed in an invitation/],
    ['a time too short', { user: 'bob', expires_in: 5 }, 422, /expires_in/],
    ['a time too long', { user: 'bob', expires_in: 31 * 86_400 }, 422, /expires_in/],
    ['a flag that is none', { first_administrator: 'yes' }, 422, /first_administrator/],
  ] as const)
    test(`a link for ${name} is ${status}, and creates no user`, async () => {
      const answer = await create(body)
      assert.equal(answer.status, status, answer.text)
      assert.match(answer.body.detail, detail)
      assert.equal((await admin.call('GET', '/admin/users/x')).status, 404)
    })

  test('a disabled user gets no link', async () => {
    await admin.call('PATCH', '/admin/users/bob', { body: { disabled: true }, ifMatch: '*' })
    assert.equal((await create({ user: 'bob' })).status, 409)
  })

  test('the first administrator gets a link as long as there is none; an invited one does not count', async () => {
    await admin.env.stores.roles.put({ name: 'chief', scopes: ['Identity/Admin'] })
    const { body: invited } = await create({ username: 'carol', roles: ['chief'] })
    const { status, body } = await create({ first_administrator: true })
    assert.equal(status, 201)
    assert.partialDeepStrictEqual(body, { kind: 'administrator', user: null, username: null })
    assert.equal((await create({ first_administrator: true, username: 'x' })).status, 422)
    assert.equal((await admin.call('GET', `/admin/links/${invited.id}`)).body.state, 'open')
    await admin.call('PUT', '/admin/users/carol/password', { body: { password: 'a long one' } })
    const refused = await create({ first_administrator: true })
    assert.equal(refused.status, 409)
    assert.match(refused.body.detail, /There is an administrator already/)
  })
})
