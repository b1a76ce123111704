/** Thirty mistakes that assistants make: each error holds a statement that runs, and most hold the one that was meant. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { ANOTHER, CORRECTED } from './mistakes.ts'

onEveryEngineInLongRuns('mistakes of agents', (place) => {
  let server: TestServer
  let client: McpClient
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--limit-mcp': '' } })
    client = new McpClient(server, await agentToken(server))
  })
  after(() => server.stop())

  test('there are thirty', () => assert.equal(CORRECTED.length, 30))

  for (const [mistake, meant] of CORRECTED)
    test(`corrected: ${mistake}`, async () => {
      const text = await client.error('query', { statement: mistake })
      assert.equal(/\nCorrected: ([\s\S]*)$/.exec(text)?.[1], meant, text)
      assert.match(await client.text('query', { statement: meant }), /^\d+ rows?[ ,]/, meant)
    })

  for (const mistake of ANOTHER)
    test(`another that runs: ${mistake}`, async () => {
      const text = await client.error('query', { statement: mistake })
      const works = /\nThis works: (.*)$/.exec(text)?.[1] ?? ''
      assert.match(works, /FROM trades /)
      assert.match(await client.text('query', { statement: works }), /^5 rows /)
    })

  test('what hides a part of itself, and what is not the caller’s, is never shown as corrected', async () => {
    for (const statement of [
      "SELECT prise FROM trades WHERE symbol = '\u202e'",
      `SELECT prise FROM trades WHERE symbol = '${'x'.repeat(3000)}'`,
      '/* a */ SELECT prise FROM trades',
    ])
      assert.doesNotMatch(await client.error('query', { statement }), /Corrected/)
    // A table of operators: neither its columns nor its name.
    const text = await client.error('query', { statement: 'SELECT actr FROM auditlog' })
    assert.doesNotMatch(text, /Corrected|actor/)
  })

  test('other tools say what to write, too', async () => {
    for (const [tool, args, expected] of [
      ['query', { sql: 'SELECT 1' }, /\nFor example: query \{"statement":"SHOW TABLES"\}$/],
      ['describe_table', { table: 'trade' }, /\nThis works: describe_table \{"table":"trades"\}$/],
      [
        'describe_table',
        { table: 'nothing' },
        /\nHint: list_tables lists them: bars_1h, bars_1m, instruments, quotes, trades\n/,
      ],
      ['saved_query', { name: 'none such' }, /\nThis works: saved_query \{\}$/],
      ['changes', { id: 'none', since: 1 }, /\nThis works: watch \{/],
      ['read_feed', { feed: 'None', topic: 'x' }, /\nThis works: list_feeds \{\}$/],
      [
        'watch',
        { statement: 'SELECT id FROM trades LIMIT 3' },
        /\nCorrected: SELECT id FROM trades ORDER BY 1 LIMIT 3$/,
      ],
    ] as const)
      assert.match(await client.error(tool, args), expected)
  })
})
