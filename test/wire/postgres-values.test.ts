/** The same expression here and in PostgreSQL: the same value, or an error, or a difference that is documented. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { DIFFERENCES } from '../../scripts/docs/iql-differences.ts'
import { ADMIN } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { WireSession } from '../support/wire-session.ts'

const SECTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  readFileSync(new URL('./postgres-values.txt', import.meta.url), 'utf8')
    .split(/^= /m)
    .slice(1)
    .map((section) => {
      const [name = '', ...lines] = section.split('\n').filter((line) => line !== '')
      return [name, lines]
    }),
)

type Value = string | Error

onEveryEngineInLongRuns('values as in PostgreSQL', (place) => {
  let server: TestServer
  let session: WireSession
  let database: PostgresDatabase
  let client: pg.Client
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--limit-query': 'user=10000/60' },
    })
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    database = await createPostgresDatabase()
    client = new pg.Client({ connectionString: database.url, types: { getTypeParser: () => (text: string) => text } })
    await client.connect()
    await client.query("SET TimeZone TO 'UTC'")
  })
  after(async () => {
    session.close()
    await server.stop()
    await client.end()
    await database.drop()
  })

  const here = async (text: string): Promise<Value> => {
    const { errors, rows } = await session.query(text)
    const [error] = errors
    if (error?.C?.startsWith('XX') === true) throw new Error(`${text}: ${error.M}`)
    return error === undefined
      ? written(rows.map((row) => row.map((cell) => cell?.toString() ?? null)))
      : new Error(error.M)
  }
  const there = async (text: string): Promise<Value> => {
    try {
      return written((await client.query<(string | null)[]>({ text, rowMode: 'array' })).rows)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  for (const [name, lines] of SECTIONS)
    test(name, async () => {
      assert.ok(lines.length > 0)
      const suffix = name.endsWith('on the catalogue') ? " FROM pg_am WHERE amname = 'heap'" : ''
      const wrong: string[] = []
      for (const line of lines) {
        const text = line.startsWith('SELECT ') ? line : `SELECT ${line} AS x${suffix}`
        const [ours, theirs] = await Promise.all([here(text), there(text)])
        if (findKind(ours, theirs) !== name.replace(' on the catalogue', ''))
          wrong.push(`${line}: ${ours} here, ${theirs} in PostgreSQL`)
      }
      assert.deepEqual(wrong, [])
    })

  test('what differs is documented, and differs', async () => {
    for (const { examples } of DIFFERENCES)
      for (const line of examples) {
        const text = line.startsWith('SELECT ') ? line : `SELECT ${line} AS x`
        assert.equal(findKind(await here(text), await there(text)), 'different', line)
      }
  })
})

function findKind(ours: Value, theirs: Value): string {
  if (ours instanceof Error) return theirs instanceof Error ? 'Both refuse it' : 'Refused here, a value in PostgreSQL'
  if (theirs instanceof Error) return 'A value here, refused by PostgreSQL'
  return ours === theirs ? 'The same value' : 'different'
}

/** Without zeros at the end of decimals, since scales differ. */
function written(rows: readonly (readonly (string | null)[])[]): string {
  return rows.map((row) => row.map((cell) => (cell === null ? 'NULL' : trimmed(cell))).join('|')).join('\n')
}

function trimmed(text: string): string {
  return /^-?\d+\.\d*$/.test(text) ? text.replace(/0+$/, '').replace(/\.$/, '') : text
}
