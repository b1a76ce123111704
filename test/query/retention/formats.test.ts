/** Retention and every format: which row of a body is too old, before it is written; and what exports have after a round. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tableFromIPC } from 'apache-arrow'
import { onEveryEngine } from '../../support/engines.ts'
import { type QueryServer, type ReplyBody, startQueryServer } from '../query-server.ts'

const DAY = 86_400_000
const ARROW = 'application/vnd.apache.arrow.stream'
const PARQUET = 'application/vnd.apache.parquet'
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()

onEveryEngine('retention and formats', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await must('CREATE TABLE source (at Timestamp NOT NULL, id Integer NOT NULL, PRIMARY KEY (at, id))')
    await must(`INSERT INTO source VALUES ('${ago(0)}', 1), ('${ago(60)}', 2), ('${ago(1)}', 3)`)
    await must(
      `CREATE TABLE target (at Timestamp NOT NULL, id Integer NOT NULL, PRIMARY KEY (at, id)) WITH (retention = '30 days' ON at)`,
    )
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const exported = async (statement: string, accept: string) => {
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain', accept }
    const response = await fetch(`${server.url}/query`, { method: 'POST', body: statement, headers })
    assert.equal(response.status, 200)
    return Buffer.from(await response.arrayBuffer())
  }
  const insert = async (table: string, type: string, body: Uint8Array | string, query = '', more = {}) => {
    const headers = { authorization: 'Bearer admin', 'content-type': type, ...more }
    const url = `${server.url}/query/${table}/insert${query}`
    const response = await fetch(url, { method: 'POST', body: Buffer.from(body), headers })
    return {
      status: response.status,
      json: (await response.json()) as ReplyBody & { Line?: number; Horizon?: string },
    }
  }
  const ids = async (table: string) =>
    (await must(`SELECT id FROM ${table} ORDER BY id`)).Rows.map(({ id }) => Number(id))

  for (const type of ['text/csv', 'application/x-ndjson', ARROW, PARQUET])
    test(`${type}: the row that is too old is named, also by a dry run`, async () => {
      const body = await exported('SELECT id, at FROM source ORDER BY id', type)
      for (const query of ['', '?dryrun=true', '?duplicates=replace', '?duplicates=replace&dryrun=true']) {
        const { status, json } = await insert('target', type, body, query)
        assert.deepEqual([status, json.Code], [409, 'Data.TooOld'], `${query}: ${JSON.stringify(json)}`)
        // A line of CSV is counted with its header.
        assert.equal(json.Line ?? json.Row, type === 'text/csv' ? 3 : 2, query)
        assert.ok(Math.abs(Date.parse(json.Horizon ?? '') - (Date.now() - 30 * DAY)) < 3 * 60_000)
      }
      assert.deepEqual(await ids('target'), [])
      const young = await exported('SELECT id, at FROM source WHERE id <> 2 ORDER BY id', type)
      assert.equal((await insert('target', type, young, '?dryrun=true')).status, 200)
      assert.equal((await insert('target', type, young)).json.RowsAffected, 2)
      await must('DELETE FROM target ALL')
    })

  test('a row that is there is skipped however old it is; one before the cut is not there', async () => {
    await must('CREATE TABLE again (at Timestamp NOT NULL, id Integer NOT NULL, PRIMARY KEY (at, id))')
    const line = (days: number, id: number) => JSON.stringify({ at: ago(days).slice(0, 10), id })
    const body = [line(40, 1), line(2, 2)].join('\n')
    assert.equal((await insert('again', 'application/x-ndjson', body)).status, 200)
    await must(`ALTER TABLE again SET WITH (retention = '30 days' ON at, hold = on)`)
    const skipped = await insert('again', 'application/x-ndjson', body, '?duplicates=skip')
    assert.deepEqual([skipped.status, skipped.json.RowsAffected], [200, 0])
    for (const query of ['?duplicates=replace', '?duplicates=replace&dryrun=true'])
      assert.equal((await insert('again', 'application/x-ndjson', body, query)).json.Code, 'Data.Held', query)
    await must('ALTER TABLE again SET WITH (hold = off)')
    await run('again')
    for (const query of ['?duplicates=skip', '?duplicates=skip&dryrun=true'])
      assert.equal((await insert('again', 'application/x-ndjson', body, query)).json.Code, 'Data.TooOld', query)
  })

  test('a Date, and a body without the column', async () => {
    await must(
      `CREATE TABLE days (day Date NOT NULL DEFAULT current_date(), id Integer, PRIMARY KEY (day, id)) WITH (retention = '30 days' ON day)`,
    )
    const csv = (days: number) => `day,id\n${ago(days).slice(0, 10)},1\n`
    assert.equal((await insert('days', 'text/csv', csv(32), '?dryrun=true')).json.Line, 2)
    assert.equal((await insert('days', 'text/csv', csv(29), '?dryrun=true')).status, 200)
    assert.equal((await insert('days', 'text/csv', 'id\n7\n')).status, 200)
    assert.deepEqual(await ids('days'), [7])
  })

  test('what was answered under an idempotency key is answered again, and nothing is written', async () => {
    await must('CREATE TABLE keyed (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id))')
    const body = JSON.stringify({ at: ago(40), id: 1 })
    const key = { 'idempotency-key': 'retention-1' }
    const first = await insert('keyed', 'application/x-ndjson', body, '', key)
    await must(`ALTER TABLE keyed SET WITH (retention = '30 days' ON at)`)
    await run('keyed')
    const statement = { method: 'POST', headers: { ...key, 'idempotency-key': 'retention-2' } }
    const refused = await server.call('/query', { Statement: `INSERT INTO keyed VALUES ('${ago(40)}', 2)` }, statement)
    assert.equal(refused.json.Code, 'Data.TooOld')
    const again = await insert('keyed', 'application/x-ndjson', body, '', key)
    assert.deepEqual([first.json.RowsAffected, again.status, again.json.RowsAffected], [1, 200, 1])
    const other = await insert('keyed', 'application/x-ndjson', body, '', { 'idempotency-key': 'retention-3' })
    assert.deepEqual([other.json.Code, other.json.Line ?? other.json.Row], ['Data.TooOld', 1])
    assert.deepEqual(await ids('keyed'), [])
  })

  test('no export, aggregate, view or page has a row that a round has deleted', async () => {
    const columns = engine === 'sqlite' ? 'WITH (columns = on)' : ''
    await must(`CREATE TABLE sold (at Timestamp NOT NULL, id Integer NOT NULL, PRIMARY KEY (at, id)) ${columns}`)
    await must(`INSERT INTO sold VALUES ('${ago(60)}', 1), ('${ago(31)}', 2), ('${ago(1)}', 3), ('${ago(0)}', 4)`)
    await must('CREATE VIEW seen AS SELECT id, at FROM sold')
    await must(`ALTER TABLE sold SET WITH (retention = '30 days' ON at)`)
    await run('sold')
    for (const statement of ['SELECT id FROM sold ORDER BY id', 'SELECT id FROM seen ORDER BY id']) {
      assert.equal((await exported(statement, 'text/csv')).toString(), 'id\r\n3\r\n4\r\n')
      assert.equal((await exported(statement, 'application/x-ndjson')).toString(), '{"id":3}\n{"id":4}\n')
      assert.deepEqual([...(tableFromIPC(await exported(statement, ARROW)).getChild('id') ?? [])], [3n, 4n])
    }
    const { Rows } = await must('SELECT count(*) AS n, min(id) AS least, max(id) AS most, sum(id) AS total FROM sold')
    assert.deepEqual(
      Rows,
      [{ n: 2, least: 3, most: 4, total: '7' }].map((row) => ({ ...row, total: Rows[0]?.total })),
    )
    assert.equal(Number(Rows[0]?.total), 7)
    const criteria = await server.call('/query/select', { Table: 'sold', Columns: ['id'], OrderBy: [{ Column: 'id' }] })
    if (criteria.status === 200)
      assert.deepEqual(
        criteria.json.Rows.map(({ id }) => Number(id)),
        [3, 4],
      )
    const parquet = await exported('SELECT at, id FROM sold', PARQUET)
    await must('CREATE TABLE copied (at Timestamp NOT NULL, id Integer NOT NULL, PRIMARY KEY (at, id))')
    assert.equal((await insert('copied', PARQUET, parquet)).json.RowsAffected, 2)
  })

  async function run(table: string): Promise<void> {
    await (await server.service.retention()).run(table, AbortSignal.timeout(60_000))
  }
})
