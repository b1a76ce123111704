/** Saved queries and boards over HTTP: owners, sharing, versions, limits, and what becomes of them when their owner is deleted. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type Board, Gatehouse, password, type SavedQuery, type Tile } from '../../packages/client/src/index.ts'
import { DEMO_DOCUMENTS } from '../../packages/server/src/declarative/demo-documents.ts'
import { type BoardBody, faultsOfNew, type QueryBody } from '../../packages/server/src/query/saved/document-schema.ts'
import { onEveryEngine, onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { CALLERS, caller, startQueryServer } from './query-server.ts'

interface Reply {
  readonly status: number
  readonly etag: string | null
  readonly body: Record<string, unknown>
}

const QUERY = { kind: 'query', name: 'Last trades', body: { statement: 'select * from trades limit 10' } }
const TILE: Tile = { title: 'Trades', statement: 'select 1 as n', view: 'table', position: { x: 0, y: 0, w: 6, h: 4 } }

/** The processes that read SQLite have a low priority: on a busy machine a query of the demonstration takes longer than its usual limit. */
const FLAGS = { '--demo': 'true', '--query-seconds': '300' }

/** The types of the client library are those of the schema: the compiler checks both directions. */
const toClient = (board: BoardBody): Board => board
const toServer = (board: Board): BoardBody => board
const queryToClient = (query: QueryBody): SavedQuery => query
const queryToServer = (query: SavedQuery): QueryBody => query
void [toServer, queryToClient, queryToServer]

onEveryEngineInLongRuns('saved documents', (place, engine) => {
  let server: TestServer
  const tokens = new Map<string, string>()

  before(async () => {
    server = await startTestServer(place(), { flags: FLAGS })
    for (const [name, password] of [
      ['alice', 'wonderland-1'],
      ['admin', 'admin-please-change'],
    ] as const)
      tokens.set(name, await requestToken(name, password))
    await admin('POST', '/admin/roles', { name: 'viewer', scopes: ['Platform/Market'] })
    for (const username of ['bob', 'carol']) {
      const roles = username === 'bob' ? ['trader'] : ['viewer']
      await admin('POST', '/admin/users', { username, password: 'a-long-password', roles })
      tokens.set(username, await requestToken(username, 'a-long-password'))
    }
  })
  after(() => server.stop())

  async function requestToken(username: string, password: string): Promise<string> {
    const form = { grant_type: 'password', username, password, client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    return String(JSON.parse(await response.text()).access_token)
  }

  async function call(
    who: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(server.issuer + path, {
      method,
      headers: {
        authorization: `Bearer ${tokens.get(who)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, etag: response.headers.get('etag'), body: text === '' ? {} : JSON.parse(text) }
  }
  const admin = (...rest: [method: string, path: string, body?: unknown]) => call('admin', ...rest)

  async function save(who: string, document: object = QUERY): Promise<string> {
    const { status, body } = await call(who, 'POST', '/saved', document)
    assert.equal(status, 201, JSON.stringify(body))
    return String(body.id)
  }

  async function names(who: string, search = ''): Promise<unknown[]> {
    const { status, body } = await call(who, 'GET', `/saved${search}`)
    assert.equal(status, 200, JSON.stringify(body))
    return (body.items as Record<string, unknown>[]).map(({ name }) => name)
  }

  test('a document is saved, read, changed by its version and deleted', async () => {
    const created = await call('alice', 'POST', '/saved', QUERY)
    assert.equal(created.status, 201)
    assert.equal(created.etag, '"1"')
    const { id, owner, updated, ...rest } = created.body
    assert.deepEqual(rest, { ...QUERY, username: 'alice', shared: 'private', version: 1 })
    assert.match(String(owner), /^usr_/)
    assert.ok(!Number.isNaN(Date.parse(String(updated))))

    const path = `/saved/${id}`
    assert.equal((await call('alice', 'PATCH', path, { name: 'x' })).body.Code, 'Saved.MatchRequired')
    const changed = await call('alice', 'PATCH', path, { name: 'Latest' }, { 'if-match': '"1"' })
    assert.deepEqual([changed.status, changed.etag, changed.body.name, changed.body.version], [200, '"2"', 'Latest', 2])
    assert.deepEqual(changed.body.body, QUERY.body)
    const same = await call('alice', 'PATCH', path, { name: 'Latest', body: QUERY.body }, { 'if-match': '"2"' })
    assert.deepEqual([same.status, same.etag], [200, '"2"'])
    const stale = await call('alice', 'PATCH', path, { name: 'x' }, { 'if-match': '"1"' })
    assert.deepEqual([stale.status, stale.body.Code, stale.etag], [412, 'Saved.Changed', '"2"'])
    assert.equal((await call('alice', 'PATCH', path, { name: 'Any' }, { 'if-match': '*' })).body.version, 3)
    assert.equal((await call('alice', 'DELETE', path, undefined, { 'if-match': '"2"' })).status, 412)
    assert.equal((await call('alice', 'DELETE', path)).status, 204)
    assert.equal((await call('alice', 'GET', path)).body.Code, 'Saved.NotFound')
    assert.ok(!(await names('alice')).includes('Any'))
  })

  test('of two changes from one version exactly one succeeds', async () => {
    const id = await save('alice')
    const replies = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => call('alice', 'PATCH', `/saved/${id}`, { name }, { 'if-match': '"1"' })),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 412, 412, 412])
    const any = await Promise.all(
      ['e', 'f', 'g', 'h'].map((name) => call('alice', 'PATCH', `/saved/${id}`, { name }, { 'if-match': '*' })),
    )
    assert.deepEqual(any.map(({ body }) => body.version).sort(), [3, 4, 5, 6])
    await call('alice', 'DELETE', `/saved/${id}`)
  })

  test('others read what is shared with them, and only its owner and administrators change it', async () => {
    const own = await save('alice', { ...QUERY, name: 'share private' })
    await save('alice', { ...QUERY, name: 'share everyone', shared: 'everyone' })
    const traders = await save('alice', { ...QUERY, name: 'share traders', shared: ['trader'] })
    const search = '?prefix=SHARE'
    assert.deepEqual(await names('alice', search), ['share everyone', 'share private', 'share traders'])
    assert.deepEqual(await names('bob', search), ['share everyone', 'share traders'])
    assert.deepEqual(await names('carol', search), ['share everyone'])
    assert.equal((await call('bob', 'GET', `/saved/${own}`)).status, 404)
    assert.equal((await call('bob', 'DELETE', `/saved/${own}`)).status, 404)
    assert.equal((await call('bob', 'GET', `/saved/${traders}`)).body.username, 'alice')
    assert.equal((await call('carol', 'GET', `/saved/${traders}`)).status, 404)
    const refused = await call('bob', 'PATCH', `/saved/${traders}`, { name: 'x' }, { 'if-match': '*' })
    assert.deepEqual([refused.status, refused.body.Code], [403, 'Saved.NotOwner'])
    // An administrator reads and changes any, and does not find the private ones of others in their own list.
    assert.equal((await call('admin', 'GET', `/saved/${own}`)).status, 200)
    assert.deepEqual(await names('admin', search), ['share everyone'])
    const taken = await call('admin', 'PATCH', `/saved/${traders}`, { shared: 'private' }, { 'if-match': '*' })
    assert.equal(taken.status, 200)
    assert.deepEqual(await names('bob', search), ['share everyone'])
    const log = await admin('GET', `/admin/audit?event=saved&target=${traders}`)
    assert.deepEqual(
      (log.body.items as Record<string, unknown>[]).map(({ event }) => event),
      ['saved.changed', 'saved.shared', 'saved.shared'],
    )
  })

  test('a document is shared with roles that its owner holds', async () => {
    const refused = await call('alice', 'POST', '/saved', { ...QUERY, shared: ['trader', 'admin'] })
    assert.equal(refused.status, 422)
    assert.deepEqual(refused.body.Faults, [{ path: 'shared', text: '"admin" is not one of your roles' }])
    const id = await save('admin', { ...QUERY, name: 'by admin', shared: ['viewer'] })
    assert.deepEqual(await names('carol', '?prefix=by admin'), ['by admin'])
    await call('admin', 'DELETE', `/saved/${id}`)
  })

  test('lists are paged, by kind and prefix, in one order over own and shared documents', async () => {
    const expected: string[] = []
    for (let index = 0; index < 7; index++) {
      const who = index % 2 === 0 ? 'alice' : 'bob'
      const name = `${index % 3 === 0 ? 'Page' : 'PAGE'} ${index} 100%_ü`
      expected.push(name)
      const document = index === 3 ? { kind: 'board', body: { tiles: [TILE] } } : QUERY
      await save(who, { ...document, name, shared: index === 2 ? ['trader'] : 'everyone' })
    }
    // A line separator is no control character, and must not end the pages of others.
    for (const index of [7, 8, 9]) {
      expected.push(`Page ${index}\u2028\u2029 &#%00`)
      await save('alice', { ...QUERY, name: expected[index], shared: 'everyone' })
    }
    const seen: unknown[] = []
    let path: string | null = '/saved?prefix=page&limit=2'
    while (path !== null) {
      const { body } = await call('bob', 'GET', path)
      const items = body.items as Record<string, unknown>[]
      assert.ok(items.length <= 2)
      assert.ok(items.every((item) => !('body' in item)))
      seen.push(...items.map(({ name }) => name))
      path = body.next as string | null
    }
    assert.deepEqual(seen, expected)
    assert.deepEqual(await names('bob', '?prefix=page&kind=board'), [expected[3]])
    assert.deepEqual(await names('bob', '?prefix=page 1 100%25_Ü'), [expected[1]])
    assert.deepEqual(await names('bob', '?prefix=pag_'), [])
    for (const search of [
      '?kind=chart',
      '?limit=0',
      '?limit=1001',
      '?after=x',
      '?prefix=%00',
      '?what=1',
      '?kind=query&kind=board',
    ])
      assert.equal((await call('bob', 'GET', `/saved${search}`)).body.Code, 'Request.BadParameter', search)
  })

  test('a document that does not have the shape is refused with the path of each fault', async () => {
    const faults = async (document: unknown): Promise<unknown> => {
      const { status, body } = await call('alice', 'POST', '/saved', document)
      assert.deepEqual([status, body.Code], [422, 'Saved.Invalid'], JSON.stringify(body))
      return (body.Faults as { path: string }[]).map(({ path }) => path)
    }
    assert.deepEqual(await faults({ ...QUERY, name: ' x' }), ['name'])
    assert.deepEqual(await faults({ ...QUERY, nmae: 'x' }), ['nmae'])
    assert.deepEqual(await faults({ ...QUERY, shared: 'all' }), ['shared'])
    assert.deepEqual(await faults({ ...QUERY, body: {} }), ['body.statement'])
    assert.deepEqual(await faults({ ...QUERY, body: { statement: 'select :a', parameters: { a: [1] } } }), [
      'body.parameters.a',
    ])
    const board = (tile: object) => ({ kind: 'board', name: 'b', body: { tiles: [TILE, { ...TILE, ...tile }] } })
    assert.deepEqual(await faults(board({ view: 'pie' })), ['body.tiles[1].view'])
    assert.deepEqual(await faults(board({ position: { x: 8, y: 0, w: 6, h: 1 } })), ['body.tiles[1].position.w'])
    assert.deepEqual(await faults({ ...board({}), body: { tiles: Array(51).fill(TILE) } }), ['body.tiles'])
    const long = '{"kind":"query","name":"n","body":{"statement":"select :a","parameters":{"a":12345678901234567890}}}'
    assert.deepEqual(await faults(long), ['body.parameters.a'])
    for (const value of [[], null, 1, { kind: 'x' }, { __proto__: null, kind: 'constructor' }]) await faults(value)
    const { body } = await call('alice', 'POST', '/saved', { ...QUERY, shared: 'all' })
    assert.equal(body.detail, 'shared: must be "private" or "everyone" or a list, not text')
    const texts = { ...QUERY.body, parameters: { a: '12345678901234567890', b: 1.5, c: null, d: true } }
    const id = await save('alice', { ...QUERY, name: 'exact', body: texts })
    assert.deepEqual((await call('alice', 'GET', `/saved/${id}`)).body.body, texts)
  })

  test('the client library keeps boards', async () => {
    const auth = password({ clientId: 'demo-cli', username: 'alice', password: 'wonderland-1' })
    const gate = new Gatehouse(server.issuer, { auth })
    try {
      const created = await gate.saved.create({ kind: 'board', name: 'client', body: { tiles: [TILE] } })
      const { id, version } = created
      const body = toClient({ tiles: [{ ...TILE, live: true }] })
      const changed = await gate.saved.update(id, { body }, { ifMatch: `"${version}"` })
      assert.deepEqual([changed.version, changed.body], [2, body])
      await assert.rejects(gate.saved.update(id, { body }, { ifMatch: `"${version}"` }), { code: 'Saved.Changed' })
      const found = await Array.fromAsync(gate.saved.list({ kind: 'board', prefix: 'client', limit: 1 }))
      assert.deepEqual(
        found.map(({ id: listed }) => listed),
        [id],
      )
      await gate.saved.delete(id)
    } finally {
      gate.close()
    }
  })

  test('documents are bounded in size', async () => {
    const large = {
      kind: 'board',
      name: 'large',
      body: { tiles: Array(50).fill({ ...TILE, statement: '-'.repeat(1500) }) },
    }
    assert.equal((await call('alice', 'POST', '/saved', large)).body.Code, 'Request.TooLarge')
    const huge = { ...QUERY, body: { statement: '-'.repeat(300_000) } }
    assert.equal((await call('alice', 'POST', '/saved', huge)).status, 413)
    assert.equal((await call('alice', 'POST', '/saved', '{')).body.Code, 'Request.BadJson')
  })

  test('statements cannot reach the documents, and on PostgreSQL not even the role that they run as', async () => {
    const reply = await call('admin', 'POST', '/query', { Statement: 'select * from _gh_documents' })
    assert.equal(reply.body.Code, 'IQL.UnknownTable')
    if (engine === 'sqlite') return
    const client = new pg.Client(place().databaseUrl)
    await client.connect()
    const { rows } = await client.query(
      `select has_table_privilege('gatehouse_query', 'gatehouse_data._gh_documents', 'select') as documents,
        has_table_privilege('gatehouse_query', 'gatehouse_data._gh_document_readers', 'insert') as readers`,
    )
    await client.end()
    assert.deepEqual(rows, [{ documents: false, readers: false }])
  })

  test('a token of the platform is needed', async () => {
    const anonymous = await fetch(`${server.issuer}/saved`)
    assert.equal(anonymous.status, 401)
    assert.equal(JSON.parse(await anonymous.text()).Code, 'Auth.Required')
  })

  test('the demonstration brings a board and queries that run, and live tiles that can be live', async () => {
    for (const { id: _id, owner: _owner, ...document } of DEMO_DOCUMENTS)
      assert.deepEqual(faultsOfNew(document), [], document.name)
    await until('the views of the demonstration are built', 30_000, async () => {
      const { items } = (await admin('GET', '/admin/views')).body
      return (items as { state: string }[]).every(({ state }) => state === 'ready')
    })
    const listed = await call('alice', 'GET', '/saved?prefix=')
    const ids = (listed.body.items as { id: string }[]).map(({ id }) => id).filter((id) => id.startsWith('demo-'))
    assert.ok(ids.length >= 4 && ids.includes('demo-market'), ids.join())
    for (const id of ids) {
      const { body } = await call('bob', 'GET', `/saved/${id}`)
      assert.deepEqual([body.username, body.shared, body.version], ['admin', 'everyone', 1])
      const shown = body.kind === 'board' ? (body.body as Board).tiles : [body.body as SavedQuery]
      for (const { statement, parameters = {}, x, y = [], live } of shown) {
        const run = (text: string) => call('alice', 'POST', '/query', { Statement: text, Parameters: parameters })
        const result = await run(statement)
        assert.equal(result.status, 200, `${statement}: ${result.body.detail}`)
        const columns = Object.keys(result.body.Columns as object)
        for (const column of [...y, ...(x === undefined ? [] : [x])])
          assert.ok(columns.includes(column), `${column}: ${statement}`)
        if (live !== true) continue
        const [explained] = (await run(`explain live ${statement}`)).body.Rows as Record<string, unknown>[]
        assert.notEqual(explained?.method, 'refused', `${statement}: ${explained?.reason}`)
      }
    }
  })

  test('shared documents of a deleted user stay and can be handed over', async () => {
    const { body: dave } = await admin('POST', '/admin/users', {
      username: 'dave',
      password: 'a-long-password',
      roles: ['trader'],
    })
    tokens.set('dave', await requestToken('dave', 'a-long-password'))
    const own = await save('dave', { ...QUERY, name: 'dave private' })
    const shared = await save('dave', { ...QUERY, name: 'dave shared', shared: 'everyone' })
    assert.deepEqual(await names('admin', `?owner=${dave.id}`), ['dave private', 'dave shared'])
    assert.equal((await call('alice', 'GET', `/saved?owner=${dave.id}`)).status, 403)
    await admin('DELETE', `/admin/users/${dave.id}`)
    assert.equal((await call('alice', 'GET', `/saved/${shared}`)).body.username, null)
    assert.equal((await call('admin', 'GET', `/saved/${own}`)).status, 200)
    const alice = (await admin('GET', '/admin/users/alice')).body.id
    const path = `/saved/${shared}`
    const refused = await call('alice', 'PATCH', path, { owner: alice }, { 'if-match': '*' })
    assert.equal(refused.status, 403)
    const unknown = await call('admin', 'PATCH', path, { owner: dave.id }, { 'if-match': '*' })
    assert.deepEqual(unknown.body.Faults, [{ path: 'owner', text: 'must be the id of a user or a client' }])
    assert.equal((await call('admin', 'PATCH', path, { owner: alice }, { 'if-match': '*' })).status, 200)
    assert.equal((await call('alice', 'PATCH', path, { shared: 'private' }, { 'if-match': '*' })).status, 200)
    assert.equal((await call('bob', 'GET', path)).status, 404)
  })

  test('a restart changes no document, and creates those of the demonstration again that are absent', async () => {
    const renamed = await call('admin', 'PATCH', '/saved/demo-market', { name: 'Mine' }, { 'if-match': '"1"' })
    assert.equal(renamed.status, 200)
    assert.equal((await call('admin', 'DELETE', '/saved/demo-turnover')).status, 204)
    await server.stop()
    server = await startTestServer(place(), { flags: FLAGS })
    tokens.set('alice', await requestToken('alice', 'wonderland-1'))
    assert.equal((await call('alice', 'GET', '/saved/demo-market')).body.name, 'Mine')
    assert.equal((await call('alice', 'GET', '/saved/demo-turnover')).body.version, 1)
  })
})

onEveryEngine('the number of documents', (place) => {
  test('is bounded for each owner, also when many are saved at once', async () => {
    const server = await startQueryServer(place(), { limits: { documentsPerOwner: 5 } })
    try {
      const replies = await Promise.all(
        Array.from({ length: 12 }, () => server.call('/saved', QUERY, { as: 'trader' })),
      )
      const codes = replies.map(({ status, json }) => (status === 201 ? 'created' : json.Code)).sort()
      assert.deepEqual(codes, [...Array(7).fill('Saved.TooMany'), ...Array(5).fill('created')])
      assert.equal((await server.call('/saved', QUERY)).status, 201)
    } finally {
      await server.stop()
    }
  })
})

onEveryEngineInLongRuns('a reader with many roles', (place) => {
  test('finds the documents of all of them, page by page, in the order of the databases', async () => {
    const roles = Array.from({ length: 600 }, (_role, index) => `role ${index}`)
    const reader = caller('reader', ['Platform/Market'], roles)
    const authenticate = async (token: string) => (token === 'reader' ? reader : CALLERS[token])
    const server = await startQueryServer(place(), { authenticate })
    try {
      // The last two are in another order as UTF-16.
      const expected = ['a', 'b', '\ufffd x', '\u{1f4c8} chart']
      for (const [index, name] of expected.entries()) {
        const shared = [`role ${index * 190}`, 'role 599']
        assert.equal((await server.call('/saved', { ...QUERY, name, shared })).status, 201)
      }
      const seen: string[] = []
      for (let path: string | null = '/saved?limit=1'; path !== null; ) {
        const { text } = await server.call(path, undefined, { as: 'reader', method: 'GET' })
        const page = JSON.parse(text)
        seen.push(...page.items.map(({ name }: { name: string }) => name))
        path = page.next
      }
      assert.deepEqual(seen, expected)
    } finally {
      await server.stop()
    }
  })
})

onEveryEngine('documents whose owners are gone', (place) => {
  test('are removed if they are private', async () => {
    const existing = new Set(['admin', 'trader'])
    const owners = {
      names: async (subjects: readonly string[]) =>
        new Map(subjects.filter((subject) => existing.has(subject)).map((subject) => [subject, subject])),
    }
    const server = await startQueryServer(place(), { owners })
    try {
      const { documents } = server.service
      for (const as of ['trader', 'market', 'admin'])
        for (const shared of ['private', 'everyone'])
          assert.equal((await server.call('/saved', { ...QUERY, name: `${as} ${shared}`, shared }, { as })).status, 201)
      existing.add('market')
      assert.equal(await documents.removeOrphans(), 0)
      existing.delete('trader')
      existing.delete('market')
      assert.equal(await documents.removeOrphans(), 2)
      assert.equal(await documents.removeOrphans(), 0)
      const list = async (search: string) => {
        const { text } = await server.call(`/saved${search}`, undefined, { method: 'GET' })
        return JSON.parse(text).items.map(({ name }: { name: string }) => name)
      }
      assert.deepEqual(await list(''), ['admin everyone', 'admin private', 'market everyone', 'trader everyone'])
      assert.deepEqual(await list('?owner=trader'), ['trader everyone'])
    } finally {
      await server.stop()
    }
  })
})
