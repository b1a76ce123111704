/** Attributes on two nodes of one database: declared in a file, changed on one node, felt by live statements on the other. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { post } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { type EventClient, openEvents } from '../support/event-client.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const PASSWORD = 'wonderland-1'
const SECRET = 'a-secret-that-is-long-enough'
const FILE = {
  attributes: [
    { name: 'desk', type: 'Text', many: true, claim: 'desk', scope: 'profile' },
    { name: 'level', type: 'Integer' },
  ],
  roles: [
    { name: 'trader', scopes: ['Platform/Market'] },
    { name: 'operator', scopes: ['Identity/Admin', 'Platform/Admin', 'Platform/Market'] },
  ],
  users: [
    { username: 'alice', password: PASSWORD, roles: ['trader'], attributes: { desk: ['FX'], level: [2] } },
    { username: 'olivia', password: PASSWORD, roles: ['operator'], attributes: { desk: ['FX', 'Rates'], level: 9 } },
  ],
  clients: [
    {
      client_id: 'cli',
      token_endpoint_auth_method: 'none',
      grant_types: ['password'],
      scope: 'openid profile Identity/Admin Platform/Admin Platform/Market',
    },
    {
      client_id: 'robot',
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      scope: 'Platform/Market',
      attributes: { desk: ['FX'], level: [1] },
    },
  ],
  tables: [
    {
      name: 'positions',
      columns: [
        { name: 'id', type: 'Integer', primary_key: true },
        { name: 'desk', type: 'Text' },
        { name: 'level', type: 'Integer' },
      ],
      read_scope: 'Platform/Market',
      write_scope: 'Platform/Market',
      row_filter: 'desk = :attribute.desk AND level <= :attribute.level',
    },
  ],
}

describe('attributes on two nodes', () => {
  let leave: () => Promise<void>
  let folder: string
  let a: TestServer
  let b: TestServer
  let config: string
  const open: { close(): void }[] = []
  const tokens = new Map<string, string>()
  before(async () => {
    const opened = await openPlace('postgres')
    leave = opened.leave
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    config = join(folder, 'declared.json')
    await writeFile(config, JSON.stringify(FILE))
    const masterKey = randomBytes(32).toString('base64')
    const flags = { '--master-key': masterKey, '--issuer': 'http://localhost:5998' }
    a = await startTestServer(opened.place, { flags: { ...flags, '--config': config } })
    b = await startTestServer({ ...opened.place, dataFolder: join(folder, 'data') }, { flags })
    for (const username of ['alice', 'olivia']) {
      const form = { grant_type: 'password', client_id: 'cli', username, password: PASSWORD }
      tokens.set(username, await requestToken(form))
    }
    const credentials = { grant_type: 'client_credentials', client_id: 'robot', client_secret: SECRET }
    tokens.set('robot', await requestToken(credentials))
    await query(a, 'olivia', "INSERT INTO positions VALUES (1, 'FX', 1), (2, 'FX', 5), (3, 'Rates', 1)")
  })
  after(async () => {
    for (const client of open) client.close()
    await Promise.all([a.stop(), b.stop()])
    await rm(folder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  const requestToken = async (form: Record<string, string>): Promise<string> => {
    const reply = await post(a, '/connect/token', form)
    const text = await reply.text()
    assert.equal(reply.status, 200, text)
    return JSON.parse(text).access_token
  }
  const call = async (node: TestServer, as: string, method: string, path: string, type = '', body?: string) => {
    const reply = await fetch(`http://127.0.0.1:${node.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens.get(as)}`,
        'if-match': '*',
        ...(type !== '' && { 'content-type': type }),
      },
      ...(body !== undefined && { body }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  }
  const query = async (node: TestServer, as: string, statement: string): Promise<unknown[]> => {
    const { status, body } = await call(node, as, 'POST', '/query', 'text/plain', statement)
    assert.equal(status, 200, JSON.stringify(body))
    return body.Rows
  }
  const change = async (path: string, patch: object): Promise<void> => {
    const type = 'application/merge-patch+json'
    const { status, body } = await call(a, 'olivia', 'PATCH', path, type, JSON.stringify(patch))
    assert.equal(status, 200, JSON.stringify(body))
  }
  const follow = async (node: TestServer, as: string): Promise<EventClient> => {
    const request = { token: tokens.get(as) ?? '', headers: { 'content-type': 'text/plain' } }
    const client = await openEvents(`http://127.0.0.1:${node.port}/query`, {
      ...request,
      body: 'SELECT id FROM positions',
    })
    assert.equal(client.status, 200)
    open.push(client)
    return client
  }
  /** Until a message of the kind; those before it are about the time that has passed. */
  const next = async (client: EventClient, kind: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const message = (await client.next()).data
      if (message.Kind === kind) return message
    }
  }
  const readRows = (message: Record<string, unknown>) =>
    (message.Put as { Key: number[] }[]).flatMap(({ Key }) => Key).sort()

  test('the file declares attributes, their values and the filters that use them; the values count on every node', async () => {
    for (const node of [a, b]) {
      assert.deepEqual(await query(node, 'alice', 'SELECT id FROM positions'), [{ id: 1 }])
      assert.deepEqual(await query(node, 'robot', 'SELECT id FROM positions'), [{ id: 1 }])
      const all = await query(node, 'olivia', 'SELECT id FROM positions ORDER BY id')
      assert.deepEqual(all, [{ id: 1 }, { id: 2 }, { id: 3 }])
    }
    const { body } = await call(b, 'olivia', 'GET', '/admin/declaration', 'application/json')
    assert.deepEqual(body.declaration.attributes, FILE.attributes)
    assert.deepEqual(body.declaration.users[0].attributes, { desk: ['FX'], level: [2] })
  })

  test('a change on one node resets the live statement on the other within a second, although the token stays the same', async (t) => {
    for (const [as, path] of [
      ['alice', '/admin/users/alice'],
      ['robot', '/admin/clients/robot'],
    ] as const) {
      const client = await follow(b, as)
      assert.deepEqual(readRows(await next(client, 'Snapshot')), [1])
      for (const [attributes, rows] of [
        [{ level: [5] }, [1, 2]],
        [{ desk: ['Rates'] }, [3]],
        [{ desk: null }, []],
        [{ desk: ['FX'] }, [1, 2]],
      ] as const) {
        const started = performance.now()
        await change(path, { attributes })
        const reset = await next(client, 'Reset')
        const milliseconds = performance.now() - started
        t.diagnostic(
          `${as} ${JSON.stringify(attributes)}: Reset on the other node after ${Math.round(milliseconds)} ms`,
        )
        assert.equal(reset.Reason, 'Rights')
        assert.ok(milliseconds < 1000, `${milliseconds} ms`)
        assert.deepEqual(readRows(await next(client, 'Snapshot')), rows)
      }
      client.close()
    }
  })

  test('the rights of a user show the filter with the values', async () => {
    const { body } = await call(b, 'olivia', 'GET', '/admin/users/alice/rights?prefix=positions')
    assert.equal(body.tables.items[0].rowfilter, "desk IN ('FX') AND level <= 5")
  })

  test('an attribute that a filter uses is removed on no node', async () => {
    for (const node of [a, b]) {
      const refused = await call(node, 'olivia', 'DELETE', '/admin/attributes/desk')
      assert.equal(refused.status, 409)
      assert.match(refused.body.detail, /the row filter of positions, the client robot/)
    }
  })

  test('a table with a filter over a new attribute can be created at once', async () => {
    const body = JSON.stringify({ name: 'region', type: 'Text' })
    assert.equal((await call(b, 'olivia', 'POST', '/admin/attributes', 'application/json', body)).status, 201)
    await query(
      b,
      'olivia',
      'CREATE TABLE regions (id Integer PRIMARY KEY, region Text) ROW FILTER (region = :attribute.region)',
    )
    const { status } = await call(b, 'olivia', 'DELETE', '/admin/attributes/region')
    assert.equal(status, 409)
  })
})
