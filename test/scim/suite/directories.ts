/** The requests that Microsoft Entra ID and Okta are documented to send, with data of our own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTERPRISE, GROUP, PATCH_OP, type ScimServer, USER } from '../scim-server.ts'

export function requestsOfDirectories(server: ScimServer): void {
  const filtered = (path: string, filter: string) => server.scim('GET', `${path}filter=${encodeURIComponent(filter)}`)

  test('Entra ID tests the connection with a user who does not exist: an empty list', async () => {
    const { status, body } = await filtered('/Users?', 'userName eq "b7c1e0d2-5f1e-4c1b-9a52-7e1d3b0c9f11"')
    assert.deepEqual([status, body.totalResults, body.Resources], [200, 0, []])
  })

  test('Entra ID: a user from hiring to leaving', async () => {
    const created = await server.scim('POST', '/Users', {
      schemas: [USER, ENTERPRISE],
      externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
      userName: 'Test_User_ab6490ee@desk.example',
      active: true,
      addresses: null,
      displayName: 'lennay',
      emails: [{ type: 'work', value: 'test_user_ab6490ee@desk.example', primary: true }],
      meta: { resourceType: 'User' },
      name: { formatted: 'Adrienne McNally', familyName: 'McNally', givenName: 'Adrienne' },
      phoneNumbers: null,
      preferredLanguage: null,
      roles: [],
      title: null,
      department: null,
      manager: null,
    })
    assert.equal(created.status, 201)
    const { id } = created.body
    const found = await filtered('/Users?', 'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"')
    assert.equal(found.body.Resources[0].id, id)

    const moved = await server.scim('PATCH', `/Users/${id}`, {
      schemas: [PATCH_OP],
      Operations: [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@desk.example' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
        { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Rates' },
        { op: 'Add', path: `${ENTERPRISE}:manager`, value: 'usr_manager' },
        { op: 'Replace', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
        { op: 'Add', path: 'addresses[type eq "work"].country', value: 'DE' },
      ],
    })
    assert.partialDeepStrictEqual(moved.body, {
      name: { familyName: 'updatedFamilyName', givenName: 'Adrienne' },
      emails: [{ value: 'updated@desk.example', type: 'work' }],
      [ENTERPRISE]: { department: ['Rates'], manager: { value: 'usr_manager' } },
    })
    const manager = `${ENTERPRISE}:manager`
    const other = await server.patch(`/Users/${id}`, {
      op: 'Add',
      path: manager,
      value: [{ $ref: 'x', value: 'usr_2' }],
    })
    assert.deepEqual(other.body[ENTERPRISE].manager, { value: 'usr_2' })

    const dotted = await server.scim('PATCH', `/Users/${id}`, {
      schemas: [PATCH_OP],
      Operations: [
        {
          op: 'Add',
          value: {
            'name.givenName': 'Ada',
            displayName: 'Ada M',
            'emails[type eq "work"].value': 'ada@desk.example',
            [`${ENTERPRISE}:department`]: 'FX',
            active: 'True',
          },
        },
      ],
    })
    assert.partialDeepStrictEqual(dotted.body, {
      name: { givenName: 'Ada', familyName: 'updatedFamilyName' },
      displayName: 'Ada M',
      emails: [{ value: 'ada@desk.example', type: 'work' }],
      [ENTERPRISE]: { department: ['FX', 'Rates'] },
    })

    const left = await server.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' })
    assert.equal(left.body.active, false)
    const stillThere = await filtered('/Users?', 'userName eq "Test_User_ab6490ee@desk.example"')
    assert.equal(stillThere.body.Resources[0].active, false)
    assert.equal((await server.scim('DELETE', `/Users/${id}`)).status, 204)
    assert.equal((await server.scim('GET', `/Users/${id}`)).status, 404)
  })

  test('Entra ID: the e-mail address is made where it is absent', async () => {
    const id = await server.user('no-address')
    const path = 'emails[type eq "work"].value'
    const added = await server.patch(`/Users/${id}`, { op: 'Add', path, value: 'made@desk.example' })
    assert.deepEqual(added.body.emails, [{ value: 'made@desk.example', type: 'work' }])
    const removed = await server.patch(`/Users/${id}`, { op: 'Remove', path: 'emails[type eq "work"]' })
    assert.equal(removed.body.emails, undefined)
    const other = await server.patch(`/Users/${id}`, {
      op: 'Add',
      path: 'emails[type eq "other"].value',
      value: 'x@y.z',
    })
    assert.deepEqual([other.status, other.body.emails], [200, undefined])
  })

  test('Entra ID: a group and its members', async () => {
    const [a, b] = [await server.user('entra-a'), await server.user('entra-b')]
    const created = await server.scim('POST', '/Groups', {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'Entra desk',
      meta: { resourceType: 'Group' },
    })
    assert.equal(created.status, 201)
    const path = `/Groups/${created.body.id}`
    const read = await server.scim('GET', `${path}?excludedAttributes=members`)
    assert.equal(read.body.members, undefined)
    const add = await server.patch(path, {
      op: 'Add',
      path: 'members',
      value: [{ $ref: null, value: a }, { value: b }],
    })
    assert.equal(add.status, 204)
    const removed = await server.patch(path, { op: 'Remove', path: 'members', value: [{ $ref: null, value: a }] })
    assert.equal(removed.status, 204)
    const left = await server.scim('GET', path)
    assert.deepEqual(
      left.body.members.map(({ value }: { value: string }) => value),
      [b],
      'remove of members with a value removes those only',
    )
    const found = await filtered('/Groups?excludedAttributes=members&', 'displayName eq "Entra desk"')
    assert.deepEqual([found.body.totalResults, found.body.Resources[0].members], [1, undefined])
    assert.equal(
      (await server.patch(path, { op: 'Replace', path: 'displayName', value: 'Entra desk EMEA' })).status,
      204,
    )
    assert.equal((await server.scim('DELETE', path)).status, 204)
  })

  test('Okta: finds, creates, reads, replaces and deactivates a user', async () => {
    const userName = 'isaac.brock@desk.example'
    const none = await server.scim(
      'GET',
      `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}&startIndex=1&count=100`,
    )
    assert.partialDeepStrictEqual(none.body, { totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] })
    const profile = {
      schemas: [USER],
      userName,
      name: { givenName: 'Isaac', familyName: 'Brock' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      displayName: 'Isaac Brock',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    }
    const created = await server.scim('POST', '/Users', profile)
    assert.equal(created.status, 201)
    assert.equal(JSON.stringify(created.body).includes('1mz050nq'), false)
    const { id } = created.body
    const put = await server.scim('PUT', `/Users/${id}`, {
      ...profile,
      id,
      name: { givenName: 'Isaac', familyName: 'Brock', middleName: 'J' },
      meta: { resourceType: 'User' },
    })
    assert.deepEqual([put.status, put.body.name.middleName], [200, 'J'])
    const off = await server.scim('PATCH', `/Users/${id}`, {
      schemas: [PATCH_OP],
      Operations: [{ op: 'replace', value: { active: false } }],
    })
    assert.deepEqual([off.status, off.body.active], [200, false])
  })

  test('Okta: pushes a group, renames it with its id in the value, and replaces its members', async () => {
    const [a, b] = [await server.user('okta-a'), await server.user('okta-b')]
    const created = await server.scim('POST', '/Groups', {
      schemas: [GROUP],
      displayName: 'Okta desk',
      members: [{ value: a, display: 'okta-a' }],
    })
    const { id } = created.body
    const listed = await server.scim('GET', '/Groups?startIndex=1&count=100')
    assert.ok(listed.body.Resources.some((group: { id: string }) => group.id === id))
    const renamed = await server.patch(`/Groups/${id}`, { op: 'replace', value: { id, displayName: 'Okta desk 2' } })
    assert.equal(renamed.status, 204)
    await server.patch(
      `/Groups/${id}`,
      { op: 'remove', path: `members[value eq "${a}"]` },
      { op: 'add', path: 'members', value: [{ value: b, display: 'okta-b' }] },
    )
    const read = await server.scim('GET', `/Groups/${id}`)
    assert.deepEqual(
      [read.body.displayName, read.body.members.map(({ value }: { value: string }) => value)],
      ['Okta desk 2', [b]],
    )
    await server.patch(`/Groups/${id}`, { op: 'replace', path: 'members', value: [{ value: a }, { value: b }] })
    assert.equal((await server.scim('GET', `/Groups/${id}`)).body.members.length, 2)
  })

  test('discovery: the configuration, resource types and schemas say what is served', async () => {
    const config = (await server.scim('GET', '/ServiceProviderConfig')).body
    assert.partialDeepStrictEqual(config, {
      patch: { supported: true },
      bulk: { supported: false },
      filter: { supported: true, maxResults: 200 },
      changePassword: { supported: false },
      sort: { supported: false },
      etag: { supported: true },
      pagination: { cursor: true, index: true, maxPageSize: 200 },
    })
    const types = (await server.scim('GET', '/ResourceTypes')).body.Resources
    assert.deepEqual(
      types.map(({ id }: { id: string }) => id),
      ['User', 'Group'],
    )
    assert.deepEqual(types[0].schemaExtensions.map(({ schema }: { schema: string }) => schema).sort(), [
      'urn:example:scim:1.0:User',
      ENTERPRISE,
    ])
    const user = (await server.scim('GET', `/Schemas/${USER}`)).body
    const names = user.attributes.map(({ name }: { name: string }) => name).sort()
    assert.deepEqual(names, [
      'active',
      'displayName',
      'emails',
      'externalId',
      'groups',
      'locale',
      'name',
      'timezone',
      'userName',
    ])
    const extension = (await server.scim('GET', `/Schemas/${ENTERPRISE}`)).body
    assert.partialDeepStrictEqual(extension.attributes, [
      { name: 'manager', type: 'complex', subAttributes: [{ name: 'value', type: 'string' }] },
      { name: 'department', type: 'string', multiValued: true },
    ])
    for (const path of ['/Me', '/Bulk', '/.search']) assert.equal((await server.scim('POST', path, {})).status, 501)
    assert.equal((await server.scim('GET', '/Nothing')).body.status, '404')
    assert.equal((await server.scim('GET', '/Schemas?filter=id%20pr')).status, 403)
  })
}
