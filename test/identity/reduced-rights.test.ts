/** Reduced scopes and rights apply to issued tokens, open streams and queries on every node within a second. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { addOperator, basic, PASSWORD, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

onEveryEngineInLongRuns('reduced rights', (place) => {
  let gate: TestGate
  let other: TestServer
  let operator: string
  before(async () => {
    gate = await startGate(place())
    other = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    await addOperator(gate)
    operator = (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  const WIDE = 'openid offline_access Platform/Market Platform/News Platform/Trading'
  const NARROW = 'openid offline_access Platform/News'

  async function admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/json' }
    const tag =
      method === 'PATCH' ? ((await fetch(gate.server.issuer + path, { headers })).headers.get('etag') ?? '') : ''
    const response = await fetch(gate.server.issuer + path, {
      method,
      headers: tag === '' ? headers : { ...headers, 'if-match': tag },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

  /** Registers a client and returns the tokens that alice got through it. */
  async function register(clientId: string) {
    await admin('POST', '/admin/clients', {
      client_id: clientId,
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token'],
      response_types: [],
      scope: WIDE,
    })
    return gate.signIn({ client_id: clientId })
  }

  async function scopeAt(server: { port: number }, token: string): Promise<string | undefined> {
    const response = await fetch(`http://localhost:${server.port}/connect/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
      headers: { authorization: basic('service', SECRET) },
    })
    const { active, scope } = (await response.json()) as { active: boolean; scope?: string }
    return active ? scope?.split(' ').sort().join(' ') : undefined
  }
  const onBoth = (token: string, scope: string | undefined) =>
    until(`the token has the scope ${scope ?? '(none)'}`, 1000, async () => {
      const wanted = scope?.split(' ').sort().join(' ')
      return (await scopeAt(gate.server, token)) === wanted && (await scopeAt(other, token)) === wanted
    })

  async function watch(server: { port: number }, token: string) {
    const client = await connect(server.port, { headers: { Authorization: `Bearer ${token}` } })
    client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
    const scopes = async () => ((await client.next()).Data as { Scope: string[] }).Scope
    return { ...client, scopes, first: await scopes() }
  }

  const query = async (server: { port: number }, token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
    const body = 'SELECT name FROM cataloguetables'
    return (await fetch(`http://localhost:${server.port}/query`, { method: 'POST', headers, body })).status
  }

  test('scopes removed from a client: its tokens and open streams lose them, and its grants continue', async () => {
    const { access_token, refresh_token } = await register('desk')
    assert.equal((await gate.userinfo(access_token)).status, 200)
    const stream = await watch(other, access_token)
    assert.equal(stream.first.length, 3)
    const began = performance.now()
    await admin('PATCH', '/admin/clients/desk', { scope: NARROW })
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.News'])
    assert.ok(performance.now() - began < 1000, `the stream reacted after ${performance.now() - began} ms`)
    await onBoth(access_token, NARROW)

    const refreshed = await gate.post('/connect/token', {
      grant_type: 'refresh_token',
      refresh_token,
      client_id: 'desk',
    })
    assert.equal(refreshed.body.scope, 'offline_access openid Platform/News')
    await admin('PATCH', '/admin/clients/desk', { scope: WIDE })
    await onBoth(access_token, WIDE)
    assert.equal((await stream.scopes()).length, 3)
    stream.socket.terminate()
  })

  test('a token that lost openid gets no userinfo, and one that lost its platform scopes no query', async () => {
    const { access_token } = await register('kiosk')
    assert.deepEqual([(await gate.userinfo(access_token)).status, await query(other, access_token)], [200, 200])
    await admin('PATCH', '/admin/clients/kiosk', { scope: 'offline_access' })
    await until('userinfo is refused', 1000, async () => (await gate.userinfo(access_token)).status === 403)
    await until('queries are refused', 1000, async () => (await query(other, access_token)) === 403)
  })

  test('a changed profile is visible at once on the node that changed it, and within a second on the other', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid profile' })
    const nicknameAt = async ({ port }: { port: number }) => {
      const headers = { authorization: `Bearer ${access_token}` }
      const response = await fetch(`http://localhost:${port}/connect/userinfo`, { headers })
      return ((await response.json()) as { nickname?: string }).nickname
    }
    assert.deepEqual([await nicknameAt(gate.server), await nicknameAt(other)], [undefined, undefined])
    await admin('PATCH', '/admin/users/alice', { nickname: 'Al' })
    assert.equal(await nicknameAt(gate.server), 'Al')
    await until('the other node returns it', 1000, async () => (await nicknameAt(other)) === 'Al')
  })

  test('the limits of user and client are independent: restoring one does not restore the other', async () => {
    const { access_token } = await register('pad')
    const stream = await watch(gate.server, access_token)
    const setRoles = (roles: readonly string[]) => admin('PATCH', '/admin/users/alice', { roles })
    await admin('POST', '/admin/roles', { name: 'reader', scopes: ['Platform/News', 'Platform/Market'] })
    await admin('PATCH', '/admin/clients/pad', { scope: WIDE.replace(' Platform/Market', '') })
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.News', 'Vendor.Platform.Trading'])
    await setRoles(['reader'])
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.News'])
    await onBoth(access_token, NARROW)
    await admin('PATCH', '/admin/clients/pad', { scope: WIDE })
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.Market', 'Vendor.Platform.News'])
    await setRoles(['trader'])
    assert.equal((await stream.scopes()).length, 3)
    await onBoth(access_token, WIDE)
    stream.socket.terminate()
  })

  test('removing a role from a user, or scopes from a role, applies to tokens, streams and queries', async () => {
    const { access_token } = await register('wall')
    const stream = await watch(other, access_token)
    await admin('PATCH', '/admin/roles/trader', { scopes: ['Platform/News'] })
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.News'])
    await onBoth(access_token, NARROW)
    await admin('PATCH', '/admin/users/alice', { roles: [] })
    assert.deepEqual(await stream.scopes(), [])
    await onBoth(access_token, 'openid offline_access')
    await until('queries are refused', 1000, async () => (await query(other, access_token)) === 403)
    await admin('PATCH', '/admin/roles/trader', { scopes: ['Platform/Market', 'Platform/News', 'Platform/Trading'] })
    await admin('PATCH', '/admin/users/alice', { roles: ['trader'] })
    await onBoth(access_token, WIDE)
    stream.socket.terminate()
  })

  test('a role with thousands of holders: one event, in the same transaction; what another role gives is kept', async () => {
    const HOLDERS = 5000
    await admin('POST', '/admin/roles', { name: 'crowd', scopes: ['Platform/News', 'Platform/Market'] })
    await admin('POST', '/admin/roles', { name: 'press', scopes: ['Platform/News'] })
    const { db } = gate.database
    const ids = Array.from({ length: HOLDERS }, (_, index) => `usr_crowd_${index}`)
    for (let from = 0; from < HOLDERS; from += 500)
      await db
        .insertInto('user_roles')
        .values(ids.slice(from, from + 500).map((id) => ({ user_id: id, role: 'crowd' })))
        .execute()
    await admin('PATCH', '/admin/users/alice', { roles: ['crowd', 'press'] })
    const { access_token: both } = await register('stadium')
    const { access_token: service } = (
      await gate.post('/connect/token', {
        grant_type: 'client_credentials',
        client_id: 'service',
        client_secret: SECRET,
        scope: 'Platform/Market',
      })
    ).body as { access_token: string }
    await onBoth(both, 'openid offline_access Platform/Market Platform/News')
    const stream = await watch(other, both)
    const before = await gate.stores.events.lastSeq()

    // The change and its event are one: without the event there is no change.
    const events = (from: string, to: string) =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(db)
    await events('events', 'events_away')
    try {
      await assert.rejects(admin('PATCH', '/admin/roles/crowd', { scopes: [] }))
    } finally {
      await events('events_away', 'events')
    }
    assert.deepEqual((await admin('GET', '/admin/roles/crowd')).scopes, ['Platform/News', 'Platform/Market'])

    const began = performance.now()
    await admin('PATCH', '/admin/roles/crowd', { scopes: [] })
    assert.ok(performance.now() - began < 1000, `the change took ${performance.now() - began} ms`)
    assert.deepEqual(await stream.scopes(), ['Vendor.Platform.News'])
    await onBoth(both, NARROW)
    await onBoth(service, 'Platform/Market')
    const written = await gate.stores.events.since(before)
    assert.deepEqual(
      // The reply waits for the other nodes, which are asked by an event too.
      written.map(({ event }) => event.kind).filter((kind) => kind !== 'nodes-asked'),
      ['roles-changed'],
    )
    const later = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    try {
      assert.equal(await scopeAt(later, both), NARROW.split(' ').sort().join(' '))
    } finally {
      await later.stop()
    }

    // A role that is created now is known to the tokens that name it, and a deleted one gives nothing.
    await admin('POST', '/admin/roles', { name: 'fresh', scopes: ['Platform/Market'] })
    await admin('PATCH', '/admin/users/alice', { roles: ['fresh', 'press'] })
    const { access_token: fresh } = await gate.signIn({ client_id: 'stadium' })
    await onBoth(fresh, 'openid offline_access Platform/Market Platform/News')
    await admin('DELETE', '/admin/roles/press')
    await onBoth(fresh, 'openid offline_access Platform/Market')
    await admin('PATCH', '/admin/users/alice', { roles: ['trader'] })
    stream.socket.terminate()
  })

  test('a token issued by a node before it receives the change is reduced too, or revoked if the client was disabled', async () => {
    await register('burst')
    const issued: string[] = []
    let isOver = false
    const issue = async () => {
      while (!isOver) {
        const response = await fetch(`http://localhost:${other.port}/connect/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'password',
            client_id: 'burst',
            username: 'alice',
            password: PASSWORD,
          }),
        })
        const { access_token } = (await response.json()) as { access_token?: string }
        if (access_token !== undefined) issued.push(access_token)
      }
    }
    for (const [change, worth] of [
      [{ scope: NARROW }, NARROW],
      [{ disabled: true }, undefined],
    ] as const) {
      issued.length = 0
      isOver = false
      const issuing = issue()
      await until('tokens are issued', 10_000, () => issued.length > 0)
      await admin('PATCH', '/admin/clients/burst', change)
      await sleep(300)
      isOver = true
      await issuing
      for (const token of issued) await onBoth(token, worth)
    }
  })

  test('a client that is enabled or registered again has its scopes back at once', async () => {
    const { access_token } = await register('phoenix')
    await admin('PATCH', '/admin/clients/phoenix', { disabled: true })
    await onBoth(access_token, undefined)
    await admin('PATCH', '/admin/clients/phoenix', { disabled: false })
    await onBoth((await gate.signIn({ client_id: 'phoenix' })).access_token, WIDE)
    await onBoth(access_token, undefined)
    await admin('DELETE', '/admin/clients/phoenix')
    await onBoth((await register('phoenix')).access_token, WIDE)
  })
})
