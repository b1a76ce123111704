/** Asking before expense: questions, their answers, what is kept between the rounds, and the rows of a day. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngine, onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { agentToken, type Envelope, McpClient } from '../support/mcp.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const FORMS = { capabilities: { elicitation: {} } }
const SCAN = 'SELECT DISTINCT venue FROM trades'
const YES = { run: { action: 'accept', content: { run: true } } }

onEveryEngine('expense of agents', (place) => {
  let server: TestServer
  let client: McpClient
  before(async () => {
    const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-scan-rows': '20', '--agent-rows-per-day': '300' }
    server = await startTestServer(place(), { flags })
    client = new McpClient(server, await agentToken(server))
  })
  after(() => server.stop())

  const ask = (params: object = {}, envelope: Envelope = FORMS, statement = SCAN) =>
    client.request('tools/call', { name: 'query', arguments: { statement }, ...params }, envelope)

  test('a plan that reads many rows whole is a question with the statement and the plan; yes runs it', async () => {
    const { body } = await ask()
    assert.equal(body.result.resultType, 'input_required')
    const { requestState, inputRequests } = body.result
    const { method, params } = inputRequests.run
    assert.deepEqual(
      [method, params.mode, Object.keys(params.requestedSchema.properties)],
      ['elicitation/create', 'form', ['run']],
    )
    for (const part of [SCAN, 'read trades', 'more than 20 rows'])
      assert.ok(params.message.includes(part), params.message)
    const ran = await ask({ requestState, inputResponses: YES })
    assert.match(ran.body.result.content[0].text, /^\d+ rows · venue Text/)
  })

  test('no, and nothing: it does not run; no answer asks again', async () => {
    const { requestState } = (await ask()).body.result
    for (const run of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { run: false } }]) {
      const { result } = (await ask({ requestState, inputResponses: { run } })).body
      assert.match(result.content[0].text, /^mcp\.expensive: The person does not want/)
    }
    for (const inputResponses of [undefined, {}, { other: YES.run }, { run: 'yes' }])
      assert.equal((await ask({ requestState, inputResponses })).body.result.resultType, 'input_required')
  })

  test('what is kept between the rounds counts for this caller and this request only', async () => {
    const { requestState } = (await ask()).body.result
    const altered = requestState.slice(0, -2) + (requestState.endsWith('AA') ? 'BB' : 'AA')
    const other = SCAN.replace('venue', 'symbol')
    const boss = new McpClient(server, await agentToken(server, ADMIN))
    const replies = [
      await ask({ requestState: altered, inputResponses: YES }),
      await ask({ requestState: 7, inputResponses: YES }),
      await ask({ requestState: 'x'.repeat(100_000), inputResponses: YES }),
      await ask({ requestState, inputResponses: YES }, FORMS, other),
      await boss.request(
        'tools/call',
        { name: 'query', arguments: { statement: SCAN }, requestState, inputResponses: YES },
        FORMS,
      ),
    ]
    for (const { status, body } of replies) assert.deepEqual([status, body.error?.code], [200, -32602])
    // Answers to what nobody asked.
    assert.equal((await ask({ inputResponses: YES })).body.result.resultType, 'input_required')
  })

  test('clients that cannot ask, and those of 2025, get an error that says what to do instead', async () => {
    const params = { name: 'query', arguments: { statement: SCAN } }
    const replies = [
      await ask({}, {}),
      await ask({}, { capabilities: { elicitation: { url: {} } } }),
      await client.legacy('tools/call', params),
    ]
    for (const { body } of replies) {
      assert.equal(body.result.isError, true)
      assert.match(
        body.result.content[0].text,
        /^mcp\.expensive: It reads all of trades \(more than 20 rows\).*\nHint: .*\/console/,
      )
    }
  })

  test('keys, indexes, few rows and tables with a row filter are not asked about', async () => {
    const token = (await signIn(server, ADMIN)).access_token
    for (const statement of ['SELECT * FROM trades WHERE id = 1', 'SELECT * FROM trades LIMIT 3'])
      assert.equal((await ask({}, FORMS, statement)).body.result.resultType, 'complete', statement)
    const write = (statement: string) =>
      fetch(`http://127.0.0.1:${server.port}/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
        body: statement,
      })
    assert.equal(
      (await write('CREATE TABLE own (id Integer PRIMARY KEY, who Text) ROW FILTER (who = :username)')).status,
      200,
    )
    await write("INSERT INTO own SELECT i, 'somebody' FROM generate_series(1, 100) AS i")
    assert.equal((await ask({}, FORMS, 'SELECT count(*) AS n FROM own')).body.result.resultType, 'complete')
  })

  test('the rows of a day are one budget for all agents of a user', async () => {
    const series = { statement: 'SELECT i FROM generate_series(1, 200) AS i' }
    const { structuredContent } = await client.call('watch', {
      statement: 'SELECT id FROM trades WHERE id = 1',
      format: 'json',
    })
    await client.text('query', series)
    const other = new McpClient(server, await agentToken(server))
    await other.call('query', series)
    assert.match(await other.error('query', series), /^mcp\.rows: /)
    assert.match(await client.error('list_tables'), /^mcp\.rows: /)
    const read = await client.request('resources/read', { uri: `gatehouse://watch/${structuredContent.id}` })
    assert.deepEqual([read.status, read.body.error.code], [429, -32603])
    assert.match(read.body.error.message, /^mcp\.rows: /)
  })
})

onEveryEngineInLongRuns('long statements of agents', (place) => {
  test('watches and live charts count among the two statements of a user, and end with the question as queries do', async () => {
    const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-seconds': '2', '--query-seconds': '60' }
    const server = await startTestServer(place(), { flags })
    try {
      const client = new McpClient(server, await agentToken(server))
      const admin = (await signIn(server, ADMIN)).access_token
      // The readers begin.
      await client.text('watch', { statement: 'SELECT count(*) AS n FROM instruments' })
      const heavy = (at: number) =>
        `SELECT count(*) AS watched${at} FROM instruments a CROSS JOIN instruments b CROSS JOIN instruments c CROSS JOIN instruments d CROSS JOIN instruments e CROSS JOIN instruments f WHERE a.symbol > b.symbol`
      const calls = [1, 2, 3].map((at) =>
        client.request(
          'tools/call',
          at % 2 === 0
            ? { name: 'watch', arguments: { statement: heavy(at) } }
            : { name: 'chart', arguments: { statement: heavy(at), live: true } },
          FORMS,
        ),
      )
      let most = 0
      const answered = Promise.all(calls)
      for (let isOver = false; !isOver; ) {
        const headers = { authorization: `Bearer ${admin}` }
        const reply = await fetch(`http://127.0.0.1:${server.port}/admin/queries`, { headers })
        most = Math.max(most, (await reply.text()).split('AS watched').length - 1)
        isOver = await Promise.race([
          answered.then(() => true),
          new Promise<boolean>((go) => setTimeout(go, 50, false)),
        ])
      }
      assert.equal(most, 2)
      for (const { body } of await answered)
        assert.match(body.result.inputRequests?.run.params.message ?? JSON.stringify(body), /It has run for 2 s/)
    } finally {
      await server.stop()
    }
  })

  test('what a watch or a live chart reads whole is counted among the two statements of a user, too', async () => {
    const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-scan-rows': '1000', '--agent-seconds': '3' }
    const server = await startTestServer(place(), { flags })
    try {
      const client = new McpClient(server, await agentToken(server))
      const admin = (await signIn(server, ADMIN)).access_token
      const watch = (statement: string) =>
        client.request('tools/call', { name: 'watch', arguments: { statement } }, FORMS)
      const heavy = (at: number) =>
        `SELECT count(*) AS counted${at} FROM instruments a CROSS JOIN instruments b CROSS JOIN instruments c CROSS JOIN instruments d CROSS JOIN instruments e CROSS JOIN instruments f WHERE a.symbol > b.symbol`
      const order: string[] = []
      const ended = (name: string) => () => order.push(name)
      const running = [1, 2].map((at) => watch(heavy(at)).then(ended('heavy')))
      await until('both run', 5_000, async () => {
        const headers = { authorization: `Bearer ${admin}` }
        const reply = await fetch(`http://127.0.0.1:${server.port}/admin/queries`, { headers })
        return (await reply.text()).split('AS counted').length - 1 === 2
      })
      const { body } = await watch(SCAN).finally(ended('whole'))
      await Promise.all(running)
      assert.match(body.result.inputRequests?.run.params.message ?? JSON.stringify(body), /It reads all of trades/)
      assert.equal(order[0], 'heavy')
    } finally {
      await server.stop()
    }
  })

  test('a run beyond agent_seconds ends with the question; yes runs it for as long as any statement', async () => {
    const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-seconds': '1', '--query-seconds': '3' }
    const server = await startTestServer(place(), { flags })
    try {
      const client = new McpClient(server, await agentToken(server))
      const statement =
        'SELECT count(*) AS n FROM generate_series(1, 100000) AS a CROSS JOIN generate_series(1, 100000) AS b WHERE (a * b) % 7 = 3'
      const params = { name: 'query', arguments: { statement } }
      const { body } = await client.request('tools/call', params, FORMS)
      assert.match(body.result.inputRequests?.run.params.message, /It has run for 1 s/)
      const { requestState } = body.result
      const ran = await client.request('tools/call', { ...params, requestState, inputResponses: YES }, FORMS)
      assert.match(ran.body.result.content[0].text, /^Limit\.Time: .* 3 s/)
    } finally {
      await server.stop()
    }
  })
})

test('what is kept between the rounds counts for ten minutes', async () => {
  const clock = createTestClock()
  const { place, leave } = await openPlace('sqlite')
  const flags = { '--demo': 'true', '--limit-mcp': '', '--agent-scan-rows': '20' }
  const server = await startTestServer(place, { clock, flags })
  try {
    const client = new McpClient(server, await agentToken(server))
    const params = { name: 'query', arguments: { statement: SCAN } }
    const { requestState } = (await client.request('tools/call', params, FORMS)).body.result
    const answer = () =>
      client.request('tools/call', { ...params, requestState, inputResponses: YES }, FORMS).then(({ body }) => body)
    clock.advance(9 * 60_000)
    assert.equal((await answer()).result.resultType, 'complete')
    clock.advance(2 * 60_000)
    assert.equal((await answer()).error.code, -32602)
  } finally {
    await server.stop()
    await leave()
  }
})
