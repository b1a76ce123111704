/** LATEST ON reads one entry of an index for each key, on both engines; as a live query it has one row for each key. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import { bind, parse } from 'gatehouse-iql'
import pg from 'pg'
import { createEmission, emitQuery } from '../../packages/server/src/query/engines/emit/query.ts'
import { POSTGRES } from '../../packages/server/src/query/engines/postgres/dialect/dialect.ts'
import { SQLITE } from '../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { onEveryEngine } from '../support/engines.ts'
import { marketCatalogue } from './iql/market-catalogue.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const SYMBOLS = 20
const ROWS = 4000

onEveryEngine('the last row of each key', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    for (const name of ['indexed', 'plain'])
      await server.query(`CREATE TABLE ${name} (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp, n Integer)`)
    await server.query('CREATE INDEX indexed_by_symbol ON indexed (symbol, at)')
    const rows = Array.from({ length: ROWS }, (_, id) => {
      const second = String((id * 7) % 60).padStart(2, '0')
      return { id, symbol: `S${id % SYMBOLS}`, at: id % 50 === 0 ? null : `2026-01-05T10:00:${second}Z`, n: id % 11 }
    })
    for (const name of ['indexed', 'plain'])
      assert.equal((await server.call(`/query/${name}/insert`, rows)).status, 200)
  })
  after(() => server.stop())

  test('the rows are the same with and without the index', async () => {
    for (const rest of ['', 'WHERE n < 4 ', "WHERE symbol > 'S3' ", 'WHERE n > 100 ']) {
      const [indexed, plain] = await Promise.all(
        ['indexed', 'plain'].map((name) =>
          server.query(`SELECT * FROM ${name} ${rest}LATEST ON at PARTITION BY symbol ORDER BY symbol`),
        ),
      )
      assert.equal(indexed?.status, 200, indexed?.text)
      assert.deepEqual(indexed?.json.Rows, plain?.json.Rows)
    }
  })

  test('EXPLAIN says whether an index is used', async () => {
    const explain = async (name: string) =>
      (await server.query(`EXPLAIN SELECT id FROM ${name} LATEST ON at PARTITION BY symbol`)).text
    assert.match(await explain('indexed'), /find in indexed the last at of each symbol by index on symbol, at/)
    assert.match(await explain('plain'), /number the rows of each key/)
  })

  test('the database reads the index only', async () => {
    const sql = buildSql('SELECT id, qty FROM trades LATEST ON ts PARTITION BY symbol', engine)
    const lines = engine === 'sqlite' ? planOfSqlite(sql) : await planOfPostgres(sql, place().databaseUrl)
    assert.ok(lines.length > 0)
    assert.doesNotMatch(lines.join('\n'), /SCAN (s0|x)(?! USING)|Seq Scan|TEMP B-TREE FOR ORDER BY/, lines.join('\n'))
  })
})

/** In the catalogue of these tests, a symbol and a time are unique in trades. */
function buildSql(statement: string, engine: 'sqlite' | 'postgres'): string {
  const dialect = engine === 'sqlite' ? SQLITE : POSTGRES
  const { statement: bound } = bind(parse(statement), statement, marketCatalogue())
  assert.ok(bound.kind === 'query')
  const emission = createEmission(dialect)
  return emission.placeholders[engine === 'sqlite' ? 'positional' : 'numbered'](emitQuery(bound, emission)).sql
}

function planOfSqlite(sql: string): string[] {
  const database = new Database(':memory:')
  database.exec('CREATE TABLE trades (id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, ts INTEGER NOT NULL, qty INTEGER)')
  database.exec('CREATE INDEX by_symbol ON trades (symbol, ts)')
  const rows = database.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
  database.close()
  return rows.map(({ detail }) => detail)
}

async function planOfPostgres(sql: string, connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const schema = /FROM (\w+)\."trades"/.exec(sql)?.[1] ?? ''
    await client.query('BEGIN')
    await client.query(
      `CREATE TABLE ${schema}.trades (id bigint PRIMARY KEY, symbol text COLLATE "C" NOT NULL, ts timestamp NOT NULL, qty bigint)`,
    )
    await client.query(`CREATE INDEX by_symbol ON ${schema}.trades (symbol, ts)`)
    // The table is empty: the planner would read it as a whole.
    await client.query('SET LOCAL enable_seqscan = off')
    await client.query('SET LOCAL enable_bitmapscan = off')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`)
    return rows.map((row) => row['QUERY PLAN'])
  } finally {
    await client.end()
  }
}
