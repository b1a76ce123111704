/** Malformed and hostile bodies: deeply nested, with duplicate members, of another shape. Each is a 4xx. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngineInLongRuns('bodies', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE t (id Integer PRIMARY KEY, v Text, j Json)')).status, 200)
  })
  after(() => server.stop())

  test('a body that is nested too deeply is refused, and one that is merely deep is accepted', async () => {
    for (const levels of [501, 20_000, 500_000]) {
      const deep = '['.repeat(levels) + ']'.repeat(levels)
      for (const [path, body] of [
        ['/query/t/select', `[{"ColumnName":"v","Operator":"=","Value":${deep}}]`],
        ['/query/t/insert', `{"id":1,"j":${deep}}`],
        ['/query/t/insert', `{"id":1,"v":${deep.replaceAll('[', '{"a":[').replaceAll(']', ']}')}}`],
        ['/query/t/update', `{"Criteria":${deep},"Assignments":{"v":1}}`],
        ['/query/cataloguetable/insert', `{"name":"x","columns":${deep}}`],
        ['/query', `{"Statement":"SELECT CAST(:p AS Json) AS x","Parameters":{"p":${deep}}}`],
      ] as const) {
        const started = performance.now()
        const { status, text } = await server.call(path, body)
        assert.ok(status === 400 || status === 413, `${path} ${levels}: ${text.slice(0, 200)}`)
        assert.ok(performance.now() - started < 2000, path)
      }
    }
    const kept = `${'['.repeat(480)}"]"${']'.repeat(480)}`
    assert.equal((await server.call('/query/t/insert', `{"id":2,"j":${kept}}`)).status, 200)
    assert.ok((await server.query('SELECT j FROM t WHERE id = 2')).text.includes(kept))
    const brackets = `[{${']'.repeat(2000)}`
    assert.equal((await server.call('/query/t/insert', { id: 3, v: brackets })).json.Rows[0]?.v, brackets)
  })

  test('a member in two spellings is refused wherever names are case-insensitive', async () => {
    for (const [path, body] of [
      ['/query/t/insert', '{"id":4,"ID":5}'],
      ['/query/t/select', '[{"ColumnName":"id","columnname":"v","Operator":"=","Value":"1"}]'],
      ['/query/t/update', '{"Criteria":[],"criteria":[],"Assignments":{"v":"x"}}'],
      ['/query', '{"Statement":"SELECT 1 AS x","statement":"SELECT 2 AS x"}'],
    ] as const) {
      const { status, json } = await server.call(path, body)
      assert.deepEqual([status, json.Code], [400, 'Request.BadBody'], path)
      assert.match(json.detail, /twice/)
    }
  })

  test('a body that is not an object, array or statement is 400 in every call', async () => {
    for (const body of ['null', '1', '"text"', 'true', '[]', '{}', '[[]]', '[null]', '{', '{"id":1}}', "{'id':1}"]) {
      for (const call of ['insert', 'update', 'delete', 'select']) {
        if (call === 'select' && body === '[]') continue
        const { status } = await server.call(`/query/t/${call}`, body)
        assert.equal(status, 400, `${call} ${body}`)
      }
      assert.equal((await server.call('/query', body)).status, 400, body)
    }
    for (const statement of ['', ' ', ';', '-- nothing', '/* open', 'SELECT 1 AS x; SELECT 2 AS x'])
      assert.equal((await server.query(statement)).status, 400, statement)
  })
})
