/** APIs in the declarative file, custom rights on the platform, and what a start defers while older nodes run. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const RIGHTS = { resource: 'platform', scopes: [{ name: 'desk:read' }, { name: 'desk:write' }] }
const ORDERS = { resource: 'https://orders.example.com', scopes: [{ name: 'orders:write' }] }
const DECLARED = {
  apis: [RIGHTS, ORDERS],
  roles: [{ name: 'desk', scopes: ['desk:read', 'orders:write', 'Platform/Market'] }],
  clients: [
    client('reader', 'desk:read'),
    client('writer', 'desk:read desk:write'),
    client('market', 'Platform/Market'),
    client('orders', 'orders:write'),
  ],
  tables: [
    {
      name: 'positions',
      read_scope: 'desk:read',
      write_scope: 'desk:write',
      columns: [{ name: 'id', type: 'Integer', primary_key: true }],
    },
    { name: 'open', columns: [{ name: 'id', type: 'Integer', primary_key: true }] },
  ],
  feeds: [
    { name: 'Desk', read: 'desk:read', write: 'desk:write' },
    { name: 'All', write: 'desk:write' },
  ],
}

function client(id: string, scope: string) {
  return {
    client_id: id,
    client_secret: `the secret of ${id}, which is long`,
    grant_types: ['client_credentials'],
    scope,
  }
}

onEveryEngineInLongRuns('declared APIs', (place) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-apis-'))
  const file = join(folder, 'gate.json')
  let server: TestServer
  const declare = (declaration: object) => writeFileSync(file, JSON.stringify(declaration))
  const start = () => startTestServer(place(), { flags: { '--config': file } })
  const stores = async <T>(work: (all: ReturnType<typeof createStores>) => Promise<T>): Promise<T> => {
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    try {
      return await work(createStores(database, Date.now))
    } finally {
      await database.close()
    }
  }
  before(async () => {
    declare(DECLARED)
    server = await start()
  })
  after(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  const requestToken = async (id: string, form: Record<string, string> = {}) => {
    const response = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: `the secret of ${id}, which is long`,
        ...form,
      }),
    })
    const body = (await response.json()) as Record<string, string>
    assert.equal(response.status, 200, JSON.stringify(body))
    return body.access_token ?? ''
  }
  const call = async (token: string, method: string, path: string, body?: unknown) => {
    const response = await fetch(server.issuer + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return response.status
  }
  const query = (token: string, text: string) => call(token, 'POST', '/query', text)

  test('A right of one’s own opens the tables that name it, and only these', async () => {
    const [reader, writer, market] = [
      await requestToken('reader'),
      await requestToken('writer'),
      await requestToken('market'),
    ]
    assert.equal(await query(reader, 'SELECT id FROM positions'), 200)
    assert.equal(await query(reader, 'SELECT id FROM open'), 400)
    assert.equal(await query(market, 'SELECT id FROM open'), 200)
    assert.equal(await query(market, 'SELECT id FROM positions'), 400)
    assert.equal(await query(reader, 'INSERT INTO positions (id) VALUES (1)'), 403)
    assert.equal(await query(writer, 'INSERT INTO positions (id) VALUES (1)'), 200)
  })

  test('A right of one’s own opens the feeds that name it, and only these', async () => {
    const [reader, writer, market] = [
      await requestToken('reader'),
      await requestToken('writer'),
      await requestToken('market'),
    ]
    assert.equal(await call(writer, 'POST', '/feeds/Desk/A', { x: 1 }), 200)
    assert.equal(await call(reader, 'POST', '/feeds/Desk/A', { x: 1 }), 403)
    const read = (token: string, feed: string) => call(token, 'GET', `/feeds/${feed}/A`)
    assert.ok([200, 404].includes(await read(reader, 'Desk')))
    assert.equal(await read(reader, 'Desk'), await read(writer, 'Desk'))
    assert.notEqual(await read(market, 'Desk'), await read(reader, 'Desk'))
    assert.notEqual(await read(reader, 'All'), 200)
  })

  test('A second start changes nothing; a scope that is still named cannot be taken out of the file', async () => {
    await server.stop()
    const { apis, ...rest } = DECLARED
    declare({ ...rest, apis: [{ ...RIGHTS, scopes: [{ name: 'desk:read' }] }, ORDERS] })
    await assert.rejects(start(), /unknown scope "desk:write"|is not one of/)
    declare({ prune: true, apis: [ORDERS] })
    await assert.rejects(start(), /scopes that are still named cannot be removed; the role desk, the client reader/)
    declare(DECLARED)
    server = await start()
    assert.equal(
      server.log.some((line) => line.includes('declaration applied')),
      false,
    )
  })

  test('An API that a client is cannot be taken out of the file either, even if it has no scopes', async () => {
    await server.stop()
    const plain = { ...client('plain', 'Platform/Market'), api: 'urn:plain' }
    declare({ apis: [RIGHTS, ORDERS, { resource: 'urn:plain' }], clients: [plain] })
    server = await start()
    await server.stop()
    declare({ prune: true, apis: [RIGHTS, ORDERS] })
    await assert.rejects(start(), /an API that a client is cannot be removed; the client plain name it as api/)
    declare(DECLARED)
    server = await start()
  })

  test('A start defers APIs, and what names them, while a node of an older version runs; then they are applied', async () => {
    await server.stop()
    const later = { resource: 'urn:later', scopes: [{ name: 'later' }] }
    declare({
      ...DECLARED,
      apis: [...DECLARED.apis, later],
      roles: [{ name: 'late', scopes: ['later', 'Platform/News'] }],
      clients: [...DECLARED.clients, client('late', 'later Platform/News')],
    })
    const node = { id: 'old', name: `${hostname()}:${process.ppid}`, issuer: server.issuer }
    const times = { seen_at: Date.now() + 600_000, started_at: 1 }
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    await database.db
      .insertInto('nodes')
      .values({ ...node, ...times, schema_version: 1 })
      .execute()
    server = await startTestServer(place(), { flags: { '--config': file, '--issuer': node.issuer } })
    try {
      assert.ok(server.log.some((line) => line.includes('wait until all nodes are upgraded')))
      assert.equal(await stores(({ apis }) => apis.find('urn:later')), undefined)
      const role = await stores(async ({ roles }) => (await roles.list()).find(({ name }) => name === 'late'))
      assert.deepEqual(role?.scopes, ['Platform/News'])
      assert.equal((await stores(({ clients }) => clients.metadata('late')))?.scope, 'Platform/News')
      // What was there before stays.
      assert.ok(await stores(({ apis }) => apis.find('platform')))
      await database.db.deleteFrom('nodes').where('id', '=', 'old').execute()
      await until(
        'the whole file is applied',
        10_000,
        async () => (await stores(({ apis }) => apis.find('urn:later'))) !== undefined,
      )
      assert.equal((await stores(({ clients }) => clients.metadata('late')))?.scope, 'later Platform/News')
    } finally {
      await database.db.deleteFrom('nodes').where('id', '=', 'old').execute()
      await database.close()
    }
  })
})

test('discovery complete: the OpenID document says the same as that of RFC 8414', async () => {
  const { openPlace } = await import('../support/engines.ts')
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--discovery': 'complete' } })
  try {
    const read = async (path: string) => (await fetch(`${server.issuer}/.well-known/${path}`)).text()
    assert.equal(await read('openid-configuration'), await read('oauth-authorization-server'))
  } finally {
    await server.stop()
    await leave()
  }
})
