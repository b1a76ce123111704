/** Decisions for other programs: the AuthZEN Authorization API 1.0, with the requests of the OpenID conformance suite and its fixture. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, type LicenceServer, startLicenceServer } from './licence-server.ts'

const FIXTURE = `
roles: [{ name: record-admin, scopes: [] }]
users:
  - { username: bob, roles: [record-admin] }
  - { username: carol, disabled: true }
products:
  - { name: read, covers: [{ resource: record, ids: [record-1, record-2], actions: [read] }] }
  - { name: write, covers: [{ resource: record, ids: [record-1, record-2], actions: [write], where: { status: [active] } }, { resource: record, ids: [record-1], actions: [write] }] }
  - { name: soft-delete, covers: [{ resource: record, ids: [record-1], actions: [delete], where: { action.soft: [true] } }] }
  - { name: archive, covers: [{ resource: record, ids: [record-2], actions: [write], where: { status: [archived] } }] }
  - { name: NYSE.L1, delay: 15 minutes, default: delayed, covers: [{ resource: instrument, ids: ["*.N", "NYSE/*/L1"] }] }
entitlements:
  - { product: read, user: alice, access: realtime }
  - { product: read, user: bob, access: realtime }
  - { product: write, user: alice, access: realtime }
  - { product: soft-delete, user: alice, access: realtime }
  - { product: archive, role: record-admin, access: realtime }
  - { product: read, user: carol, access: realtime }
  - { product: NYSE.L1, client: robot, access: realtime, until: 2090-01-01 }
`

onEveryEngineInLongRuns('AuthZEN', (place) => {
  let server: LicenceServer
  before(async () => {
    server = await startLicenceServer(place(), FIXTURE, { flags: { '--authzen': 'true' } })
  })
  after(() => server.stop())
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    server.send('POST', `/access/v1/${path}`, { token: server.handler, body, headers })
  const entity = (type: string, id: string, properties?: object) => ({ type, id, ...(properties && { properties }) })
  const request = (user: string, action: string | object, id: string, properties?: object) => ({
    subject: entity('user', user),
    action: typeof action === 'string' ? { name: action } : action,
    resource: entity('record', id, properties),
  })
  const decided = async (body: unknown) => (await post('evaluation', body)).body.decision

  test('§6: one decision, by the id, the properties of the resource and those of the action', async () => {
    assert.equal(await decided(request('alice', 'read', 'record-1')), true)
    assert.equal(await decided(request('alice', 'write', 'record-1')), true)
    assert.equal(await decided(request('bob', 'write', 'record-1')), false)
    assert.equal(await decided(request('alice', 'write', 'record-2', { status: 'archived' })), false)
    assert.equal(await decided(request('alice', 'write', 'record-2', { status: 'active' })), true)
    assert.equal(await decided(request('alice', 'write', 'record-2')), false)
    assert.equal(await decided(request('bob', 'write', 'record-2', { status: 'archived' })), true)
    const remove = (soft: boolean) => ({ name: 'delete', properties: { soft } })
    assert.equal(await decided(request('alice', remove(true), 'record-1')), true)
    assert.equal(await decided(request('alice', remove(false), 'record-1')), false)
    assert.equal(await decided(request('alice', 'delete', 'record-1')), false)
    assert.equal(await decided({ ...request('alice', 'read', 'record-1'), future: 1, context: { ip: '1' } }), true)
    assert.equal(await decided(request('nobody', 'read', 'record-1')), false)
    assert.equal(await decided(request('carol', 'read', 'record-1')), false)
    assert.equal(await decided({ ...request('alice', 'read', 'record-1'), resource: entity('other', 'x') }), false)
  })

  test('what the caller says of a subject does not count', async () => {
    const claimed = entity('user', 'alice', { role: 'record-admin', roles: ['record-admin'] })
    assert.equal(
      await decided({ ...request('alice', 'write', 'record-2', { status: 'archived' }), subject: claimed }),
      false,
    )
  })

  test('the context has the access with its delay, end and reason', async () => {
    const body = {
      subject: entity('user', 'alice'),
      action: { name: 'realtime' },
      resource: entity('instrument', 'IBM.N'),
    }
    const late = await post('evaluation', body)
    assert.deepEqual(late.body, {
      decision: false,
      context: { access: 'delayed', delay: 900, status: 'undeclared', reason: 'default' },
    })
    assert.equal(await decided({ ...body, action: { name: 'delayed' } }), true)
    const robot = await post('evaluation', {
      ...body,
      subject: entity('client', 'robot'),
      resource: entity('product', 'NYSE.L1'),
    })
    assert.deepEqual(robot.body, {
      decision: true,
      context: {
        access: 'realtime',
        delay: 0,
        until: '2090-01-01T00:00:00.000Z',
        status: 'undeclared',
        reason: 'client',
      },
    })
    for (const id of ['NYSE/IBM/L1', 'NYSE//L1'])
      assert.equal(await decided({ ...body, action: { name: 'delayed' }, resource: entity('instrument', id) }), true)
    for (const id of ['IBM.N2', 'NYSE/L1', 'xNYSE/a/L1', 'ibm.n', ''.padEnd(1, 'N')])
      assert.equal(
        await decided({ ...body, action: { name: 'delayed' }, resource: entity('instrument', id) }),
        false,
        id,
      )
  })

  test('§7: a batch merges defaults, keeps its order, and ends as its semantic says', async () => {
    const all = async (body: object) =>
      (await post('evaluations', body)).body.evaluations.map((each: { decision: boolean }) => each.decision)
    const bob = { subject: entity('user', 'bob'), resource: entity('record', 'record-1') }
    const actions = ['read', 'write', 'read'].map((name) => ({ action: { name } }))
    assert.deepEqual(await all({ ...bob, evaluations: actions }), [true, false, true])
    const ending = (evaluations_semantic: string) =>
      all({ ...bob, evaluations: actions, options: { evaluations_semantic } })
    assert.deepEqual(await ending('execute_all'), [true, false, true])
    assert.deepEqual(await ending('deny_on_first_deny'), [true, false])
    assert.deepEqual(await ending('permit_on_first_permit'), [true])
    assert.equal(
      (await post('evaluations', { ...bob, evaluations: actions, options: { evaluations_semantic: 'x' } })).status,
      400,
    )
    const faulty = await post('evaluations', { subject: bob.subject, evaluations: [{ ...bob, ...actions[0] }, {}] })
    assert.deepEqual([faulty.status, faulty.body.evaluations[0].decision], [200, true])
    assert.deepEqual(
      [faulty.body.evaluations[1].decision, faulty.body.evaluations[1].context.error.status],
      [false, 400],
    )
    const single = { ...bob, action: { name: 'read' } }
    assert.equal((await post('evaluations', single)).body.decision, true)
    assert.equal((await post('evaluations', { ...single, evaluations: [] })).body.decision, true)
    const many = { ...bob, evaluations: Array.from({ length: 1001 }, () => actions[0]) }
    assert.equal((await post('evaluations', many)).status, 400)
  })

  test('§8: searches name users, resources and actions; an absent property meets where', async () => {
    const subjects = async (body: object) =>
      (await post('search/subject', body)).body.results.map(({ id }: { id: string }) => id)
    const read = { subject: { type: 'user' }, action: { name: 'read' }, resource: entity('record', 'record-1') }
    assert.deepEqual(await subjects(read), ['alice', 'bob'])
    assert.deepEqual(await subjects({ ...read, subject: entity('user', 'zoe') }), ['alice', 'bob'])
    assert.deepEqual(await subjects({ ...read, subject: { type: 'robot' } }), [])
    const write = { ...read, action: { name: 'write' }, resource: entity('record', 'record-2') }
    assert.deepEqual(await subjects(write), ['alice', 'bob'])
    assert.deepEqual(await subjects({ ...write, resource: entity('record', 'record-2', { status: 'archived' }) }), [
      'bob',
    ])
    const clients = {
      subject: { type: 'client' },
      action: { name: 'realtime' },
      resource: entity('product', 'NYSE.L1'),
    }
    assert.deepEqual(await subjects(clients), ['robot'])
    const resources = await post('search/resource', {
      ...read,
      subject: entity('user', 'alice'),
      resource: { type: 'record' },
    })
    assert.deepEqual(resources.body.results, [entity('record', 'record-1'), entity('record', 'record-2')])
    const products = await post('search/resource', {
      subject: entity('client', 'robot'),
      action: { name: 'realtime' },
      resource: { type: 'product' },
    })
    assert.deepEqual(products.body.results, [entity('product', 'NYSE.L1')])
    const names = async (user: string, id: string, properties?: object) =>
      (
        await post('search/action', { subject: entity('user', user), resource: entity('record', id, properties) })
      ).body.results.map(({ name }: { name: string }) => name)
    assert.deepEqual((await names('bob', 'record-2', { status: 'archived' })).sort(), [
      'delayed',
      'read',
      'realtime',
      'write',
    ])
    assert.deepEqual((await names('alice', 'record-1')).sort(), ['delayed', 'delete', 'read', 'realtime', 'write'])
    assert.deepEqual(await names('nobody', 'record-1'), [])
  })

  test('§8.2: pages of a search, by their tokens', async () => {
    const body = { subject: { type: 'user' }, action: { name: 'delayed' }, resource: entity('product', 'NYSE.L1') }
    const found: string[] = []
    let token = ''
    do {
      const { body: reply } = await post('search/subject', { ...body, page: { limit: 1, ...(token && { token }) } })
      found.push(...reply.results.map(({ id }: { id: string }) => id))
      assert.ok(reply.results.length <= 1)
      token = reply.page.next_token
    } while (token !== '')
    assert.ok(found.includes('alice') && found.includes('bob') && !found.includes('carol'))
    assert.equal(new Set(found).size, found.length)
    assert.equal((await post('search/subject', { ...body, page: { token: '%' } })).status, 400)
    assert.equal((await post('search/subject', { ...body, page: { limit: 0 } })).status, 400)
  })

  test('malformed requests are 400, also with another content type; GET and PUT are not allowed', async () => {
    const good = request('alice', 'read', 'record-1')
    const bad = [
      { ...good, subject: undefined },
      { ...good, subject: 'alice' },
      { ...good, subject: { type: 'user' } },
      { ...good, subject: { id: 'alice' } },
      { ...good, action: {} },
      { ...good, action: { name: 1 } },
      { ...good, resource: { type: 'record' } },
      [good],
      '{',
      '',
      `${'['.repeat(100)}${']'.repeat(100)}`,
    ]
    for (const body of bad) {
      const { status } = await server.send('POST', '/access/v1/evaluation', {
        token: server.handler,
        body,
        headers: { 'content-type': 'application/json', 'x-request-id': 'r-1' },
      })
      assert.equal(status, 400, JSON.stringify(body))
    }
    assert.equal((await post('evaluation', good, { 'content-type': 'text/plain' })).status, 400)
    assert.equal((await post('evaluation', good, { 'content-type': 'application/json; charset=utf-8' })).status, 200)
    assert.equal((await server.send('GET', '/access/v1/evaluation', { token: server.handler })).status, 405)
    assert.equal((await server.send('PUT', '/access/v1/evaluation', { token: server.handler, body: good })).status, 405)
  })

  test('§10.1.3: X-Request-ID comes back, also with an error', async () => {
    const headers = { 'x-request-id': 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716' }
    for (const body of [request('alice', 'read', 'record-1'), {}])
      assert.equal((await post('evaluation', body, headers)).headers.get('x-request-id'), headers['x-request-id'])
  })

  test('only clients with Platform/Decisions ask, by a token or by their secret', async () => {
    const body = request('alice', 'read', 'record-1')
    const ask = async (token: string, headers = {}) =>
      (await server.send('POST', '/access/v1/evaluation', { token, body, headers })).status
    assert.equal(await ask(''), 401)
    assert.equal(await ask('forged'), 401)
    assert.equal(await ask(server.robot), 403)
    assert.equal(await ask(server.admin), 403)
    assert.equal(await ask('', { authorization: basic('handler') }), 200)
    assert.equal(await ask('', { authorization: basic('robot') }), 403)
    assert.equal(await ask('', { authorization: `Basic ${Buffer.from('handler:wrong').toString('base64')}` }), 401)
    const role = { name: 'decider', scopes: ['Platform/Decisions'] }
    assert.equal((await server.send('POST', '/admin/roles', { token: server.admin, body: role })).status, 422)
    assert.equal((await server.send('GET', '/licences', { token: server.handler })).status, 200)
    // The right opens nothing else.
    assert.equal(await ask(server.decider), 200)
    const statement = { body: 'SELECT 1', headers: { 'content-type': 'text/plain' } }
    for (const [method, path, options] of [
      ['GET', '/licences', {}],
      ['GET', '/feeds', {}],
      ['GET', '/catalogue/tables', {}],
      ['POST', '/query', statement],
    ] as const) {
      const { status } = await server.send(method, path, { token: server.decider, ...options })
      assert.ok(status === 401 || status === 403, `${path}: ${status}`)
    }
  })

  test('§9: the metadata names the endpoints', async () => {
    const { body } = await server.send('GET', '/.well-known/authzen-configuration', { token: '' })
    assert.equal(body.access_evaluation_endpoint, `${body.policy_decision_point}/access/v1/evaluation`)
    assert.deepEqual(Object.keys(body).sort(), [
      'access_evaluation_endpoint',
      'access_evaluations_endpoint',
      'policy_decision_point',
      'search_action_endpoint',
      'search_resource_endpoint',
      'search_subject_endpoint',
    ])
  })
})
