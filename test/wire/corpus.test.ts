/** What recorded clients ask of the tables themselves: our answers are PostgreSQL's, but for listed exceptions. The rest is in catalogue.test.ts. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { claimStatement } from '../../packages/server/src/wire/catalogue/claims.ts'
import { type CorpusLine, readCorpus } from '../../scripts/tools/corpus-file.ts'
import { ALICE } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { DIFFERENCES, type Difference, findDifference, ourType } from './corpus-exceptions.ts'

const CORPUS = new URL('./corpus/', import.meta.url)
const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } })

test('statements of recorded clients on our tables have the rows and types of a PostgreSQL, but for listed exceptions', async () => {
  const client = new pg.Client({
    ...{ host: '127.0.0.1', port: server.wirePort ?? 0, database: 'gatehouse' },
    ...{ user: ALICE.username, password: ALICE.password },
    types: { getTypeParser: () => (text: unknown) => text },
  })
  await client.connect()
  const seen = new Set<string>()
  const problems: string[] = []
  const used = new Set<Difference>()
  for (const file of readdirSync(CORPUS).filter((name) => name.endsWith('.jsonl'))) {
    for (const line of await readCorpus(new URL(file, CORPUS))) {
      const values = (line.parameters ?? []).map(({ value }) => value)
      const key = JSON.stringify([line.text, values])
      if (!isCompared(line) || seen.has(key)) continue
      seen.add(key)
      const { problem, difference } = await compare(client, line, values)
      if (difference !== undefined) used.add(difference)
      if (problem !== undefined) problems.push(`${file}: ${line.text.slice(0, 200)}\n  ${problem}`)
    }
  }
  await client.end()
  assert.deepEqual(problems, [])
  assert.ok(seen.size > 100, `${seen.size} statements`)
  const unused = DIFFERENCES.filter((each) => !used.has(each))
  assert.deepEqual(unused, [], 'every exception is needed')
})

/** Queries with their rows; how long a heavy one runs until it is cancelled is tested elsewhere. */
function isCompared({ text, rows, error, further }: CorpusLine): boolean {
  if (rows === undefined || error !== undefined || further !== undefined) return false
  return /^\s*(--.*\n)?\s*(select|with)\b/i.test(text) && claimStatement(text) === 'no'
}

async function compare(
  client: pg.Client,
  line: CorpusLine,
  values: (string | null)[],
): Promise<{ problem?: string | undefined; difference?: Difference | undefined }> {
  const difference = findDifference(line.text)
  try {
    const result = await client.query({ text: line.text, values, rowMode: 'array' })
    if (difference?.code !== undefined) return { problem: 'is not refused any more' }
    if (difference !== undefined) return { difference }
    const types = result.fields.map(({ dataTypeID }) => dataTypeID)
    const wanted = (line.columns ?? []).map(({ type }) => ourType(type))
    if (types.join() !== wanted.join()) return { problem: `types ${types} instead of ${wanted}` }
    const rows = inOrder(result.rows.slice(0, line.rowCount === undefined ? undefined : line.rows?.length), line)
    const expected = inOrder(line.rows ?? [], line)
    const at = expected.findIndex((row, index) => rows[index] !== row)
    if (rows.length !== expected.length) return { problem: `${rows.length} rows instead of ${expected.length}` }
    return at === -1 ? {} : { problem: `${rows[at]} instead of ${expected[at]}` }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (difference?.code === code) return { difference }
    return { problem: `${code} ${error instanceof Error ? error.message : ''}` }
  }
}

/** Without ORDER BY the rows have no order; cut ones then cannot be compared. */
function inOrder(rows: readonly unknown[], { text, rowCount }: CorpusLine): string[] {
  const lines = rows.map((row) => JSON.stringify(row))
  if (/ORDER BY/i.test(text)) return lines
  return rowCount === undefined ? lines.sort() : []
}
