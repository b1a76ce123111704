/** Every password that the server hashes waits in one queue: new ones of administrators and people, and those that are checked. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

describe('the queue of hashes', () => {
  let gate: TestGate
  let leave: () => Promise<void>
  let operator: string
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    gate = await startGate(opened.place)
    const { stores } = gate
    await stores.roles.put({ name: 'operator', scopes: ['Identity/Admin'] })
    const passwordHash = (await stores.users.findById(gate.aliceId))?.passwordHash
    await stores.users.create({ username: 'olivia', passwordHash, roles: ['operator'] })
    await stores.clients.put({
      client_id: 'console',
      token_endpoint_auth_method: 'none',
      grant_types: ['password'],
      scope: 'Identity/Admin',
    })
    operator = (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
  })
  after(async () => {
    await gate.stop()
    await leave()
  })

  const create = (username: string) =>
    fetch(`${gate.server.issuer}/admin/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'a long enough password' }),
    })

  test('who comes when it is full is told to come again: administrators by 503, people on the page', async () => {
    const agent = createUserAgent({ home: gate.server.issuer })
    const page = await agent.get('/account/password')
    assert.ok(page.kind === 'page')
    const shown = await signIn(agent, page, { username: 'alice', password: PASSWORD })
    assert.ok(shown.kind === 'page')
    const form = shown.forms.find(({ action }) => action.pathname === '/account/password')
    assert.ok(form !== undefined)

    const storm = Array.from({ length: 120 }, (_, count) => create(`many-${count}`))
    // As soon as one was turned away the queue is full.
    await Promise.race(storm.map(async (made) => ((await made).status === 503 ? undefined : new Promise(() => {}))))
    const change = { current_password: PASSWORD, new_password: 'another long password' }
    const busy = await agent.submit(form, change)
    const answers = await Promise.all(storm)
    assert.ok(busy.kind === 'page' && busy.status === 503, 'the password was changed past the queue')
    const refused = answers.filter(({ status }) => status === 503)
    assert.equal(answers.filter(({ status }) => status === 201).length, 120 - refused.length)
    assert.ok(refused.length > 0 && refused.length < 120)
    for (const response of refused) {
      assert.equal(response.headers.get('retry-after'), '5')
      assert.partialDeepStrictEqual(await response.json(), { Code: 'admin.busy' })
    }

    assert.equal((await create('later')).status, 201)
    const changed = await agent.submit(form, change)
    assert.ok(changed.kind === 'page' && changed.status === 200)
  })
})
