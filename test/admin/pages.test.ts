/** Lists that grow are read page by page, each item once; users are found by the beginning of their name. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

onEveryEngineInLongRuns('pages of the administration', (place) => {
  let admin: TestAdmin
  let alice: string
  before(async () => {
    admin = await startTestAdmin(place())
    const { stores } = admin.env
    for (const name of ['b', 'a', 'e', 'c', 'd'])
      await stores.clients.put({ client_id: `client-${name}`, token_endpoint_auth_method: 'none' })
    for (const name of ['b', 'a', 'e', 'c', 'd']) await stores.roles.put({ name: `role-${name}`, scopes: [] })
    for (const username of ['Alice', 'albert', 'al%', 'bob', 'ålesund', 'al_x']) await stores.users.create({ username })
    alice = (await stores.users.findByUsername('alice'))?.id ?? ''
    for (let count = 0; count < 5; count++)
      await stores.sessions.open(alice, { amr: ['pwd'], userAgent: `browser ${count}`, address: '127.0.0.1' })
  })
  after(() => admin.stop())

  /** All items, by following `next`. */
  async function follow(path: string): Promise<{ pages: number; items: Record<string, unknown>[] }> {
    const items: Record<string, unknown>[] = []
    let pages = 0
    for (let next: string | null = path; next !== null; pages++) {
      const { status, body, text } = await admin.call('GET', next)
      assert.equal(status, 200, text)
      assert.ok(body.items.length <= 2)
      items.push(...body.items)
      next = body.next
    }
    return { pages, items }
  }

  for (const [path, key] of [
    ['/admin/clients', 'client_id'],
    ['/admin/roles', 'name'],
    ['/admin/users', 'username'],
  ] as const)
    test(`${path} gives each item once, in order`, async () => {
      const whole = (await admin.call('GET', path)).body
      assert.equal(whole.next, null)
      const { pages, items } = await follow(`${path}?limit=2`)
      assert.ok(pages >= 3)
      assert.deepEqual(items, whole.items)
      assert.equal(new Set(items.map((item) => item[key])).size, items.length)
    })

  test('the sessions of a user are paged, newest first, also if several began at the same time', async () => {
    const path = `/admin/users/${alice}/sessions`
    const { pages, items } = await follow(`${path}?limit=2`)
    assert.equal(pages, 3)
    assert.deepEqual(
      items.map(({ user_agent: agent }) => agent).sort(),
      ['0', '1', '2', '3', '4'].map((count) => `browser ${count}`),
    )
    const times = items.map(({ created_at: at }) => String(at))
    assert.deepEqual(times, [...times].sort().reverse())
    for (const bad of ['x', '1.', "1.'", '-1.a'])
      assert.equal((await admin.call('GET', `${path}?after=${encodeURIComponent(bad)}`)).status, 400, bad)
  })

  test('users are found by the beginning of their name, whatever its case; wildcards are characters', async () => {
    const found = async (prefix: string) => {
      const { items } = await follow(`/admin/users?limit=2&prefix=${encodeURIComponent(prefix)}`)
      return items.map(({ username }) => username).sort()
    }
    assert.deepEqual(await found('AL'), ['Alice', 'al%', 'al_x', 'albert'])
    assert.deepEqual(await found('al%'), ['al%'])
    assert.deepEqual(await found('al_'), ['al_x'])
    assert.deepEqual(await found('Å'), ['ålesund'])
    assert.deepEqual(await found('nobody'), [])
  })

  test('users are listed by role, and a role says how many have it, outside its ETag', async () => {
    await admin.call('POST', '/admin/roles', { body: { name: 'listed', scopes: ['Platform/Market'] } })
    const tag = (await admin.call('GET', '/admin/roles/listed')).headers.get('etag') ?? ''
    const names = ['role-b', 'Role-A', 'role-c']
    for (const username of names) await admin.call('POST', '/admin/users', { body: { username, roles: ['listed'] } })
    const { items } = await follow('/admin/users?limit=2&role=listed')
    assert.deepEqual(
      items.map(({ username }) => username),
      ['Role-A', 'role-b', 'role-c'],
    )
    const role = await admin.call('GET', '/admin/roles/listed')
    assert.deepEqual(role.body.users, { count: 3, more: false })
    const patched = await admin.call('PATCH', '/admin/roles/listed', { body: { description: 'x' }, ifMatch: tag })
    assert.equal(patched.status, 200)
    assert.deepEqual((await follow('/admin/users?role=nobody-has-it')).items, [])
    assert.equal((await admin.call('GET', '/admin/users?role=listed&prefix=r')).status, 400)
    for (const username of names) await admin.call('DELETE', `/admin/users/${username}`)
  })

  test('clients are found by a part of their id or name, whatever its case', async () => {
    const found = async (text: string) => {
      const { items } = await follow(`/admin/clients?limit=2&search=${encodeURIComponent(text)}`)
      return items.map(({ client_id }) => client_id)
    }
    for (const [client_id, client_name] of Object.entries({
      'find-1': 'The Desk',
      'find-2': 'A desk',
      'find-3': 'None',
    }))
      await admin.call('POST', '/admin/clients', {
        body: { client_id, client_name, grant_types: ['client_credentials'], redirect_uris: [] },
      })
    assert.deepEqual(await found('DESK'), ['find-1', 'find-2'])
    assert.deepEqual(await found('find-'), ['find-1', 'find-2', 'find-3'])
    assert.deepEqual(await found('100%'), [])
    for (const id of ['find-1', 'find-2', 'find-3']) await admin.call('DELETE', `/admin/clients/${id}`)
  })

  test('a page has 1 to 1000 items', async () => {
    for (const limit of ['0', '1001', '-1', 'x'])
      for (const path of ['/admin/clients', '/admin/roles', `/admin/users/${alice}/sessions`])
        assert.equal((await admin.call('GET', `${path}?limit=${limit}`)).status, 400, `${path} ${limit}`)
  })
})
