/** `columns = on` in every place that defines or shows a table. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { onSqlite } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

onSqlite('columns = on', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  /** As the system tables and the catalogue show it. */
  const isColumnar = async (table: string) => {
    const rows = await Promise.all(
      ['cataloguetables', 'CatalogueTable'].map((from) => must(`SELECT columnar FROM ${from} WHERE name = '${table}'`)),
    )
    const { text } = await server.call(`/catalogue/tables/${table}`, undefined, { method: 'GET' })
    const shown = [...rows.map(({ Rows }) => Rows[0]?.columnar), JSON.parse(text).columnar]
    assert.equal(new Set(shown).size, 1, `${table}: ${shown}`)
    return shown[0]
  }
  const triggers = (table: string) => {
    const database = new Sqlite(join(place().dataFolder, 'query.db'), { readonly: true })
    try {
      return database
        .prepare(
          "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '_gh_columns_%' AND tbl_name = ?",
        )
        .pluck()
        .get(table)
    } finally {
      database.close()
    }
  }

  test('a table has none unless it is defined so; ALTER TABLE changes it', async () => {
    await must('CREATE TABLE plain (id Integer PRIMARY KEY)')
    assert.deepEqual([await isColumnar('plain'), triggers('plain')], [false, 0])
    await must("CREATE TABLE trades (id Integer PRIMARY KEY) COMMENT 'a' WITH (live = off, columns = on)")
    assert.deepEqual([await isColumnar('trades'), triggers('trades')], [true, 3])
    assert.equal((await must("SELECT live FROM cataloguetables WHERE name = 'trades'")).Rows[0]?.live, false)
    await must("ALTER TABLE trades SET COMMENT 'b'")
    assert.equal(await isColumnar('trades'), true, 'another change leaves it as it is')
    await must('ALTER TABLE trades SET WITH (COLUMNS = OFF)')
    assert.deepEqual([await isColumnar('trades'), triggers('trades')], [false, 0])
    await must('ALTER TABLE plain SET WITH (columns = on) COMMENT NULL')
    assert.deepEqual([await isColumnar('plain'), triggers('plain')], [true, 3])
    await must('ALTER TABLE plain ADD COLUMN note Text')
    assert.deepEqual([await isColumnar('plain'), triggers('plain')], [true, 3])
    await must('DROP TABLE plain')
    assert.equal(triggers('plain'), 0)
  })

  test('a table with other unique keys also marks rows that REPLACE deletes', async () => {
    await must('CREATE TABLE named (name Text PRIMARY KEY) WITH (columns = on)')
    assert.equal(triggers('named'), 5)
    await must('CREATE TABLE listed (id Integer PRIMARY KEY, name Text) WITH (columns = on)')
    await must('CREATE UNIQUE INDEX by_name ON listed (name)')
    assert.equal(triggers('listed'), 5)
    await must('DROP INDEX by_name')
    assert.equal(triggers('listed'), 3)
  })

  test('rows of CatalogueTable say it too', async () => {
    const columns = [{ name: 'id', type: 'Integer', primarykey: true }]
    const created = await server.call('/query/CatalogueTable/insert', [
      { name: 'fast', columns, columnar: true },
      { name: 'usual', columns },
    ])
    assert.equal(created.status, 200, created.text)
    assert.deepEqual([await isColumnar('fast'), await isColumnar('usual')], [true, false])
    const { Rows } = await must(
      "UPDATE CatalogueTable SET columnar = false WHERE name = 'fast' RETURNING name, columnar",
    )
    assert.deepEqual(Rows, [{ name: 'fast', columnar: false }])
    assert.equal(await isColumnar('fast'), false)
  })

  test('it is refused for views, for system tables, and for tables without a name for the row number', async () => {
    await must('CREATE VIEW seen AS SELECT 1 AS one')
    const refused = async (statement: string) => {
      const { json } = await server.query(statement)
      return [json.Code, json.Hint]
    }
    assert.deepEqual(await refused('ALTER TABLE seen SET WITH (columns = on)'), [
      'IQL.BadDefinition',
      'use CREATE OR REPLACE VIEW, ALTER VIEW or DROP VIEW',
    ])
    assert.equal((await refused('ALTER TABLE cataloguetables SET WITH (columns = on)'))[0], 'IQL.SystemTable')
    assert.deepEqual(
      await refused('CREATE TABLE odd (rowid Integer, _rowid_ Integer, oid Integer) WITH (columns = on)'),
      [
        'Data.NotColumnar',
        'its columns use all three names of the row number, rowid, _rowid_ and oid: rename one of them',
      ],
    )
    assert.equal((await server.call('/catalogue/tables/odd', undefined, { method: 'GET' })).status, 404)
    assert.equal((await refused('CREATE TABLE x (id Integer) WITH (columns = on, columns = off)'))[0], 'IQL.Syntax')
  })
})
