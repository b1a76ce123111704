/** Windows as DuckDB has them: frames by rows and by distances, named windows, ranks. Needs DuckDB's package, which npm fetches once. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { duckdbFolder } from '../../bench/support/fetched-peers.ts'
import { inLongRuns } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

interface DuckDb {
  runAndReadAll(sql: string): Promise<{ getRowsJson(): (string | number | null)[][] }>
}

const CREATE = 'CREATE TABLE w (id Integer PRIMARY KEY, s Text, n Integer, ts Timestamp, d Date)'
const FUNCTIONS = ['count(*)', 'sum(n)', 'min(n)', 'max(id)', 'count(n)', 'percent_rank()', 'cume_dist()', 'rank()']
const ROWS = 250
const STATEMENTS = 80

inLongRuns('windows as in DuckDB', (place) => {
  let server: QueryServer
  let duckdb: DuckDb | undefined
  before(async () => {
    const folder = duckdbFolder()
    if (folder === undefined) return
    const { DuckDBInstance } = createRequire(`${folder}/`)('@duckdb/node-api')
    duckdb = await (await DuckDBInstance.create(':memory:')).connect()
    server = await startQueryServer(place())
    const choice = new Choice(20_261_118)
    const values = Array.from({ length: ROWS }, (_, id) => {
      const second = String(choice.below(60)).padStart(2, '0')
      const at = choice.oneIn(12) ? 'NULL' : `'2026-01-0${1 + choice.below(3)} 10:0${choice.below(10)}:${second}'`
      const n = choice.oneIn(10) ? 'NULL' : String(choice.below(41) - 20)
      return `(${id}, '${choice.of(['a', 'b', 'c'])}', ${n}, ${at}, ${at === 'NULL' ? at : `${at.slice(0, 11)}'`})`
    })
    const insert = `INSERT INTO w VALUES ${values.join(', ')}`
    for (const statement of [CREATE, insert]) {
      assert.equal((await server.query(statement)).status, 200)
      await duckdb?.runAndReadAll(statement.replaceAll('Integer', 'BIGINT').replace('Text', 'VARCHAR'))
    }
  })
  after(() => server?.stop())

  test('random windows have the same values', async (context) => {
    if (duckdb === undefined) return context.skip('DuckDB cannot be fetched: npm must reach its registry')
    const choice = new Choice(7)
    for (let made = 0; made < STATEMENTS; made++) {
      const items = FUNCTIONS.map((name, index) => {
        const isRank = name.endsWith('()')
        return `${name} OVER ${isRank ? 'base' : windowOf(choice)} AS c${index}`
      })
      const statement = `SELECT id, ${items.join(', ')} FROM w WINDOW base AS (PARTITION BY s ORDER BY ${choice.of(['n', 'ts', 'd'])} NULLS LAST) ORDER BY id`
      const reply = await server.call('/query?rows=arrays', { Statement: statement })
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
      const expected = (await duckdb.runAndReadAll(statement)).getRowsJson()
      assert.deepEqual(reply.json.Rows?.map(numbers), expected.map(numbers), statement)
    }
  })
})

function windowOf(choice: Choice): string {
  const key = choice.of(['n', 'ts', 'd'])
  const distance = (): string => {
    if (key === 'n') return String(choice.below(13))
    return `INTERVAL '${key === 'd' ? `${choice.below(3)} days` : choice.of(['0 seconds', '90 seconds', '5 minutes', '1 day'])}'`
  }
  const start = choice.of(['UNBOUNDED PRECEDING', `${distance()} PRECEDING`, 'CURRENT ROW'])
  const end = choice.of(['CURRENT ROW', `${distance()} FOLLOWING`, 'UNBOUNDED FOLLOWING'])
  const order = `ORDER BY ${key} ${choice.of(['ASC', 'DESC'])} NULLS ${choice.of(['FIRST', 'LAST'])}`
  return `(${choice.of(['', 'PARTITION BY s '])}${order} RANGE BETWEEN ${start} AND ${end})`
}

/** Integers, Decimals and Doubles have other forms there. */
function numbers(row: unknown): (number | null)[] {
  return Object.values(row ?? {}).map((cell) => (cell === null ? null : Number(cell)))
}
