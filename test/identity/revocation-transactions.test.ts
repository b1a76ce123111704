/** A change that takes rights away is committed together with the event that notifies every node, or not at all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { addOperator, startGate, type TestGate, type TokenAnswer } from '../support/identity.ts'
import { refuseEvents } from '../support/refused-events.ts'

interface Prepared {
  /** The call that takes rights away. */
  readonly call: () => Promise<number>
  /** What the call changes. */
  readonly state: () => Promise<unknown>
}

onEveryEngine('revocations and their events', (place) => {
  let gate: TestGate
  let operator: string
  before(async () => {
    gate = await startGate(place())
    await addOperator(gate)
    operator = (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
  })
  after(() => gate.stop())

  async function administer(method: string, path: string, body?: object): Promise<number> {
    const response = await fetch(`${gate.server.issuer}/admin/${path}`, {
      method,
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json', 'if-match': '*' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    await response.arrayBuffer()
    return response.status
  }

  let count = 0
  async function person() {
    const username = `person-${++count}`
    const { users } = gate.stores
    const { passwordHash } = (await users.findById(gate.aliceId)) ?? {}
    const id = await users.create({ username, passwordHash, roles: ['trader'] })
    return { id, username, tokens: await gate.signIn({ username, scope: 'openid offline_access Platform/News' }) }
  }

  async function client() {
    const id = `client-${++count}`
    const metadata = {
      client_id: id,
      token_endpoint_auth_method: 'none',
      grant_types: ['password'],
      scope: 'Platform/News Platform/Market',
    } as const
    await gate.stores.clients.put(metadata)
    return { id, tokens: await gate.signIn({ client_id: id, scope: 'Platform/News Platform/Market' }) }
  }

  async function findGrant({ refresh_token }: TokenAnswer) {
    return (await gate.stores.refreshTokens.find(refresh_token))?.grant
  }

  const ofUser = (method: string, path: string, body?: object) => async (): Promise<Prepared> => {
    const { id, tokens } = await person()
    return {
      call: () => administer(method, `users/${id}${path}`, body),
      state: async () => [await gate.stores.users.findById(id), await findGrant(tokens)],
    }
  }
  const ofClient = (method: string, body?: object) => async (): Promise<Prepared> => {
    const { id } = await client()
    return { call: () => administer(method, `clients/${id}`, body), state: () => gate.stores.clients.metadata(id) }
  }

  const CHANGES: readonly [name: string, prepare: () => Promise<Prepared>][] = [
    ['disabling a user', ofUser('PATCH', '', { disabled: true })],
    ['deleting a user', ofUser('DELETE', '')],
    ['setting a password', ofUser('PUT', '/password', { password: 'another long password' })],
    ['changing the roles of a user', ofUser('PATCH', '', { roles: [] })],
    ['signing a user out everywhere', ofUser('DELETE', '/sessions')],
    ['ending the access of a client for a user', ofUser('DELETE', '/consents/cli')],
    ['disabling a client', ofClient('PATCH', { disabled: true })],
    ['deleting a client', ofClient('DELETE')],
    ['reducing the scopes of a client', ofClient('PATCH', { scope: 'Platform/News' })],
    [
      'ending a session',
      async () => {
        const { id } = await person()
        const proof = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }
        await gate.stores.sessions.open(id, proof)
        const [session] = await gate.stores.sessions.listOfUser(id)
        return {
          call: () => administer('DELETE', `users/${id}/sessions/${session?.id}`),
          state: () => gate.stores.sessions.listOfUser(id),
        }
      },
    ],
    [
      'revoking a refresh token',
      async () => {
        const { tokens } = await person()
        const form = { client_id: 'cli', token: tokens.refresh_token }
        return {
          call: async () => (await gate.post('/connect/revocation', form)).status,
          state: async () => (await findGrant(tokens))?.revokedAt,
        }
      },
    ],
  ]
  for (const [name, prepare] of CHANGES) {
    test(`${name}: without the event, no change; then both`, async () => {
      const { call, state } = await prepare()
      const before = await state()
      const allow = await refuseEvents(gate.database)
      try {
        assert.equal(await call(), 500)
        assert.deepEqual(await state(), before)
      } finally {
        await allow()
      }
      assert.ok((await call()) < 300)
      assert.notDeepEqual(await state(), before)
    })
  }

  test('tokens issued between the change and its commit are revoked, and those issued after it are valid', async () => {
    const { id, username } = await person()
    const before = Date.now()
    assert.equal(await administer('DELETE', `users/${id}/sessions`), 200)
    const events = await gate.stores.events.unexpired(['subject-cut'])
    const cuts = events.filter((event) => event.kind === 'subject-cut' && event.subject === id)
    // The first is part of the transaction, the second later than its commit.
    assert.equal(cuts.length, 2)
    assert.ok(cuts.every((event) => 'at' in event && event.at >= before))
    const { access_token } = await gate.signIn({ username, scope: 'openid' })
    assert.equal((await gate.userinfo(access_token)).status, 200)
  })
})
