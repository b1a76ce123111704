/** Groups over SCIM 2.0: roles that clients give, who else gives them, and the rights that only operators give. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN, bearer, signIn } from '../../support/demo-user.ts'
import { connect } from '../../support/stream-client.ts'
import { until } from '../../support/until.ts'
import { GROUP, type ScimServer } from '../scim-server.ts'

export function groupsOverScim(server: ScimServer): void {
  let admin: string
  before(async () => {
    admin = (await signIn(server, ADMIN)).access_token
  })

  const administer = async (method: string, path: string, body?: object) => {
    const reply = await fetch(`${server.url}/admin${path}`, {
      method,
      headers: { ...bearer(admin).headers, 'content-type': 'application/json', 'if-match': '*' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const readRoles = async (id: string) => (await administer('GET', `/users/${id}`)).body.roles
  const listMembers = async (id: string, token = server.token) =>
    ((await server.scim('GET', `/Groups/${id}`, undefined, { token })).body.members ?? []).map(
      ({ value }: { value: string }) => value,
    )
  const groupNamed = async (name: string) =>
    (await server.scim('GET', `/Groups?filter=${encodeURIComponent(`displayName eq "${name}"`)}`)).body.Resources[0]

  test('POST makes a role without scopes, named by the first displayName; renaming changes the display only', async () => {
    const made = await server.scim('POST', '/Groups', {
      schemas: [GROUP],
      displayName: 'Rates desk',
      externalId: 'g-1',
    })
    assert.equal(made.status, 201)
    assert.partialDeepStrictEqual(made.body, { displayName: 'Rates desk', externalId: 'g-1', schemas: [GROUP] })
    const { body: role } = await administer('GET', '/roles/Rates%20desk')
    assert.partialDeepStrictEqual(role, { name: 'Rates desk', scopes: [], provisioned: true })
    const path = `/Groups/${made.body.id}`
    const renamed = await server.patch(path, { op: 'replace', path: 'displayName', value: 'Rates EMEA' })
    assert.equal(renamed.status, 204)
    assert.notEqual(renamed.headers.get('etag'), made.headers.get('etag'))
    const user = await server.user('g-renamed')
    await server.patch(path, { op: 'add', path: 'members', value: [{ value: user }] })
    assert.deepEqual(await readRoles(user), ['Rates desk'], 'tokens and filters rest on the name')
    const { body } = await server.scim('GET', `/Users/${user}`)
    assert.partialDeepStrictEqual(body.groups, [{ value: made.body.id, display: 'Rates EMEA', type: 'direct' }])
  })

  test('a name that any role has is 409, also in other letters and after a renaming', async () => {
    await server.group('Taken one')
    for (const displayName of ['admin', 'ADMIN', 'trader', 'taken ONE', 'desk-fx']) {
      const { status, body } = await server.scim('POST', '/Groups', { displayName })
      assert.deepEqual([status, body.scimType], [409, 'uniqueness'], displayName)
    }
    const id = await server.group('Free one')
    assert.equal(
      (await server.patch(`/Groups/${id}`, { op: 'replace', path: 'displayName', value: 'Admin' })).status,
      409,
    )
    assert.equal(
      (await server.patch(`/Groups/${id}`, { op: 'replace', path: 'displayName', value: 'FREE ONE' })).status,
      204,
    )
  })

  test('only provisioned roles are groups, and a client sees as members those it gave', async () => {
    const { body } = await server.scim('GET', '/Groups')
    const names = body.Resources.map(({ displayName }: { displayName: string }) => displayName)
    assert.ok(names.includes('desk-fx') && !names.includes('admin') && !names.includes('trader'))
    const { id } = await groupNamed('desk-fx')
    const [mine, theirs, both] = [await server.user('m-1'), await server.user('m-2'), await server.user('m-3')]
    const token = await server.requestToken('other-sync')
    const add = (ids: readonly string[]) => ({
      Operations: [{ op: 'add', path: 'members', value: ids.map((value) => ({ value })) }],
    })
    await administer('PATCH', `/users/${theirs}`, { roles: ['desk-fx'] })
    await server.scim('PATCH', `/Groups/${id}`, add([mine, both]))
    await server.scim('PATCH', `/Groups/${id}`, add([theirs, both]), { token })
    assert.deepEqual((await listMembers(id)).sort(), [mine, both].sort())
    assert.deepEqual((await listMembers(id, token)).sort(), [theirs, both].sort())
    await server.patch(`/Groups/${id}`, { op: 'remove', path: `members[value eq "${both}"]` })
    assert.deepEqual(await readRoles(both), ['desk-fx'], 'a role is held while one source gives it')
    const others = { Operations: [{ op: 'remove', path: 'members' }] }
    await server.scim('PATCH', `/Groups/${id}`, others, { token })
    assert.deepEqual(
      [await readRoles(both), await readRoles(theirs), await readRoles(mine)],
      [[], ['desk-fx'], ['desk-fx']],
    )
  })

  test('members: added, replaced and removed; unknown users, groups and break-glass users are refused', async () => {
    const [a, b, c] = [await server.user('mm-a'), await server.user('mm-b'), await server.user('mm-c')]
    const id = await server.group('Members', [a])
    const path = `/Groups/${id}`
    await server.patch(path, { op: 'Add', path: 'members', value: [{ value: b }, { value: a }] })
    assert.deepEqual((await listMembers(id)).sort(), [a, b].sort())
    await server.patch(path, { op: 'replace', value: { members: [{ value: c }] } })
    assert.deepEqual(await listMembers(id), [c])
    const put = await server.scim('PUT', path, { displayName: 'Members', members: [{ value: a }, { value: b }] })
    assert.deepEqual(put.body.members.map(({ value }: { value: string }) => value).sort(), [a, b].sort())
    const [rescue] = (await server.scim('GET', '/Users?filter=userName%20eq%20%22rescue%22')).body.Resources
    for (const [member, status] of [
      [{ value: 'usr_nobody' }, 400],
      [{ value: id, type: 'Group' }, 400],
      [{ value: 7 }, 400],
      [{ value: rescue.id }, 403],
    ] as const)
      assert.equal(
        (await server.patch(path, { op: 'add', path: 'members', value: [{ value: c }, member] })).status,
        status,
      )
    assert.equal((await listMembers(id)).includes(c), false, 'a refused PATCH changes nothing')
    assert.equal((await server.scim('DELETE', `/Users/${a}`)).status, 204)
    assert.deepEqual(await listMembers(id), [b])
    const stale = { headers: { 'if-match': put.headers.get('etag') ?? '' } }
    assert.equal(
      (await server.scim('DELETE', path, undefined, stale)).status,
      412,
      'the version changes with the members',
    )
  })

  test('filters over groups: name, id, externalId and members', async () => {
    const [a, b] = [await server.user('gf-a'), await server.user('gf-b')]
    const one = await server.group('Filter one', [a, b])
    const two = await server.group('Filter two', [b])
    await server.patch(`/Groups/${two}`, { op: 'add', path: 'externalId', value: 'GF-2' })
    const find = async (filter: string) => {
      const { body } = await server.scim(
        'GET',
        `/Groups?filter=${encodeURIComponent(filter)}&excludedAttributes=members`,
      )
      return body.Resources?.map(({ displayName }: { displayName: string }) => displayName).sort() ?? body.scimType
    }
    for (const [filter, expected] of [
      ['displayName eq "filter ONE"', ['Filter one']],
      ['displayName sw "filter"', ['Filter one', 'Filter two']],
      [`id eq "${one}" and members eq "${a}"`, ['Filter one']],
      [`id eq "${two}" and members[value eq "${a}"]`, []],
      [`members.value eq "${b}"`, ['Filter one', 'Filter two']],
      [`displayName sw "filter" and not (members.value eq "${a}")`, ['Filter two']],
      ['externalId eq "GF-2"', ['Filter two']],
      ['scopes eq "Identity/Admin"', 'invalidFilter'],
    ] as const)
      assert.deepEqual(await find(filter), expected, filter)
  })

  test('a role that is lost over SCIM narrows tokens and open streams within a second', async () => {
    const made = await administer('POST', '/users', { username: 'narrowed', password: 'correct horse battery' })
    const { id: user } = made.body
    const { id } = await groupNamed('desk-fx')
    await server.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: user }] })
    const { access_token: token } = await signIn(server, { username: 'narrowed', password: 'correct horse battery' })
    const query = () =>
      fetch(`${server.url}/query`, {
        method: 'POST',
        headers: { ...bearer(token).headers, 'content-type': 'application/json' },
        body: JSON.stringify({ Query: 'SELECT 1 AS one' }),
      })
    const stream = await connect(server.port, bearer(token))
    assert.notEqual((await query()).status, 403)
    const at = performance.now()
    await server.patch(`/Groups/${id}`, { op: 'remove', path: 'members', value: [{ value: user }] })
    await until('the token has lost the right', 1000, async () => (await query()).status === 403)
    await server.patch(`/Users/${user}`, { op: 'replace', path: 'active', value: false })
    await stream.closed
    assert.ok(performance.now() - at < 2000)
  })

  test('DELETE removes what SCIM made; a role of an operator loses its members and the mark', async () => {
    const user = await server.user('deleted-from')
    const made = await server.group('Made by SCIM', [user])
    assert.equal((await server.scim('DELETE', `/Groups/${made}`)).status, 204)
    assert.equal((await administer('GET', '/roles/Made%20by%20SCIM')).status, 404)
    await administer('POST', '/roles', { name: 'marked', scopes: ['Platform/News'], provisioned: true })
    const { id } = await groupNamed('marked')
    await server.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: user }] })
    assert.deepEqual(await readRoles(user), ['marked'])
    assert.equal((await server.scim('DELETE', `/Groups/${id}`)).status, 204)
    assert.deepEqual((await administer('GET', '/roles/marked')).body, {
      name: 'marked',
      scopes: ['Platform/News'],
      require_second_factor: false,
      users: { count: 0, more: false },
    })
    assert.deepEqual(await readRoles(user), [])
  })

  test('the group of a client does not exist for another client, which cannot take away an operator’s group either', async () => {
    const [mine, theirs] = [await server.user('own-1'), await server.user('own-2')]
    const made = await server.group('Own group', [mine])
    const token = await server.requestToken('other-sync')
    const add = { Operations: [{ op: 'add', path: 'members', value: [{ value: theirs }] }] }
    const path = `/Groups/${made}`
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { displayName: 'Taken over', members: [] }],
      ['PATCH', add],
      ['DELETE', undefined],
    ] as const)
      assert.equal((await server.scim(method, path, body, { token })).status, 404, method)
    for (const query of ['', '?filter=displayName%20eq%20%22Own%20group%22', `?filter=id%20eq%20%22${made}%22`]) {
      const { body } = await server.scim('GET', `/Groups${query}`, undefined, { token })
      assert.ok(!JSON.stringify(body.Resources).includes('Own group'), query)
    }
    const again = await server.scim('POST', '/Groups', { displayName: 'own GROUP' }, { token })
    assert.equal(again.status, 409)
    assert.deepEqual([await listMembers(made), await readRoles(theirs)], [[mine], []])
    await administer('POST', '/roles', { name: 'shared', provisioned: true })
    const { id } = await groupNamed('shared')
    assert.equal((await server.scim('PATCH', `/Groups/${id}`, add, { token })).status, 204)
    assert.equal((await server.scim('DELETE', `/Groups/${id}`)).status, 403)
    const rename = { op: 'replace', path: 'displayName', value: 'Hidden from others' }
    assert.equal((await server.patch(`/Groups/${id}`, rename)).status, 403)
    assert.equal((await groupNamed('shared')).id, id)
    assert.deepEqual(await readRoles(theirs), ['shared'])
    assert.equal((await server.scim('DELETE', `/Groups/${id}`, undefined, { token })).status, 204)
    assert.equal((await server.scim('DELETE', path)).status, 204)
  })

  test('what SCIM gave ends when an operator removes the mark or deletes the client', async () => {
    const [a, b] = [await server.user('end-a'), await server.user('end-b')]
    await administer('POST', '/roles', { name: 'ends', provisioned: true })
    const { id } = await groupNamed('ends')
    await server.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: a }] })
    await administer('PATCH', '/roles/ends', { provisioned: false })
    assert.deepEqual([await readRoles(a), (await server.scim('GET', `/Groups/${id}`)).status], [[], 404])
    const client = { client_id: 'short-lived', grant_types: ['client_credentials'], scope: 'Identity/Provisioning' }
    assert.equal((await administer('POST', '/clients', client)).status, 201)
    const issued = await administer('POST', '/scim/short-lived/tokens', {})
    const body = { displayName: 'Of a client', members: [{ value: b }] }
    assert.equal((await server.scim('POST', '/Groups', body, { token: issued.body.token })).status, 201)
    assert.deepEqual(await readRoles(b), ['Of a client'])
    assert.equal((await administer('DELETE', '/clients/short-lived')).status, 204)
    assert.deepEqual(await readRoles(b), [])
    assert.equal((await server.scim('GET', '/Users', undefined, { token: issued.body.token })).status, 401)
    // Nor has a later client of that name its groups, to which an operator may have given rights meanwhile.
    assert.equal((await administer('POST', '/clients', client)).status, 201)
    const { body: later } = await administer('POST', '/scim/short-lived/tokens', {})
    const { body: groups } = await server.scim('GET', '/Groups', undefined, { token: later.token })
    assert.ok(!JSON.stringify(groups.Resources).includes('Of a client'))
    assert.equal((await administer('GET', '/roles/Of%20a%20client')).body.provisioned, undefined)
    assert.equal((await administer('DELETE', '/clients/short-lived')).status, 204)
  })

  test('every change is in the audit log with its source, and requests are counted', async () => {
    const user = await server.user('audited')
    const group = await server.group('Audited', [user])
    await server.patch(`/Users/${user}`, { op: 'replace', path: 'displayName', value: 'Kept out of the log' })
    await server.patch(`/Users/${user}`, { op: 'replace', path: 'active', value: false })
    await server.scim('DELETE', `/Users/${user}`)
    await server.scim('DELETE', `/Groups/${group}`)
    const events = async () =>
      (await administer('GET', '/audit?limit=1000')).body.items
        .filter(({ target }: { target: string }) => target === user || target === 'Audited')
        .map(({ event, details }: { event: string; details: { source: string } }) => `${event} ${details.source}`)
        .sort()
    const expected = [
      'role.created',
      'role.deleted',
      'user.changed',
      'user.changed',
      'user.created',
      'user.deleted',
      'user.disabled',
    ]
    await until('all is recorded', 2000, async () => (await events()).length === expected.length)
    assert.deepEqual(
      await events(),
      expected.map((event) => `${event} scim:hr-sync`),
    )
    const metrics = await (await fetch(`${server.url}/metrics`, bearer(admin))).text()
    assert.match(metrics, /gatehouse_scim_requests_total\{resource="Groups",method="POST",status="201"\} \d/)
  })
}
