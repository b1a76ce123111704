/** What operators see of a running server: nodes, rights of a user, the audit log as it is written, its verification, backups. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { launchGatehouse, runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on each
type Body = any

onEveryEngineInLongRuns('operations', (place, engine) => {
  let server: TestServer
  let admin: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await requestToken('admin', 'admin-please-change')
  })
  after(() => server.stop())

  async function requestToken(username: string, password: string): Promise<string> {
    const form = { grant_type: 'password', username, password, client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    return String(JSON.parse(await response.text()).access_token)
  }

  async function call(
    method: string,
    path: string,
    { body, token = admin, at = server }: { body?: unknown; token?: string; at?: { issuer: string } } = {},
  ): Promise<{ status: number; body: Body }> {
    const headers = {
      authorization: `Bearer ${token}`,
      'if-match': '*',
      ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }),
    }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(at.issuer + path, { method, headers, ...(body === undefined ? {} : { body: text }) })
    const reply = await response.text()
    return { status: response.status, body: reply === '' ? undefined : JSON.parse(reply) }
  }
  const get = async (path: string): Promise<Body> => {
    const { status, body } = await call('GET', path)
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return body
  }
  const query = async (statement: string): Promise<void> => {
    const { status, body } = await call('POST', '/query', { body: statement })
    assert.equal(status, 200, `${statement}: ${body.detail}`)
  }

  test('the command line shows rights and nodes, and follows the log', { skip: engine !== 'sqlite' }, async () => {
    const data = ['--data', place().dataFolder]
    const following = launchGatehouse(['audit', 'follow', '--event', 'role', ...data])
    try {
      const rights = await runGatehouse(['user', 'rights', 'alice', '--prefix', 'tr', ...data])
      assert.equal(rights.status, 0, rights.stderr)
      assert.match(rights.stdout, /^alice\n\nScopes by role:\n {2}trader: Platform\/Market /)
      assert.match(rights.stdout, /\nTables:\n {2}trades: select insert update delete\n/)
      assert.match(rights.stdout, /\n {2}Query\/Live\/\*: subscribe\n/)
      const nodes = await runGatehouse(['nodes', 'list', ...data])
      assert.match(nodes.stdout, /^NODE +VERSION +READY .*\n\S+ +\S+ +true /)
      await until('a row is printed', 30_000, async () => {
        await call('POST', '/admin/roles', { body: { name: `seen ${Math.random()}` } })
        return following.output().stdout.includes('role.created')
      })
      assert.equal(JSON.parse(following.output().stdout.split('\n')[0] ?? '').event, 'role.created')
    } finally {
      following.child.kill()
      await following.ended
    }
  })

  test('the nodes are listed with their state, from whichever is asked', async () => {
    const other = await startTestServer(place(), { flags: { '--demo': 'true', '--services': 'identity,query' } })
    try {
      await until('both nodes are listed', 10_000, async () => (await get('/admin/nodes')).items.length === 2)
      const { items, total, silent } = await get('/admin/nodes')
      assert.deepEqual([total, silent], [2, []])
      // One of them keeps the materialized views of the demonstration.
      await until('one is the keeper', 10_000, async () => {
        const { items } = await get('/admin/nodes')
        return items.filter(({ keeper }: Body) => keeper).length === 1
      })
      for (const node of items) {
        assert.partialDeepStrictEqual(node, { ready: true, checks: { process: 'ok', database: 'ok', query: 'ok' } })
        assert.equal(node.database, engine)
        assert.match(node.version, /^\d+\./)
        assert.ok(node.uptime_seconds >= 0 && node.connections >= 0 && node.memory_bytes > 1e6)
        assert.ok(node.event_loop_lag_ms.max >= node.event_loop_lag_ms.p99 && node.event_loop_lag_ms.p99 >= 0)
        assert.deepEqual(Object.keys(node.queries), ['running', 'waiting', 'live', 'slots'])
        assert.equal(node.database_connections === null, engine === 'sqlite')
      }
      assert.deepEqual(items.map(({ streams }: Body) => streams).sort(), [0, null])
    } finally {
      await other.stop()
    }
    const trader = await requestToken('alice', 'wonderland-1')
    assert.equal((await call('GET', '/admin/nodes', { token: trader })).status, 403)
  })

  test('the rights of a user: scopes by role, tables with the rows of that user, topics', async () => {
    await query(
      "CREATE TABLE desks (id Integer PRIMARY KEY, desk Text, owner Text) READ SCOPE 'Platform/News' WRITE SCOPE 'Platform/News' ROW FILTER (desk = :roles OR desk IN (:roles) OR owner = :username OR owner = :sub AND owner <> :client)",
    )
    await query('CREATE TABLE open_table (id Integer)')
    await call('POST', '/admin/roles', { body: { name: "it's", scopes: ['Platform/News'] } })
    await call('POST', '/admin/roles', { body: { name: 'market', scopes: ['Platform/Market', 'Identity/Admin'] } })
    const created = await call('POST', '/admin/users', { body: { username: 'nina', roles: ["it's", 'market'] } })
    const { id } = created.body
    const rights = await get('/admin/users/nina/rights')
    assert.partialDeepStrictEqual(rights, { user: id, username: 'nina', disabled: false })
    assert.deepEqual(rights.roles, [
      { name: "it's", scopes: ['Platform/News'] },
      { name: 'market', scopes: ['Platform/Market', 'Identity/Admin'] },
    ])
    assert.deepEqual(rights.scopes, ['Identity/Admin', 'Platform/Market', 'Platform/News'])
    const table = (name: string) => rights.tables.items.find((item: Body) => item.name === name)
    assert.deepEqual(table('desks'), {
      name: 'desks',
      issystem: false,
      rights: ['select', 'insert', 'update', 'delete'],
      rowfilter: `desk IN ('it''s', 'market') OR desk IN ('it''s', 'market') OR owner = 'nina' OR owner = '${id}' AND owner <> :client`,
    })
    assert.deepEqual(table('open_table').rights, ['select'])
    assert.partialDeepStrictEqual(table('trades'), { rights: ['select'], rowfilter: null })
    assert.deepEqual(table('auditlog')?.rights, ['select'])
    assert.equal(rights.tables.next, null)
    const topics = (body: Body) =>
      body.topics.flatMap(({ controller, topics: of }: Body) => of.map((t: Body) => `${controller}/${t.topic}`))
    assert.ok(topics(rights).includes('Query/Live/*') && topics(rights).includes('Auth/AuthToken'))

    const seen: string[] = []
    for (let path: string | null = '/admin/users/nina/rights?limit=2'; path !== null; ) {
      const { tables }: Body = await get(path)
      assert.ok(tables.items.length <= 2)
      seen.push(...tables.items.map(({ name }: Body) => name))
      path = tables.next
    }
    assert.deepEqual(
      seen,
      rights.tables.items.map(({ name }: Body) => name),
    )
    const found = await get('/admin/users/nina/rights?prefix=DE')
    assert.deepEqual(
      found.tables.items.map(({ name }: Body) => name),
      ['desks'],
    )

    await call('PATCH', '/admin/users/nina', { body: { roles: [], disabled: true } })
    const none = await get(`/admin/users/${id}/rights`)
    assert.deepEqual([none.disabled, none.scopes, none.tables.items], [true, [], []])
    assert.ok(!topics(none).includes('Query/Live/*'))
    assert.equal((await call('GET', '/admin/users/nobody/rights')).status, 404)
  })

  test('the rights that are shown are those that count', async () => {
    await until('the views of the demonstration are built', 30_000, async () =>
      (await get('/admin/views')).items.every(({ state }: Body) => state === 'ready'),
    )
    const { tables } = await get('/admin/users/alice/rights')
    const token = await requestToken('alice', 'wonderland-1')
    for (const { name, rights } of tables.items as Body[]) {
      const read = await call('POST', '/query', { body: `SELECT 1 AS n FROM "${name}" LIMIT 1`, token })
      assert.equal(read.status, 200, name)
      const write = await call('POST', '/query', { body: `EXPLAIN DELETE FROM "${name}" ALL`, token })
      assert.equal(write.status, rights.includes('delete') ? 200 : 403, `${name}: ${write.body.detail}`)
    }
    for (const hidden of ['auditlog', 'desks_of_others'])
      assert.ok(!tables.items.some(({ name }: Body) => name === hidden))
    const own = await call('GET', '/Platform/topics', { token })
    assert.deepEqual(own.body.items, (await get('/admin/users/alice/rights')).topics)
    assert.equal((await fetch(`${server.issuer}/Platform/topics`)).status, 401)
  })

  test('running queries have the name of their user, and are listed by kind and user', async () => {
    const many = Array.from({ length: 7 }, (_value, index) => `trades t${index}`).join(' CROSS JOIN ')
    const slow = call('POST', '/query', { body: `SELECT count(*) AS n FROM ${many}` })
    await until('the query is listed', 10_000, async () => (await get('/admin/queries')).items.length === 1)
    const listed = await get('/admin/queries?kind=query&user=admin&limit=1')
    assert.deepEqual([listed.total, listed.items[0].username], [1, 'admin'])
    assert.deepEqual((await get('/admin/queries?kind=live')).items, [])
    assert.deepEqual((await get('/admin/queries?user=alice')).total, 0)
    assert.equal((await call('GET', '/admin/queries?kind=other')).status, 400)
    assert.equal((await call('DELETE', `/admin/queries/${listed.items[0].id}`)).status, 204)
    await slow
  })

  test('the audit log is followed as it is written, with the names of those in it', async () => {
    const newest = (await get('/admin/audit?limit=1')).items[0].seq
    const waiting = get(`/admin/audit?after=${newest}&wait=30&event=role&limit=10`)
    await call('POST', '/admin/users', { body: { username: 'otto' } })
    await call('POST', '/admin/roles', { body: { name: 'followed' } })
    const { items, next, names } = await waiting
    assert.deepEqual(
      items.map(({ event, target }: Body) => [event, target]),
      [['role.created', 'followed']],
    )
    assert.equal(names[items[0].actor], 'admin')
    // From there on, oldest first.
    await call('DELETE', '/admin/roles/followed')
    await call('POST', '/admin/roles', { body: { name: 'again' } })
    const events: string[] = []
    for (let path = next; events.length < 2; ) {
      const page = await get(path)
      events.push(...page.items.map(({ event }: Body) => event))
      path = page.next
    }
    assert.deepEqual(events, ['role.deleted', 'role.created'])
    const all = await get(`/admin/audit?after=${newest}&limit=1000`)
    const seqs = all.items.map(({ seq }: Body) => seq)
    assert.deepEqual(
      seqs,
      seqs.toSorted((one: number, other: number) => one - other),
    )
    assert.equal(all.next, null)
    assert.ok(all.items.some(({ event, target }: Body) => event === 'user.created' && all.names[target] === 'otto'))
    for (const search of ['wait=5', 'after=1&before=2', 'after=1&wait=31', 'after=x'])
      assert.equal((await call('GET', `/admin/audit?${search}`)).status, 400, search)
  })

  test('a caller who follows the log and loses the token gets an error at once, and sees no later rows', async () => {
    const token = await requestToken('admin', 'admin-please-change')
    const newest = (await get('/admin/audit?limit=1')).items[0].seq
    const waiting = call('GET', `/admin/audit?after=${newest + 1000}&wait=30`, { token })
    // The request is being served once another one after it is.
    await get('/admin/settings')
    const revoked = performance.now()
    const body = new URLSearchParams({ token, client_id: 'demo-cli' })
    assert.equal((await fetch(`${server.issuer}/connect/revocation`, { method: 'POST', body })).status, 200)
    const { status, body: problem } = await waiting
    assert.deepEqual([status, problem.Code ?? problem.code], [401, 'access.invalid_token'])
    assert.ok(performance.now() - revoked < 20_000)
  })

  test('a caller holds few requests at once', async () => {
    const newest = (await get('/admin/audit?limit=1')).items[0].seq
    const leave = new AbortController()
    const statuses: number[] = []
    const held = Array.from({ length: 12 }, async () => {
      const response = await fetch(`${server.issuer}/admin/audit?after=${newest + 1000}&wait=30`, {
        headers: { authorization: `Bearer ${admin}` },
        signal: leave.signal,
      })
      statuses.push(response.status)
    })
    // Those that are refused answer at once; they are counted before the others are left.
    await until('the refusals', 10_000, () => statuses.length === 4)
    assert.deepEqual(new Set(statuses), new Set([429]))
    leave.abort()
    await Promise.allSettled(held)
    assert.equal(statuses.length, 4, 'eight waited')
    await until('those that left are forgotten', 10_000, async () => {
      const after = (await get('/admin/audit?limit=1')).items[0].seq - 1
      return (await call('GET', `/admin/audit?after=${after}&wait=1`)).status === 200
    })
  })

  test('a rare event in a long log is found step by step', async () => {
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    const head = (await get('/admin/audit?limit=1')).items[0].seq
    // Positions are moved ahead as if 50,000 rows had been written; the chain is not looked at here.
    await database.db
      .updateTable('audit_head')
      .set({ seq: head + 50_000 })
      .where('id', '=', 1)
      .execute()
    const pages: number[] = []
    const found: Body[] = []
    for (let path: string | null = '/admin/audit?outcome=success&target=again'; path !== null; ) {
      const page: Body = await get(path)
      pages.push(page.items.length)
      found.push(...page.items)
      path = page.next
    }
    assert.ok(pages.length >= 3, pages.join())
    assert.deepEqual(
      found.map(({ event }) => event),
      ['role.created'],
    )
    const recent = await get(
      `/admin/audit?outcome=success&target=again&since=${new Date(Date.now() + 7_200_000).toISOString()}`,
    )
    assert.deepEqual([recent.items, recent.next], [[], null])
    const indexed = await get('/admin/audit?event=role.created')
    assert.ok(indexed.items.length > 0)
    await database.db.updateTable('audit_head').set({ seq: head }).where('id', '=', 1).execute()
    await database.db.deleteFrom('audit_log').where('seq', '>', head).execute()
    const last = await database.db
      .selectFrom('audit_log')
      .select('hash')
      .where('seq', '=', head)
      .executeTakeFirstOrThrow()
    await database.db.updateTable('audit_head').set({ hash: last.hash }).where('id', '=', 1).execute()
    await database.close()
  })

  test('the chain is verified in steps, and a change is found in the step that it is in', async () => {
    const steps = async (search = ''): Promise<Body[]> => {
      const found: Body[] = []
      for (let path: string | null = `/admin/audit/verify?limit=5${search}`; path !== null; ) {
        found.push(await get(path))
        path = found.at(-1).next
      }
      return found
    }
    const intact = await steps()
    assert.ok(intact.length > 2, String(intact.length))
    assert.deepEqual(
      intact.flatMap(({ faults }) => faults),
      [],
    )
    assert.ok(intact.slice(0, -1).every(({ rows }) => rows === 5))
    const { head } = intact.at(-1)
    const total = intact.reduce((sum, { rows }) => sum + rows, 0)
    assert.ok(total >= head.seq, `${total} of ${head.seq}`)
    assert.equal((await get('/admin/audit/verify')).next, null)
    const wrong = `${'0'.repeat(64)}`
    assert.deepEqual(
      (await steps(`&head=7:${wrong}`)).flatMap(({ faults }) => faults).map(({ kind, seq }) => `${kind} ${seq}`),
      ['head-mismatch 7'],
    )
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    const row = await database.db.selectFrom('audit_log').selectAll().where('seq', '=', 6).executeTakeFirstOrThrow()
    await database.db.updateTable('audit_log').set({ event: 'user.enabled' }).where('seq', '=', 6).execute()
    const altered = await steps()
    assert.deepEqual(altered.map(({ faults }) => faults.length).slice(0, 3), [0, 1, 0])
    assert.deepEqual(altered[1].faults[0].seq, 6)
    await database.db.updateTable('audit_log').set({ event: row.event }).where('seq', '=', 6).execute()
    await database.close()
    assert.equal((await call('GET', '/admin/audit/verify?from=1')).status, 400)
  })

  test('backups are listed as they were recorded', async () => {
    assert.deepEqual((await get('/admin/backups')).items, [])
    const { openAuditLog } = await import('../../packages/server/src/store/audit/audit.ts')
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    const audit = openAuditLog(database, {
      clock: Date.now,
      node: 'elsewhere',
      onError: (error) => assert.fail(String(error)),
    })
    audit.record({ event: 'backup.taken', details: { rows: 12, bytes: 3456 } })
    audit.record({ event: 'backup.restored', details: { rows: 12, taken: '2026-11-16T00:00:00Z' } })
    audit.record({ event: 'backup.taken', details: { rows: 13, bytes: 4567 } })
    await audit.close()
    await database.close()
    const { items } = await get('/admin/backups')
    assert.partialDeepStrictEqual(items, [
      { kind: 'taken', rows: 13, bytes: 4567, node: 'elsewhere' },
      { kind: 'restored', rows: 12 },
      { kind: 'taken', rows: 12, bytes: 3456 },
    ])
    assert.equal((await get('/admin/backups?limit=1')).items.length, 1)
  })

  test('a stop does not wait for those who follow the log', async () => {
    const newest = (await get('/admin/audit?limit=1')).items[0].seq
    const waiting = get(`/admin/audit?after=${newest + 1000}&wait=30`)
    const started = performance.now()
    // The request is being served once another one after it is.
    await get('/admin/settings')
    await server.stop()
    assert.deepEqual((await waiting).items, [])
    assert.ok(performance.now() - started < 20_000)
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
  })
})
