/** Live statements on two nodes of one database: changes, rights, resuming and operators reach the other node; a stop ends them. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ADMIN, bearer, post, signIn } from '../../support/demo-user.ts'
import { openPlace } from '../../support/engines.ts'
import { type EventClient, openEvents } from '../../support/event-client.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { connect } from '../../support/stream-client.ts'

type Message = Record<string, unknown>

const STATEMENT = 'SELECT note FROM notes'

describe('live statements on two nodes', () => {
  let leave: () => Promise<void>
  let secondFolder: string
  let admin: string
  let a: TestServer
  let b: TestServer
  const open: { close(): void }[] = []
  before(async () => {
    const opened = await openPlace('postgres')
    leave = opened.leave
    secondFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const masterKey = randomBytes(32).toString('base64')
    const flags = {
      '--demo': 'true',
      '--stream-drain-time': '0.1',
      '--master-key': masterKey,
      '--issuer': 'http://localhost:5998',
    }
    a = await startTestServer(opened.place, { flags })
    b = await startTestServer({ ...opened.place, dataFolder: secondFolder }, { flags })
    admin = (await signIn(a, ADMIN)).access_token
    for (const table of ['papers', 'notes'])
      await write(`CREATE TABLE ${table} (id Integer PRIMARY KEY, note Text) READ SCOPE 'Platform/Market'`)
  })
  after(async () => {
    for (const client of open) client.close()
    await Promise.all([a.stop(), b.stop()])
    await rm(secondFolder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  const call = async (method: string, path: string, type = '', body?: string): Promise<Message> => {
    const headers = {
      authorization: `Bearer ${admin}`,
      'if-match': '*',
      ...(type === '' ? {} : { 'content-type': type }),
    }
    const reply = await fetch(`http://127.0.0.1:${a.port}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    const text = await reply.text()
    assert.ok(reply.ok, text)
    return text === '' ? {} : JSON.parse(text)
  }
  /** All is written through the first node. */
  const write = (statement: string) => call('POST', '/query', 'text/plain', statement)
  const events = async (node: TestServer, token: string, headers = {}, body = STATEMENT): Promise<EventClient> => {
    const request = { token, headers: { 'content-type': 'text/plain', ...headers }, body }
    const client = await openEvents(`http://127.0.0.1:${node.port}/query`, request)
    assert.equal(client.status, 200)
    open.push(client)
    return client
  }
  const stream = async (node: TestServer, token: string, data = {}) => {
    const client = await connect(node.port, bearer(token))
    open.push({ close: () => client.socket.terminate() })
    const about = { Controller: 'Query', Topic: 'Live/notes' }
    client.send({ ...about, Action: 'Sub', Data: { Statement: STATEMENT, ...data } })
    const { Position: position, ...first } = (await client.next()).Data as Message
    return { client, about, position, first }
  }
  const trader = async (username: string): Promise<string> => {
    const user = { username, password: 'a long enough password' }
    await call('POST', '/admin/users', 'application/json', JSON.stringify({ ...user, roles: ['trader'] }))
    return (await signIn(a, user)).access_token
  }

  test('what one node writes, the other sends; either resumes', async () => {
    const token = (await signIn(a)).access_token
    const there = await events(b, token)
    const { id = '' } = await there.next()
    await write("INSERT INTO notes VALUES (1, 'first')")
    const change = await there.next()
    assert.deepEqual(change.data.Put, [{ Key: [1], Row: { note: 'first' } }])
    const here = await events(a, token, { 'last-event-id': id })
    const answer = await here.next()
    assert.partialDeepStrictEqual(answer.data, { Kind: 'Change', Recovered: true, Put: change.data.Put })
  })

  test('roles removed and a token revoked on one node end statements on the other', async () => {
    const token = await trader('demoted')
    const { client, about } = await stream(b, token)
    const there = await events(b, token)
    await there.next()
    await call('PATCH', '/admin/users/demoted', 'application/merge-patch+json', '{"roles":[]}')
    assert.deepEqual(await client.next(), { ...about, Action: 'Error', Data: 'Authority' })
    assert.deepEqual(await client.next(), { ...about, Action: 'Unsub', Confirm: true })
    assert.equal((await there.ended()).at(-1)?.data.Code, 'Auth.MissingScope')
    const { access_token: revoked } = await signIn(a)
    const ended = await events(b, revoked)
    await ended.next()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: revoked })
    assert.equal((await ended.ended()).at(-1)?.data.Code, 'Auth.InvalidToken')
  })

  test('statements of the other node are listed and ended', async () => {
    const token = await trader('watched')
    const { client, about } = await stream(b, token)
    const there = await events(b, token, { 'request-id': 'watched-events' })
    await there.next()
    const items = (await call('GET', '/admin/queries')).items as Message[]
    const streamed = items.find(
      ({ user, id, kind }) => kind === 'live' && id !== 'watched-events' && user === readUser(items),
    )
    await call('DELETE', '/admin/queries/watched-events')
    assert.equal((await there.ended()).at(-1)?.data.Code, 'Limit.Cancelled')
    await call('DELETE', `/admin/queries/${streamed?.id}`)
    assert.deepEqual(await client.next(), { ...about, Action: 'Error', Data: 'Operation.Abort' })
    assert.deepEqual(await client.next(), { ...about, Action: 'Unsub', Confirm: true })
  })

  function readUser(items: readonly Message[]): unknown {
    return items.find(({ id }) => id === 'watched-events')?.user
  }

  test('a stop ends the responses at once and says when to reconnect: the other node continues where they ended', async () => {
    const token = (await signIn(a)).access_token
    // Of this table no node has a result that may be older than these rows.
    await write("INSERT INTO papers VALUES (11, 'kept'), (12, 'changed'), (13, 'deleted')")
    const statements = [
      'SELECT note FROM papers',
      "SELECT id FROM papers WHERE note <> 'hidden'",
      'SELECT count(*) AS n FROM papers',
    ]
    const there = await Promise.all(statements.map((statement) => events(b, token, {}, statement)))
    const ids = await Promise.all(there.map(async (client) => (await client.next()).id ?? ''))
    const { client, position, first } = await stream(b, token, { Statement: statements[0] })
    assert.equal(first.Kind, 'Snapshot')
    const stopped = b.stop()
    for (const response of there) {
      const last = (await response.ended()).at(-1)
      assert.deepEqual([last?.event, last?.data.Code], ['end', 'Limit.Overload'])
      assert.match(last?.retry ?? '', /^\d{4}$/)
    }
    assert.equal((await client.closed).code, 1012, 'the server is stopping')
    await stopped
    await write("UPDATE papers SET note = 'hidden' WHERE id = 12")
    await write('DELETE FROM papers WHERE id = 13')
    const answers = await Promise.all(
      statements.map(async (statement, index) => {
        const here = await events(a, token, { 'last-event-id': ids[index] ?? '' }, statement)
        const { Position: _, ...data } = (await here.next()).data
        return data
      }),
    )
    const missed = { Kind: 'Change', Recovered: true, Put: [{ Key: [12], Row: { note: 'hidden' } }], Remove: [[13]] }
    assert.deepEqual((await stream(a, token, { Statement: statements[0], Resume: position })).first, missed)
    assert.deepEqual(answers, [
      missed,
      { Kind: 'Change', Recovered: true, Remove: [[12], [13]] },
      { Kind: 'Change', Recovered: true, Put: [{ Key: [], Row: { n: 2 } }] },
    ])
  })
})
