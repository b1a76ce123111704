/**
 * The test plans of the OpenID conformance suite for AuthZEN 1.0 (evaluation, evaluations, subject, resource and action search; with
 * properties, discovery and an API key), as requests and what each must be answered with. The fixture is one declared file.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onSqlite } from '../support/engines.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const FIXTURE = `
roles: [{ name: record-admin, scopes: [] }]
users: [{ username: bob, roles: [record-admin] }]
products:
  - { name: read, covers: [{ resource: record, ids: [record-1, record-2], actions: [read] }] }
  - { name: write, covers: [{ resource: record, ids: [record-1, record-2], actions: [write], where: { status: [active] } }, { resource: record, ids: [record-1], actions: [write] }] }
  - { name: soft-delete, covers: [{ resource: record, ids: [record-1], actions: [delete], where: { action.soft: [true] } }] }
  - { name: archive, covers: [{ resource: record, ids: [record-2], actions: [write], where: { status: [archived] } }] }
entitlements:
  - { product: read, user: alice, access: realtime }
  - { product: read, user: bob, access: realtime }
  - { product: write, user: alice, access: realtime }
  - { product: soft-delete, user: alice, access: realtime }
  - { product: archive, role: record-admin, access: realtime }
`

type Body = Readonly<Record<string, unknown>>

const entity = (type: string, id: string, properties?: Body): Body => ({ type, id, ...(properties && { properties }) })
const alice = entity('user', 'alice')
const bob = entity('user', 'bob')
const admin = entity('user', 'bob', { role: 'admin' })
const first = entity('record', 'record-1')
const archived = entity('record', 'record-2', { status: 'archived' })
const read = { name: 'read' }
const write = { name: 'write' }
const remove = (soft: boolean): Body => ({ name: 'delete', properties: { soft } })

/** Of each endpoint a request that is answered. */
const VALID: Readonly<Record<string, Body>> = {
  evaluation: { subject: alice, action: read, resource: first },
  evaluations: { subject: bob, resource: first, evaluations: [{ action: read }, { action: write }] },
  'search/subject': { subject: { type: 'user' }, action: read, resource: first },
  'search/resource': { subject: alice, action: read, resource: { type: 'record' } },
  'search/action': { subject: alice, resource: first },
}

const DECISIONS: readonly (readonly [body: Body, decision: boolean])[] = [
  [{ subject: alice, action: read, resource: first }, true],
  [{ subject: bob, action: write, resource: first }, false],
  [{ subject: alice, action: read, resource: first, context: { time: '2026-01-01T00:00:00Z' } }, true],
  [{ subject: entity('user', 'alice', { department: 'x' }), action: read, resource: first }, true],
  [{ subject: alice, action: write, resource: archived }, false],
  [{ subject: admin, action: write, resource: archived }, true],
  [{ subject: alice, action: remove(true), resource: first }, true],
  [{ subject: alice, action: remove(false), resource: first }, false],
  [
    { subject: { ...alice, customAttr: 1 }, action: { ...read, customAttr: 1 }, resource: { ...first, customAttr: 1 } },
    true,
  ],
]

const BATCHES: readonly (readonly [body: Body, decisions: readonly boolean[]])[] = [
  [VALID.evaluations ?? {}, [true, false]],
  [
    {
      evaluations: [
        { subject: alice, action: read, resource: first },
        { subject: bob, action: write, resource: first },
      ],
    },
    [true, false],
  ],
  [
    {
      subject: alice,
      action: read,
      context: { a: 1 },
      evaluations: [{ resource: first }, { resource: first, context: {} }],
    },
    [true, true],
  ],
  [{ subject: alice, action: read, evaluations: [{ resource: first }, {}] }, [true, false]],
  [{ action: read, evaluations: [{ resource: first }] }, [false]],
  [
    {
      subject: alice,
      action: write,
      resource: { type: 'record' },
      evaluations: [{ resource: entity('record', 'record-1', { status: 'active' }) }, { resource: archived }],
    },
    [true, false],
  ],
  [{ subject: alice, action: write, resource: archived, evaluations: [{}, { subject: admin }] }, [false, true]],
  [
    {
      subject: alice,
      action: read,
      resource: first,
      evaluations: [{ action: write }, { subject: bob, action: write }],
    },
    [true, false],
  ],
]

const MISSING: Readonly<Record<string, readonly string[]>> = {
  evaluation: [
    'subject',
    'action',
    'resource',
    'subject.type',
    'subject.id',
    'action.name',
    'resource.type',
    'resource.id',
  ],
  'search/subject': ['subject', 'action', 'resource', 'subject.type', 'action.name', 'resource.type', 'resource.id'],
  'search/resource': ['subject', 'action', 'resource', 'subject.type', 'subject.id', 'action.name', 'resource.type'],
  'search/action': ['subject', 'resource', 'subject.type', 'subject.id', 'resource.type', 'resource.id'],
}

onSqlite('the AuthZEN test plans of the OpenID conformance suite', (place) => {
  let server: LicenceServer
  before(async () => {
    server = await startLicenceServer(place(), FIXTURE, { flags: { '--authzen': 'true' } })
  })
  after(() => server.stop())

  const send = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}, method = 'POST') =>
    server.send(method, `/access/v1/${path}`, { token: server.decider, body, headers })
  const names = (results: readonly Body[], member: string) => results.map((result) => result[member])

  test('decisions of the fixture, by id and by properties; the same for the same request', async () => {
    for (const [body, decision] of DECISIONS)
      for (const again of [body, { ...body, foo: 'bar', futureField: {} }]) {
        const { status, body: reply } = await send('evaluation', again)
        assert.deepEqual([status, reply.decision], [200, decision], JSON.stringify(again))
      }
  })

  test('batches: defaults, overrides, errors of one, semantics', async () => {
    for (const [body, decisions] of BATCHES) {
      const { status, body: reply } = await send('evaluations', body)
      assert.deepEqual([status, names(reply.evaluations, 'decision')], [200, decisions], JSON.stringify(body))
      assert.ok(!('decision' in reply))
    }
    const semantics = {
      subject: bob,
      resource: first,
      evaluations: [{ action: read }, { action: write }, { action: read }],
    }
    for (const [semantic, decisions] of [
      ['execute_all', [true, false, true]],
      ['deny_on_first_deny', [true, false]],
      ['permit_on_first_permit', [true]],
    ] as const) {
      const { body } = await send('evaluations', { ...semantics, options: { evaluations_semantic: semantic } })
      assert.deepEqual(names(body.evaluations, 'decision'), decisions)
    }
    const unknown = { ...semantics, options: { evaluations_semantic: 'bogus_value' } }
    assert.equal((await send('evaluations', unknown)).status, 400)
    for (const single of [VALID.evaluation, { ...VALID.evaluation, evaluations: [] }])
      assert.deepEqual((await send('evaluations', single)).body.decision, true)
  })

  test('searches have the results of the fixture; the page is the first member', async () => {
    const find = async (path: string, body: Body) => {
      const { status, body: reply } = await send(path, body)
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(reply), ['page', 'results'])
      assert.equal(reply.page.next_token, '')
      return names(reply.results, path === 'search/action' ? 'name' : 'id')
    }
    const subject = VALID['search/subject'] ?? {}
    assert.deepEqual(await find('search/subject', subject), ['alice', 'bob'])
    assert.deepEqual(await find('search/subject', { ...subject, subject: entity('user', 'ignored') }), ['alice', 'bob'])
    assert.deepEqual(await find('search/subject', { ...subject, action: write, resource: archived }), ['bob'])
    const resource = VALID['search/resource'] ?? {}
    assert.deepEqual(await find('search/resource', resource), ['record-1', 'record-2'])
    assert.deepEqual(await find('search/resource', { ...resource, resource: first }), ['record-1', 'record-2'])
    assert.deepEqual(await find('search/resource', { ...resource, subject: entity('user', 'nobody') }), [])
    const action = VALID['search/action'] ?? {}
    const actions = await find('search/action', { ...action, action: read, context: {} })
    assert.ok(['read', 'write'].every((name) => actions.includes(name)))
    assert.ok((await find('search/action', { subject: admin, resource: archived })).includes('write'))
    assert.deepEqual(await find('search/action', { ...action, resource: entity('record', 'unknown') }), [])
  })

  test('§10.1: methods, content types, malformed and missing members, X-Request-ID, of every endpoint', async () => {
    for (const [path, body] of Object.entries(VALID)) {
      const id = `req-${path.replace('/', '-')}`
      const { status, headers } = await send(path, body, { 'x-request-id': id })
      assert.deepEqual([status, headers.get('x-request-id')], [200, id], path)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      assert.equal((await send(path, body, { 'content-type': 'application/json; charset=utf-8' })).status, 200)
      assert.deepEqual((await send(path, body)).body, (await send(path, body)).body)
      for (const method of ['GET', 'PUT'])
        assert.equal((await send(path, method === 'GET' ? undefined : body, {}, method)).status, 405, path)
      for (const bad of ['[]', '{"subject":', ''])
        assert.equal((await send(path, bad, { 'content-type': 'application/json' })).status, 400, `${path} ${bad}`)
      assert.equal((await send(path, JSON.stringify(body), { 'content-type': 'text/plain' })).status, 400, path)
    }
    for (const [path, members] of Object.entries(MISSING))
      for (const member of members) {
        const body = structuredClone(VALID[path] ?? {})
        const [outer = '', inner] = member.split('.')
        if (inner === undefined) Reflect.deleteProperty(body, outer)
        else Reflect.deleteProperty(Object(body[outer]), inner)
        assert.equal((await send(path, body)).status, 400, `${path} without ${member}`)
      }
    for (const wrong of [{ subject: 'alice' }, { action: { name: 123 } }])
      assert.equal((await send('evaluation', { ...VALID.evaluation, ...wrong })).status, 400)
  })

  test('§11.3: without credentials, or with wrong ones, 401 with a challenge', async () => {
    for (const path of Object.keys(VALID))
      for (const token of ['', `${server.decider}x`]) {
        const reply = await server.send('POST', `/access/v1/${path}`, { token, body: VALID[path] })
        assert.deepEqual([reply.status, reply.headers.has('www-authenticate')], [401, true], path)
      }
  })

  test('§9.2: the metadata are of the address that they were asked from, and name endpoints below it', async () => {
    const { status, headers, body } = await server.send('GET', '/.well-known/authzen-configuration', { token: '' })
    assert.deepEqual([status, headers.get('content-type')?.split(';')[0]], [200, 'application/json'])
    assert.equal(body.policy_decision_point, server.issuer)
    for (const [name, url] of Object.entries(body))
      if (name.endsWith('_endpoint')) assert.ok(String(url).startsWith(`${server.issuer}/access/v1/`), name)
  })
})
