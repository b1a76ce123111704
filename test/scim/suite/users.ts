/** Users over SCIM 2.0: each clause of what is stored, found, changed and refused (RFC 7643, RFC 7644, RFC 9865). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, bearer, signIn } from '../../support/demo-user.ts'
import { openEvents } from '../../support/event-client.ts'
import { connect } from '../../support/stream-client.ts'
import { until } from '../../support/until.ts'
import { ENTERPRISE, type ScimServer, USER } from '../scim-server.ts'

export function usersOverScim(server: ScimServer): void {
  const find = async (filter: string, query = '') => {
    const reply = await server.scim('GET', `/Users?filter=${encodeURIComponent(filter)}${query}`)
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.body.Resources.map(({ userName }: { userName: string }) => userName)
  }
  const refused = async (filter: string) =>
    (await server.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.scimType

  test('what the schema lists is stored and shown; the rest of RFC 7643 is accepted and ignored', async () => {
    const created = await server.scim('POST', '/Users', {
      schemas: [USER, ENTERPRISE],
      userName: 'Bjensen',
      externalId: 'hr-1',
      active: true,
      displayName: 'Barbara Jensen',
      nickName: 'Babs',
      password: 'must-not-be-kept',
      name: { formatted: 'Ms. Barbara J Jensen', familyName: 'Jensen', givenName: 'Barbara', middleName: 'J' },
      locale: 'en-GB',
      timezone: 'Europe/London',
      emails: [
        { value: 'babs@home.example', type: 'home' },
        { value: 'bjensen@example.com', type: 'work', primary: true },
      ],
      phoneNumbers: [{ value: '555-1', type: 'work' }],
      roles: ['admin'],
      [ENTERPRISE]: { department: 'FX', employeeNumber: '701984', manager: { value: 'usr_boss' } },
      'urn:example:scim:1.0:User': { level: 3 },
    })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    assert.equal(created.headers.get('content-type'), 'application/scim+json')
    const { id, meta, ...shown } = created.body
    assert.deepEqual(shown, {
      schemas: [USER, ENTERPRISE, 'urn:example:scim:1.0:User'],
      externalId: 'hr-1',
      userName: 'Bjensen',
      name: { familyName: 'Jensen', givenName: 'Barbara', middleName: 'J' },
      displayName: 'Barbara Jensen',
      locale: 'en-GB',
      timezone: 'Europe/London',
      active: true,
      emails: [{ value: 'bjensen@example.com', type: 'work' }],
      [ENTERPRISE]: { department: ['FX'], manager: { value: 'usr_boss' } },
      'urn:example:scim:1.0:User': { level: 3 },
    })
    assert.equal(meta.location, created.headers.get('location'))
    assert.equal(meta.version, created.headers.get('etag'))
    const read = await server.scim('GET', `/Users/${id}`)
    assert.deepEqual(read.body, created.body)
    const { access_token: admin } = await signIn(server, ADMIN)
    const stored = await (await fetch(`${server.url}/admin/users/${id}`, bearer(admin))).json()
    assert.partialDeepStrictEqual(stored, {
      name: 'Barbara Jensen',
      family_name: 'Jensen',
      zoneinfo: 'Europe/London',
      email: 'bjensen@example.com',
      has_password: false,
      roles: [],
      attributes: { desk: ['FX'], level: [3], boss: ['usr_boss'] },
    })
  })

  test('a taken userName or externalId is 409 uniqueness; each client has its own externalIds', async () => {
    await server.user('clash', { externalId: 'x-1' })
    const again = await server.scim('POST', '/Users', { userName: 'CLASH' })
    assert.deepEqual([again.status, again.body.scimType, again.body.status], [409, 'uniqueness', '409'])
    const same = await server.scim('POST', '/Users', { userName: 'clash2', externalId: 'x-1' })
    assert.deepEqual([same.status, same.body.scimType], [409, 'uniqueness'])
    assert.deepEqual(await find('userName eq "clash2"'), [], 'nothing of a refused request is stored')
    const token = await server.requestToken('other-sync')
    const other = await server.scim('POST', '/Users', { userName: 'clash3', externalId: 'x-1' }, { token })
    assert.equal(other.status, 201)
    assert.deepEqual(await find('externalId eq "x-1"'), ['clash'])
    const seen = await server.scim('GET', `/Users/${other.body.id}`)
    assert.equal(seen.body.externalId, undefined, 'a client sees all users, and its own names only')
  })

  test('PUT replaces what it can write, and leaves active as it is where the body lacks it', async () => {
    const id = await server.user('put-me', { displayName: 'Before', externalId: 'p-1', active: false })
    const put = await server.scim('PUT', `/Users/${id}`, { schemas: [USER], userName: 'put-me', locale: 'de' })
    assert.equal(put.status, 200)
    assert.partialDeepStrictEqual(put.body, { userName: 'put-me', locale: 'de', active: false })
    assert.equal(put.body.displayName, undefined)
    assert.equal(put.body.externalId, undefined)
    const bare = await server.scim('PUT', `/Users/${id}`, { schemas: [USER], displayName: 'No name' })
    assert.deepEqual([bare.status, bare.body.scimType], [400, 'invalidValue'])
  })

  test('If-Match with another version is 412, If-None-Match with this one 304', async () => {
    const id = await server.user('tagged')
    const tag = (await server.scim('GET', `/Users/${id}`)).headers.get('etag') ?? ''
    assert.match(tag, /^W\/"/)
    assert.equal(
      (await server.scim('GET', `/Users/${id}`, undefined, { headers: { 'if-none-match': tag } })).status,
      304,
    )
    const body = { Operations: [{ op: 'replace', path: 'displayName', value: 'One' }] }
    const first = await server.scim('PATCH', `/Users/${id}`, body, { headers: { 'if-match': tag } })
    assert.equal(first.status, 200)
    assert.notEqual(first.headers.get('etag'), tag)
    const second = await server.scim('PATCH', `/Users/${id}`, body, { headers: { 'if-match': tag } })
    assert.deepEqual([second.status, second.body.schemas], [412, ['urn:ietf:params:scim:api:messages:2.0:Error']])
    assert.equal((await server.scim('DELETE', `/Users/${id}`, undefined, { headers: { 'if-match': tag } })).status, 412)
    assert.equal((await server.scim('DELETE', `/Users/${id}`)).status, 204)
    assert.equal((await server.scim('GET', `/Users/${id}`)).status, 404)
  })

  test('PATCH: add, replace, remove; unknown paths are invalidPath, read-only ones mutability', async () => {
    const id = await server.user('patched', {
      name: { givenName: 'A', familyName: 'B' },
      [ENTERPRISE]: { department: 'FX' },
    })
    const path = `/Users/${id}`
    const changed = await server.patch(
      path,
      { op: 'replace', path: 'name.givenName', value: 'Ada' },
      { op: 'remove', path: 'name.familyName' },
      { op: 'add', path: `${ENTERPRISE}:department`, value: ['Rates', 'FX'] },
      { op: 'add', value: { displayName: 'Ada B', emails: [{ value: 'ada@example.com', type: 'work' }] } },
    )
    assert.partialDeepStrictEqual(changed.body, {
      name: { givenName: 'Ada' },
      displayName: 'Ada B',
      [ENTERPRISE]: { department: ['FX', 'Rates'] },
    })
    assert.equal(changed.body.name.familyName, undefined)
    const types = [
      [{ op: 'replace', path: 'favourite', value: 1 }, 'invalidPath'],
      [{ op: 'replace', value: { favourite: 1 } }, 'invalidPath'],
      [{ op: 'replace', path: 'name[', value: 1 }, 'invalidPath'],
      [{ op: 'replace', path: 'id', value: 'usr_x' }, 'mutability'],
      [{ op: 'add', path: 'groups', value: [{ value: 'grp_x' }] }, 'mutability'],
      [{ op: 'remove', path: 'userName' }, 'mutability'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'move', path: 'displayName', value: 'x' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'displayName', value: 7 }, 'invalidValue'],
      [{ op: 'replace', path: 'timezone', value: 'Mars/Olympus' }, 'invalidValue'],
      [{ op: 'replace', path: 'emails[value eq "nobody@example.com"].value', value: 'x@example.com' }, 'noTarget'],
      [{ op: 'replace', path: 'urn:example:scim:1.0:User:level', value: 'high' }, 'invalidValue'],
    ] as const
    for (const [operation, type] of types) {
      const reply = await server.patch(path, { op: 'replace', path: 'displayName', value: 'Lost' }, operation)
      assert.deepEqual([reply.status, reply.body.scimType], [400, type], JSON.stringify(operation))
    }
    assert.equal((await server.scim('GET', path)).body.displayName, 'Ada B', 'a refused PATCH changes nothing')
  })

  test('active false ends tokens, streams and live queries within a second, and active true lets them sign in again', async () => {
    const { access_token: admin } = await signIn(server, ADMIN)
    const json = { ...bearer(admin).headers, 'content-type': 'application/json' }
    const made = await fetch(`${server.url}/admin/users`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ username: 'leaver', password: 'correct horse battery', roles: ['trader'] }),
    })
    const { id } = (await made.json()) as { id: string }
    const user = { username: 'leaver', password: 'correct horse battery' }
    const { access_token: token } = await signIn(server, user)
    assert.equal((await fetch(`${server.url}/connect/userinfo`, bearer(token))).status, 200)
    const stream = await connect(server.port, bearer(token))
    const live = await openEvents(`${server.url}/query`, {
      token,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'select count(*) as n from trades',
    })
    assert.equal((await live.next()).event.length > 0, true)
    const at = performance.now()
    assert.equal((await server.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' })).status, 200)
    await Promise.all([stream.closed, live.ended()])
    await until(
      'the token is revoked',
      1000,
      async () => (await fetch(`${server.url}/connect/userinfo`, bearer(token))).status === 401,
    )
    assert.ok(performance.now() - at < 1000)
    await server.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' })
    assert.ok((await signIn(server, user)).access_token)
  })

  test('filters: every operator, and, or, not, brackets, and values that are parameters', async () => {
    for (const [userName, others] of [
      ['f-anna', { name: { familyName: 'Ångström' }, emails: [{ value: 'Anna@Filter.example', type: 'work' }] }],
      ['f-bob', { name: { familyName: "O'Neil; drop" }, active: false, externalId: 'F-2' }],
      ['f-carol', { displayName: 'Carol "C" 100%_', 'urn:example:scim:1.0:User': { level: 7 } }],
    ] as const)
      await server.user(userName, others)
    const mine = (filter: string) => find(`userName sw "f-" and (${filter})`)
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ['userName eq "F-ANNA"', ['f-anna']],
      ['userName ne "f-anna"', ['f-bob', 'f-carol']],
      ['userName co "ARO"', ['f-carol']],
      ['userName ew "bob"', ['f-bob']],
      ['userName gt "f-anna" and userName lt "f-carol"', ['f-bob']],
      ['userName ge "f-bob"', ['f-bob', 'f-carol']],
      ['userName le "f-bob"', ['f-anna', 'f-bob']],
      ['name.familyName eq "ÅNGSTRÖM"', ['f-anna']],
      [`name.familyName eq "o'neil; drop"`, ['f-bob']],
      ['displayName co "100%_"', ['f-carol']],
      ['displayName eq "carol \\"c\\" 100%_"', ['f-carol']],
      ['emails.value eq "anna@filter.example"', ['f-anna']],
      ['emails[type eq "work" and value co "@filter."]', ['f-anna']],
      ['emails[type eq "work"].value sw "anna"', ['f-anna']],
      ['emails[type eq "home"]', []],
      ['active eq false', ['f-bob']],
      ['not (active eq false) and not (emails pr)', ['f-carol']],
      ['externalId eq "F-2"', ['f-bob']],
      ['externalId eq "f-2"', []],
      ['externalId pr or emails pr', ['f-anna', 'f-bob']],
      ['urn:example:scim:1.0:User:level gt 6', ['f-carol']],
      ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "f-bob"', ['f-bob']],
      ['meta.created gt "2020-01-01T00:00:00Z"', ['f-anna', 'f-bob', 'f-carol']],
      ['title eq "none has one"', []],
      ['USERNAME EQ "f-bob" OR username Eq "f-anna"', ['f-anna', 'f-bob']],
    ]
    for (const [filter, expected] of cases) assert.deepEqual((await mine(filter)).sort(), expected, filter)
    const wrong = [
      'userName',
      'userName eq',
      'userName eq f',
      'userName xx "a"',
      '(userName pr',
      'userName pr)',
      'active gt true',
      'secret eq "x"',
      'userName eq "a\\u0000"',
      `userName eq "${'x'.repeat(2100)}"`,
      `${'('.repeat(9)}userName pr${')'.repeat(9)}`,
    ]
    for (const filter of wrong) assert.equal(await refused(filter), 'invalidFilter', filter)
    assert.deepEqual(await mine(`${'('.repeat(7)}userName eq "f-bob"${')'.repeat(7)}`), ['f-bob'])
  })

  test('pages by startIndex and by cursor have everybody once; a cursor of another filter is invalidCursor', async () => {
    for (let number = 0; number < 7; number++) await server.user(`page-${number}`, { displayName: 'Paged' })
    for (const filter of ['userName sw "page-"', 'displayName eq "paged"']) {
      const query = `/Users?filter=${encodeURIComponent(filter)}&attributes=userName`
      const byIndex: string[] = []
      for (const start of [1, 4, 7]) {
        const { body } = await server.scim('GET', `${query}&startIndex=${start}&count=3`)
        assert.partialDeepStrictEqual(body, { totalResults: 7, startIndex: start, itemsPerPage: start === 7 ? 1 : 3 })
        byIndex.push(...body.Resources.map(({ id }: { id: string }) => id))
      }
      const byCursor: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const { body } = await server.scim('GET', `${query}&cursor=${cursor}&count=3`)
        assert.equal(body.totalResults, 7)
        byCursor.push(...body.Resources.map(({ id }: { id: string }) => id))
        cursor = body.nextCursor
      }
      assert.deepEqual([byIndex.length, new Set(byIndex).size, byCursor], [7, 7, byIndex])
      const { body } = await server.scim('GET', `${query}&cursor=&count=2`)
      const elsewhere = await server.scim('GET', `/Users?cursor=${body.nextCursor}`)
      assert.deepEqual([elsewhere.status, elsewhere.body.scimType], [400, 'invalidCursor'])
    }
    const none = await server.scim('GET', '/Users?count=0')
    assert.deepEqual([none.body.Resources, none.body.totalResults > 7], [[], true])
    const most = await server.scim('POST', '/Users/.search', {
      filter: 'userName sw "page-"',
      count: 1000,
      attributes: ['userName'],
    })
    assert.deepEqual(Object.keys(most.body.Resources[0]).sort(), ['id', 'schemas', 'userName'])
    const without = await server.scim('GET', '/Users?count=1&excludedAttributes=meta,userName')
    assert.equal(without.body.Resources[0].meta ?? without.body.Resources[0].userName, undefined)
  })

  test('userName and e-mail of an Identity/Admin holder, and break-glass users, are not changed', async () => {
    const [admin] = (await server.scim('GET', '/Users?filter=userName%20eq%20%22admin%22')).body.Resources
    for (const operation of [
      { op: 'replace', path: 'userName', value: 'mine-now' },
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'mine@example.com' },
    ])
      assert.equal((await server.patch(`/Users/${admin.id}`, operation)).status, 403)
    assert.equal(
      (await server.patch(`/Users/${admin.id}`, { op: 'replace', path: 'displayName', value: 'Ad Min' })).status,
      200,
    )
    const [rescue] = (await server.scim('GET', '/Users?filter=userName%20eq%20%22rescue%22')).body.Resources
    assert.equal(
      (await server.patch(`/Users/${rescue.id}`, { op: 'replace', path: 'active', value: false })).status,
      403,
    )
    assert.equal((await server.scim('DELETE', `/Users/${rescue.id}`)).status, 403)
    assert.equal(
      (await server.patch(`/Users/${rescue.id}`, { op: 'replace', path: 'active', value: true })).status,
      200,
    )
  })

  test('another address is not verified, and a rename keeps the id', async () => {
    const { access_token: admin } = await signIn(server, ADMIN)
    const made = await fetch(`${server.url}/admin/users`, {
      method: 'POST',
      headers: { ...bearer(admin).headers, 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'mover', email: 'old@example.com', email_verified: true, nickname: 'mo' }),
    })
    const { id } = (await made.json()) as { id: string }
    const changed = await server.patch(`/Users/${id}`, {
      op: 'replace',
      value: { userName: 'moved', 'emails[type eq "work"].value': 'new@example.com' },
    })
    assert.deepEqual([changed.status, changed.body.id, changed.body.userName], [200, id, 'moved'])
    const stored = (await (await fetch(`${server.url}/admin/users/${id}`, bearer(admin))).json()) as Record<
      string,
      unknown
    >
    assert.deepEqual([stored.email, stored.email_verified, stored.nickname], ['new@example.com', undefined, 'mo'])
  })
}
