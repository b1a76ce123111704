/** One meaning on every engine: the corpus has the expected results on SQLite and on PostgreSQL, to the byte. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { ask, type Block, readCorpus } from './corpus.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const folder = new URL('./corpus/', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.txt'))

test('the corpus has at least 600 statements with a result', () => {
  const blocks = files.flatMap((file) => readCorpus(readFileSync(new URL(file, folder), 'utf8')))
  assert.ok(blocks.filter(({ expected }) => expected.length > 0).length >= 600)
})

describe('the corpus', () => {
  const servers: QueryServer[] = []
  const leaves: (() => Promise<void>)[] = []
  before(async () => {
    for (const engine of ['sqlite', 'postgres'] as const) {
      const { place, leave } = await openPlace(engine)
      leaves.push(leave)
      servers.push(await startQueryServer(place))
    }
  })
  after(async () => {
    for (const server of servers) await server.stop()
    for (const leave of leaves) await leave()
    await stopOwnPostgres()
  })

  for (const file of files)
    test(`${file}: every statement has the expected result on both engines`, async () => {
      const faults: string[] = []
      for (const block of readCorpus(readFileSync(new URL(file, folder), 'utf8'))) {
        if (block.statement !== '') faults.push(...(await compare(block, servers)))
      }
      assert.deepEqual(faults, [])
      await Promise.all(servers.map(dropEverything))
    })
})

/** Each file begins without tables: a new database for each would take longer than its statements. */
async function dropEverything(server: QueryServer): Promise<void> {
  const LISTED = 'SELECT name, isview FROM cataloguetables WHERE issystem = FALSE ORDER BY isview DESC'
  for (;;) {
    const { Rows } = (await server.query(LISTED)).json
    if (Rows.length === 0) return
    const replies = []
    for (const { name, isview } of Rows)
      replies.push(await server.query(`DROP ${isview === true ? 'VIEW' : 'TABLE'} "${name}"`))
    // What others read goes after them.
    assert.ok(
      replies.some(({ status }) => status === 200),
      replies[0]?.text,
    )
  }
}

async function compare(block: Block, servers: readonly QueryServer[]): Promise<string[]> {
  const answers = await Promise.all(servers.map((server) => ask(server, block.statement)))
  const [sqlite, postgres] = answers
  const where = `line ${block.line}: ${block.statement}`
  if (sqlite?.bytes !== postgres?.bytes)
    return [`${where}\n  sqlite   ${sqlite?.lines.join(' / ')}\n  postgres ${postgres?.lines.join(' / ')}`]
  const expected = block.expected.join('\n')
  const got = sqlite?.lines.join('\n') ?? ''
  if (expected === '') return got.startsWith('!') ? [`${where}\n  ${got}`] : []
  return expected === got ? [] : [`${where}\n  expected ${expected}\n  got ${got}`]
}
