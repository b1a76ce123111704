/** Thirty questions about the demonstration's market: few calls, short texts, and the answer in the last one, on both engines. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { agentToken, McpClient } from '../../support/mcp.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { QUESTIONS } from './questions.ts'

const MOST_CALLS = 4
const MOST_BYTES = 16 * 1024

test('there are thirty', () => assert.equal(QUESTIONS.length, 30))

onEveryEngineInLongRuns('questions of people to agents', (place) => {
  let server: TestServer
  let client: McpClient
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--limit-mcp': '' } })
    client = new McpClient(server, await agentToken(server))
  })
  after(() => server.stop())

  for (const { question, calls, answer } of QUESTIONS)
    test(question, async () => {
      let bytes = 0
      let text = ''
      for (const { tool, args } of calls) {
        const { content } = await client.call(tool, args)
        text = content[0].text
        bytes += Buffer.byteLength(text)
      }
      assert.ok(`${text}\n`.includes(answer), text)
      assert.ok(calls.length <= MOST_CALLS && bytes <= MOST_BYTES, `${calls.length} calls, ${bytes} bytes`)
    })
})
