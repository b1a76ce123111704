/** All password hashing shares one bounded queue: new passwords of users and administrators, and password checks. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { addOperator, PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

describe('the hashing queue', () => {
  let gate: TestGate
  let leave: () => Promise<void>
  let operator: string
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    gate = await startGate(opened.place)
    await addOperator(gate)
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

  test('when the queue is full, the admin API and the account page answer 503', async () => {
    const agent = createUserAgent({ home: gate.server.issuer })
    const page = await agent.get('/account/password')
    assert.ok(page.kind === 'page')
    const shown = await signIn(agent, page, { username: 'alice', password: PASSWORD })
    assert.ok(shown.kind === 'page')
    const form = shown.forms.find(({ action }) => action.pathname === '/account/password')
    assert.ok(form !== undefined)

    // Refused callers retry at once, so that the queue stays full until the page has answered.
    const answers: Response[] = []
    let isOver = false
    let reportFull = (): void => {}
    const full = new Promise<void>((resolve) => {
      reportFull = resolve
    })
    const keepCreating = async (_nothing: undefined, caller: number): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        const made = await create(`many-${caller}-${count}`)
        answers.push(made)
        if (made.status === 503) reportFull()
      }
    }
    const load = Promise.all(Array.from<undefined>({ length: 80 }).map(keepCreating))
    await full
    const change = { current_password: PASSWORD, new_password: 'another long password' }
    const busy = await agent.submit(form, change)
    isOver = true
    await load
    assert.ok(busy.kind === 'page' && busy.status === 503, 'the password change did not wait in the queue')
    assert.equal(busy.headers.get('retry-after'), '5')
    const refused = answers.filter(({ status }) => status === 503)
    assert.equal(answers.filter(({ status }) => status === 201).length, answers.length - refused.length)
    assert.ok(refused.length > 0 && refused.length < answers.length)
    for (const response of refused) {
      assert.equal(response.headers.get('retry-after'), '5')
      assert.partialDeepStrictEqual(await response.json(), { Code: 'admin.busy' })
    }

    assert.equal((await create('later')).status, 201)
    const changed = await agent.submit(form, change)
    assert.ok(changed.kind === 'page' && changed.status === 200)
  })
})
