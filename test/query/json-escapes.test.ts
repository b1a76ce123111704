/** Json values with escapes that PostgreSQL cannot parse: refused on both engines, and readable where they are stored. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { INTEGER, JSON_TYPE } from 'gatehouse-iql'
import { Client } from 'pg'
import { csvField } from '../../packages/csv/src/record.ts'
import { rowFields } from '../../packages/csv/src/row.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const UNSTORABLE = [
  '"\\u0000"',
  '["\\ud800"]',
  '{"a": "\\udc00x"}',
  '{"\\uD800": 1}',
  '[["\\ude00\\ud83d"]]',
  '"\\ud83d\\\\\\ude00"',
  '"\\ud83d\\ud83d\\ude00"',
]
const STORABLE = ['"\\ud83d\\ude00"', '"\\\\ud800"', '"\\\\\\\\u0000"', '{"\\uD83D\\uDE00": "\\u0001"}']

const COLUMN = { name: 'c', type: INTEGER, isRequired: false, hasDefault: false }

onEveryEngine('escapes in Json', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE js (id Integer PRIMARY KEY, j Json)')).status, 200)
    assert.equal((await server.call('/query/js/insert', { id: 0, j: {} })).status, 200)
  })
  after(() => server.stop())

  const write = async (json: string, id: number) => {
    const Criteria = '[{"ColumnName": "id", "Operator": "=", "Value": 0}]'
    const replies = [
      await server.call('/query/js/insert', `{"id": ${id}, "j": ${json}}`),
      await server.call('/query/js/update', `{"Criteria": ${Criteria}, "Assignments": {"j": ${json}}}`),
      await server.call('/query', `{"Statement": "UPDATE js SET j = :j WHERE id = 0", "Parameters": {"j": ${json}}}`),
      await server.query(`UPDATE js SET j = JSON '${json}' WHERE id = 0`),
    ]
    return replies.map(({ status, json: { Code } }) => Code ?? status)
  }

  for (const json of UNSTORABLE) {
    test(`${json} is refused`, async () => {
      const refused = ['Data.BadValue', 'Data.BadValue', 'IQL.BadValue', 'IQL.BadLiteral']
      assert.deepEqual(await write(json, 1), refused)
      // The rows of the declarative file, and of a CSV import.
      await assert.rejects(server.service.tables.insert('js', ['id', 'j'], [['1', json]]), /is not JSON/)
      const row = rowFields(`1,${csvField(json)}`, { delimiter: ',' }, [COLUMN, { ...COLUMN, type: JSON_TYPE }])
      assert.match('reason' in row ? row.reason : '', /is not JSON/)
    })
  }

  for (const [index, json] of STORABLE.entries()) {
    test(`${json} is stored`, async () => assert.deepEqual(await write(json, 10 + index), [200, 200, 200, 200]))
  }

  if (engine === 'sqlite') return

  test('a value that an earlier version stored does not fail the statements that read it', async () => {
    assert.equal((await server.query('DELETE FROM js ALL')).status, 200)
    const client = new Client({ connectionString: place().databaseUrl })
    await client.connect()
    try {
      for (const [id, json] of [
        '{"a": "\\udc00x", "b": "\\\\ud800"}',
        '["\\ud83d\\\\\\ude00", "\\u0000"]',
        '{"a": "\\u0041"}',
      ].entries())
        await client.query('INSERT INTO gatehouse_data.js VALUES ($1, $2)', [id, json])
    } finally {
      await client.end()
    }
    const { json } = await server.query(
      `SELECT json_text(j, 'a') AS a, json_get(j, 'a') AS aj, json_text(j, 'b') AS b, json_text(j, 0) AS c, json_get(j, 1) AS d
       FROM js ORDER BY id`,
    )
    assert.deepEqual(json.Rows, [
      { a: '\ufffdx', aj: '\ufffdx', b: '\\ud800', c: null, d: null },
      { a: null, aj: null, b: null, c: '\ufffd\\\ufffd', d: '\ufffd' },
      { a: 'A', aj: 'A', b: null, c: null, d: null },
    ])
  })
})
