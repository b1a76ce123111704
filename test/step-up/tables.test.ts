/** Step-up on tables (RFC 9470): a token of a weak or old sign-in through every way in, and what the refusals say. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { until } from '../support/until.ts'
import { openStepUpPlace, type StepUpPlace } from './step-up-place.ts'

/** What follows is the address of the metadata (RFC 9728). */
const CHALLENGE = /^Bearer error="insufficient_user_authentication", acr_values="2", max_age="300", resource_metadata=/

type Members = Record<string, unknown>

onEveryEngineInLongRuns('step-up on tables', (at) => {
  let place: StepUpPlace
  before(async () => {
    place = await openStepUpPlace(at())
  })
  after(() => place.close())

  async function readProblem(reply: Response): Promise<Members> {
    return (await reply.json()) as Members
  }

  test('RFC 9470 §3: a weak sign-in is answered with 401 and everything that is needed at once', async () => {
    const reply = await place.query('SELECT * FROM positions', place.weak)
    assert.equal(reply.status, 401)
    assert.match(reply.headers.get('www-authenticate') ?? '', CHALLENGE)
    const problem = await readProblem(reply)
    assert.partialDeepStrictEqual(problem, { status: 401, Code: 'Auth.StepUp', AcrValues: '2', MaxAge: 300 })
    assert.equal((await place.query('SELECT * FROM positions', place.strong)).status, 200)
  })

  test('an old sign-in is refused, and one of the permitted age is not', async () => {
    assert.equal((await place.query('SELECT * FROM positions', await place.token(2, 301))).status, 401)
    assert.equal((await place.query('SELECT * FROM positions', await place.token(2, 299))).status, 200)
  })

  test('a statement needs the strictest of all its tables', async () => {
    const reply = await place.query('SELECT p.id FROM positions p JOIN fresh f ON f.id = p.id', place.weak)
    const { AcrValues, MaxAge } = await readProblem(reply)
    assert.deepEqual([reply.status, AcrValues, MaxAge], [401, '2', 60])
  })

  test('a token without a user is refused with 403, without a challenge', async () => {
    const reply = await place.query('SELECT * FROM positions', await place.clientToken())
    assert.deepEqual([reply.status, reply.headers.get('www-authenticate')], [403, null])
    assert.equal((await readProblem(reply)).Code, 'Auth.UserNeeded')
  })

  test('no way in leads past it', async () => {
    const { weak } = place
    const checked = 'ALTER TABLE positions ADD CONSTRAINT known CHECK (id > 0)'
    assert.equal((await place.query(checked, place.strong)).status, 200)
    const select = (path: string, body: unknown = []) => place.send('POST', path, weak, body)
    const statements = [
      'SELECT 1 AS one FROM positions',
      'SELECT count(*) AS n FROM positions WHERE quantity > 1',
      'SELECT id FROM limits WHERE id IN (SELECT id FROM positions)',
      'SELECT id FROM limits WHERE EXISTS (SELECT 1 FROM positions)',
      'WITH p AS (SELECT id FROM positions) SELECT id FROM p',
      'SELECT id FROM limits UNION ALL SELECT id FROM positions',
      'SELECT total FROM exposure',
      'SELECT total FROM nested',
      'EXPLAIN SELECT * FROM positions',
      'EXPLAIN LIVE SELECT * FROM positions',
      'EXPLAIN DELETE FROM positions ALL',
      'INSERT INTO limits SELECT id, quantity FROM positions',
      'INSERT INTO positions VALUES (1, 5)',
      'INSERT INTO positions VALUES (1, 5) ON CONFLICT DO NOTHING',
      'INSERT INTO positions VALUES (99, 5) RETURNING *',
      'UPDATE positions SET quantity = 1 WHERE quantity > 200',
      'DELETE FROM positions WHERE id = 1',
      'CREATE UNIQUE INDEX guess ON positions (quantity)',
      'ALTER TABLE positions ADD COLUMN note Text',
      'ALTER TABLE positions ADD CONSTRAINT guess CHECK (quantity < 200)',
      'ALTER TABLE positions ADD CONSTRAINT guess CHECK (quantity < 1000)',
      'ALTER TABLE positions DROP CONSTRAINT known',
      'CREATE TABLE copied AS SELECT * FROM positions',
      'CREATE TABLE copied AS SELECT total FROM nested',
      'CREATE VIEW copied AS SELECT * FROM positions',
      'SELECT id, ema(quantity, 3) OVER (ORDER BY id) AS e FROM positions',
      'SELECT DISTINCT ON (id) id, quantity FROM positions ORDER BY id',
      'SELECT id FROM positions QUALIFY row_number() OVER (ORDER BY id) = 1',
      'ALTER TABLE positions SET REQUIRE NULL',
      'DROP TABLE positions',
      "UPDATE CatalogueTable SET requireacr = NULL, requireage = NULL WHERE name = 'positions'",
      "DELETE FROM CatalogueTable WHERE name = 'positions'",
    ]
    for (const statement of statements) {
      const reply = await place.query(statement, weak)
      assert.equal(reply.status, 401, `${statement}: ${await reply.text()}`)
    }
    for (const accept of ['text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream'])
      assert.equal((await place.query('SELECT * FROM positions', weak, { accept })).status, 401, accept)
    const calls = [
      select('/Query/positions/Select'),
      select('/Query/exposure/Select'),
      select('/Query/positions/Insert', { id: 1, quantity: 1 }),
      select('/Query/positions/Update', {
        Criteria: [{ ColumnName: 'id', Operator: '=', Value: 1 }],
        Assignments: { quantity: 2 },
      }),
      select('/Query/positions/Delete', [{ ColumnName: 'id', Operator: '=', Value: 1 }]),
    ]
    for (const [index, reply] of (await Promise.all(calls)).entries())
      assert.equal(reply.status, 401, `call ${index}: ${await reply.text()}`)
    const left = await readProblem(await place.query('SELECT id, quantity FROM positions ORDER BY id', place.strong))
    assert.deepEqual(left.Rows, [
      { id: 1, quantity: 100 },
      { id: 2, quantity: 250 },
    ])
  })

  test('a cursor, and the key of an earlier write, do not replace a sign-in', async () => {
    const first = await place.send('POST', '/Query/positions/Select?limit=1', place.strong, [])
    const { NextCursor } = (await first.json()) as { NextCursor: string }
    const path = `/Query/positions/Select?limit=1&after=${encodeURIComponent(NextCursor)}`
    assert.equal((await place.send('POST', path, place.weak, [])).status, 401)
    assert.equal((await place.send('POST', path, place.strong, [])).status, 200)
    const write = (token: string) =>
      place.send('POST', '/Query/limits/Insert', token, { id: 70, quantity: 1 }, { 'idempotency-key': 'once' })
    assert.deepEqual([(await write(place.strong)).status, (await write(place.weak)).status], [200, 401])
  })

  test('a copy of rows that not everyone may read says who may read it', async () => {
    const open = await place.query('CREATE TABLE copied AS SELECT * FROM positions', place.strong)
    assert.deepEqual([open.status, (await readProblem(open)).Code], [400, 'IQL.BadDefinition'])
    const copy = 'CREATE TABLE copied REQUIRE (acr = 2) AS SELECT * FROM positions'
    assert.equal((await place.query(copy, place.strong)).status, 200)
    assert.equal((await place.query('SELECT id FROM copied', place.weak)).status, 401)
    assert.equal((await place.query('DROP TABLE copied', place.strong)).status, 200)
  })

  test('what only writing demands is not demanded of readers', async () => {
    assert.equal((await place.query('SELECT id FROM limits', place.weak)).status, 200)
    const refused = await place.query('INSERT INTO limits VALUES (1, 1)', place.weak)
    assert.deepEqual([refused.status, (await readProblem(refused)).AcrValues], [401, '2'])
    assert.equal((await place.query('INSERT INTO limits VALUES (1, 1)', place.strong)).status, 200)
  })

  test('anyone who may see a table is shown what it demands', async () => {
    const shown = await place.send('GET', '/catalogue/tables/positions', place.weak)
    assert.partialDeepStrictEqual(await shown.json(), { requireacr: 2, requireage: 300, writerequireacr: null })
    const view = await place.send('GET', '/catalogue/tables/nested', place.weak)
    assert.partialDeepStrictEqual(await view.json(), { requireacr: 2, requireage: 300 })
    const rows = await place.query(
      "SELECT requireacr, requireage, writerequireacr FROM cataloguetables WHERE name IN ('positions', 'limits') ORDER BY name",
      place.weak,
    )
    assert.deepEqual((await readProblem(rows)).Rows, [
      { requireacr: null, requireage: null, writerequireacr: 2 },
      { requireacr: 2, requireage: 300, writerequireacr: null },
    ])
  })

  test('CREATE TABLE and ALTER TABLE set and remove it, and CatalogueTable does', async () => {
    const run = async (statement: string, token = place.strong) => {
      const reply = await place.query(statement, token)
      return { status: reply.status, body: await readProblem(reply) }
    }
    assert.equal((await run('CREATE TABLE own (id Integer PRIMARY KEY) REQUIRE (acr = 2)')).status, 200)
    assert.equal((await run('SELECT id FROM own', place.weak)).status, 401)
    assert.equal((await run('ALTER TABLE own SET REQUIRE NULL WRITE REQUIRE (age = 60)')).status, 200)
    assert.equal((await run('SELECT id FROM own', place.weak)).status, 200)
    assert.equal((await run("UPDATE CatalogueTable SET requireage = 5 WHERE name = 'own'")).status, 200)
    const { body } = await run("SELECT requireacr, requireage, writerequireage FROM CatalogueTable WHERE name = 'own'")
    assert.deepEqual(body.Rows, [{ requireacr: null, requireage: 5, writerequireage: 60 }])
    const { body: shown } = await run('SHOW TABLES')
    assert.partialDeepStrictEqual(shown.Rows, [{ name: 'own', require: 'age = 5', writerequire: 'age = 60' }])
    const { body: wrong } = await run('CREATE TABLE other (id Integer) REQUIRE (acr = 3)')
    assert.match(String(wrong.detail), /acr is 1 \(one factor\) or 2 \(two factors\)/)
    assert.equal((await run("UPDATE CatalogueTable SET requireacr = 7 WHERE name = 'own'")).status, 422)
  })

  test('live over HTTP: refused at the start, and not judged again while it runs', async () => {
    const refused = await openEvents(`http://127.0.0.1:${place.server.port}/query`, {
      token: place.weak,
      headers: { 'content-type': 'text/plain' },
      body: 'SELECT id FROM positions',
    })
    assert.equal(refused.status, 401)
    assert.match(refused.headers['www-authenticate'] ?? '', CHALLENGE)
    refused.close()
    const old = await place.token(2, 290)
    const events = await openEvents(`http://127.0.0.1:${place.server.port}/query`, {
      token: old,
      headers: { 'content-type': 'text/plain' },
      body: 'SELECT id FROM positions WHERE id > 50',
    })
    assert.equal((await events.next()).event, 'snapshot')
    place.clock.advance(20_000)
    const fresh = await place.token(2)
    assert.equal((await place.query('SELECT id FROM positions', old)).status, 401)
    await place.query('INSERT INTO positions VALUES (60, 1)', fresh)
    assert.deepEqual((await events.next()).data.Put, [{ Key: [60], Row: { id: 60 } }])
    // Another table changes: nothing to do with this sign-in.
    await place.query('CREATE TABLE unrelated (id Integer)', fresh)
    await place.query('DELETE FROM positions WHERE id = 60', fresh)
    assert.deepEqual((await events.next()).data.Remove, [[60]])
    // The demand itself changes.
    await place.query('ALTER TABLE positions SET REQUIRE (acr = 2, age = 250)', fresh)
    const end = await events.next()
    assert.deepEqual([end.event, end.data.Code, end.data.MaxAge], ['end', 'Auth.StepUp', 250])
    await place.query('ALTER TABLE positions SET REQUIRE (acr = 2, age = 300)', fresh)
  })

  test('live on a stream: Authority says what is needed, and a renewed token is judged', async () => {
    const about = (Action: string, more: object = {}) => ({ Controller: 'Query', Topic: 'Live/p', Action, ...more })
    const sub = about('Sub', { Confirm: true, TransactionID: 1, Data: { Statement: 'SELECT id FROM positions' } })
    const weak = await place.stream(await place.token(1))
    assert.partialDeepStrictEqual(await weak.request(sub), {
      Action: 'Error',
      TransactionID: 1,
      Data: 'Authority acr=2 max_age=300',
    })
    const stream = await place.stream(await place.token(2))
    assert.partialDeepStrictEqual(await stream.request(sub), { Action: 'Sub', Confirm: true })
    assert.partialDeepStrictEqual(await stream.next(), { Data: { Kind: 'Snapshot' } })
    const renew = async (token: string) =>
      stream.request({
        Controller: 'Auth',
        Topic: 'AuthToken',
        TransactionID: 2,
        Data: { Provider: 'Bearer', AccessToken: token },
      })
    assert.partialDeepStrictEqual(await renew(await place.token(2, 100)), { Data: { Result: 'Success' } })
    await stream.expectSilence()
    assert.partialDeepStrictEqual(await renew(await place.token(1)), { Data: { Result: 'Success' } })
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Error', Data: 'Authority acr=2 max_age=300' })
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Unsub' })
  })

  test('live: a demand that was removed and made again is judged again, also of a token renewed in between', async () => {
    const run = async (statement: string) => assert.equal((await place.query(statement, place.strong)).status, 200)
    await run("CREATE TABLE again (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market' REQUIRE (acr = 2)")
    const stream = await place.stream(await place.token(2))
    const Data = { Statement: 'SELECT id FROM again' }
    const about = { Controller: 'Query', Topic: 'Live/again', Action: 'Sub' }
    assert.partialDeepStrictEqual(await stream.request({ ...about, Confirm: true, TransactionID: 1, Data }), about)
    assert.partialDeepStrictEqual(await stream.next(), { Data: { Kind: 'Snapshot' } })
    await run('ALTER TABLE again SET REQUIRE NULL')
    const weaker = { Provider: 'Bearer', AccessToken: await place.token(1) }
    const renewed = await stream.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 2, Data: weaker })
    assert.partialDeepStrictEqual(renewed, { Data: { Result: 'Success' } })
    await run('ALTER TABLE again SET REQUIRE (acr = 2)')
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Error', Data: 'Authority acr=2' })
    await run('DROP TABLE again')
  })

  test('a materialized view demands what its base demands, and what it demands itself', async () => {
    const { weak, strong } = place
    const run = async (statement: string) => assert.equal((await place.query(statement, strong)).status, 200, statement)
    const define = 'CREATE MATERIALIZED VIEW sizes AS SELECT id, sum(quantity) AS q FROM positions GROUP BY id'
    assert.equal((await place.query(define, weak)).status, 401)
    await run(define)
    await run('CREATE MATERIALIZED VIEW sizes_again AS SELECT id, max(q) AS q FROM sizes GROUP BY id')
    await run('CREATE MATERIALIZED VIEW plain AS SELECT id, count(*) AS n FROM limits GROUP BY id')
    const statuses = async (token: string) =>
      Promise.all(
        ['sizes', 'sizes_again', 'plain'].map(
          async (view) => (await place.query(`SELECT id FROM ${view}`, token)).status,
        ),
      )
    assert.deepEqual(await statuses(weak), [401, 401, 200])
    assert.deepEqual(await statuses(strong), [200, 200, 200])
    assert.equal((await place.query('REFRESH MATERIALIZED VIEW sizes_again', weak)).status, 401)
    await run('ALTER MATERIALIZED VIEW plain SET REQUIRE (acr = 2)')
    assert.deepEqual(await statuses(weak), [401, 401, 401])
    for (const view of ['plain', 'sizes_again', 'sizes']) await run(`DROP MATERIALIZED VIEW ${view}`)
  })

  test('it is recorded, and only counted if it goes on', async () => {
    const token = await place.token(1, 100)
    const recorded = async () => (await place.asked()).filter(({ details }) => details.includes('"fresh"'))
    for (let times = 0; times < 15; times++) await place.query('SELECT id FROM fresh', token)
    await until('it is recorded', 3000, async () => (await recorded()).length > 0)
    const events = await recorded()
    assert.ok(events.length <= 10, String(events.length))
    assert.partialDeepStrictEqual(JSON.parse(events.at(-1)?.details ?? ''), {
      resource: 'fresh',
      max_age: 60,
    })
  })
})
