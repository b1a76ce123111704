/** A table that is dropped and created again under its name: readers of the one before see nothing of it unless they may read it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, ALICE, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

onEveryEngine('a table that is created again', (place) => {
  let server: TestServer
  let [alice, admin] = ['', '']
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--demo-market': 'false' } })
    alice = (await signIn(server, ALICE)).access_token
    admin = (await signIn(server, ADMIN)).access_token
  })
  after(() => server.stop())

  const send = (token: string, path: string, body: string, type = 'text/plain'): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body,
    })
  const run = async (statement: string): Promise<void> => {
    const reply = await send(admin, '/query', statement)
    assert.equal(reply.status, 200, await reply.text())
  }

  test('live statements and cursors of those who may not read it end', async () => {
    await run('CREATE TABLE again (id Integer PRIMARY KEY, t Text)')
    await run("INSERT INTO again (id, t) VALUES (1, 'open'), (2, 'open'), (3, 'open')")
    const read = (token: string, after = ''): Promise<Response> =>
      send(token, `/query/again/select?limit=1${after}`, '[]', 'application/json')
    const live = await openEvents(`http://127.0.0.1:${server.port}/query`, {
      token: alice,
      body: 'SELECT id, t FROM again',
      headers: { 'content-type': 'text/plain' },
    })
    assert.equal(live.status, 200)
    const page = (await (await read(alice)).json()) as { NextCursor?: string }
    assert.ok(page.NextCursor, 'there is another page')
    await run('DROP TABLE again')
    await run("CREATE TABLE again (id Integer PRIMARY KEY, t Text) READ SCOPE 'Platform/Admin'")
    await run("INSERT INTO again (id, t) VALUES (1, 'secret'), (2, 'secret'), (3, 'secret')")
    const events = await live.ended()
    assert.equal(events.at(-1)?.event, 'end')
    assert.doesNotMatch(JSON.stringify(events), /secret/)
    assert.equal((await read(alice, `&after=${page.NextCursor}`)).status, 404)
    assert.equal((await read(alice)).status, 404)
  })
})
