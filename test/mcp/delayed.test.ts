/** Agents where tables and feeds are delayed: nothing that is younger, and every result says how old its rows are. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { publish } from '../licences/feeds/feed-licences.ts'
import { type LicenceServer, startLicenceServer } from '../licences/licence-server.ts'
import { type TablePlace, tablePlace } from '../licences/tables/table-licences.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { until } from '../support/until.ts'

const SECONDS = 2
const DELAY_MS = SECONDS * 1_000
const DECLARED = `
products:
  - { name: NYSE, delay: ${SECONDS} seconds, covers: [{ table: ticks, column: venue, values: [XNYS] }, { feed: Prices }] }
  - { name: LSE, covers: [{ table: ticks, column: venue, values: [XLON] }] }
feeds:
  - { name: Prices, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 100 } }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
`
const LABELS = new RegExp(
  `^# (NYSE is delayed by ${SECONDS} s, as of \\S+Z: ticks where venue is XNYS|LSE is not licensed: ticks where venue is XLON is left out)$`,
  'gm',
)
const ROWS = 'SELECT id, venue FROM ticks ORDER BY id'
const UI = { capabilities: { extensions: { 'io.modelcontextprotocol/ui': {} } } }

onEveryEngineInLongRuns('agents and delayed data', (at) => {
  let server: LicenceServer
  let place: TablePlace
  let client: McpClient

  before(async () => {
    server = await startLicenceServer(at(), DECLARED, { flags: { '--limit-mcp': '' } })
    place = tablePlace(server)
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await write(
      `CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer) ${scopes}`,
      server.admin,
    )
    await write("INSERT INTO ticks (id, venue, price) VALUES (1, 'XNYS', 10), (2, 'XLON', 20)")
    await until('the copy is there', 20_000, async () => (await place.query(ROWS)).body.Rows?.length === 1)
    client = new McpClient(server, await agentToken(server))
  })
  after(() => server.stop())

  /** Returns when it began. */
  async function write(statement: string, token = server.handler): Promise<number> {
    const begun = Date.now()
    const { status, body } = await place.query(statement, token)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    return begun
  }

  test('tables: each tool says at the end how old the rows are, and what is left out', async () => {
    const texts = [
      await client.text('query', { statement: ROWS }),
      await client.text('chart', { statement: 'SELECT id, price FROM ticks' }),
      await client.text('watch', { statement: ROWS }),
      await client.text('describe_table', { table: 'ticks' }),
    ]
    for (const text of texts) assert.deepEqual(text.match(LABELS)?.length, 2, text)
    const { text } = (await client.call('query', { statement: 'EXPLAIN SELECT * FROM ticks' })).content[0]
    assert.match(text, /\n"?NYSE is delayed by 2 s/)
  })

  test('the page of charts gets it beside what it draws', async () => {
    const drawn = { statement: 'SELECT id, price FROM ticks' }
    for (const live of [false, true]) {
      const { _meta: meta } = await client.call('chart', { ...drawn, live }, UI)
      const { licence } = meta['gatehouse/chart']
      assert.equal(licence.length, 2)
      assert.partialDeepStrictEqual(
        licence.find(({ Product }: { Product: string }) => Product === 'NYSE'),
        { Access: 'delayed', Delay: SECONDS, Column: 'venue', Values: ['XNYS'] },
      )
      assert.partialDeepStrictEqual(
        licence.find(({ Product }: { Product: string }) => Product === 'LSE'),
        { Access: 'none', Values: ['XLON'] },
      )
    }
    const free = await client.call('query', { statement: 'SELECT 1 AS one', format: 'json' })
    assert.equal('licence' in free.structuredContent, false)
  })

  test('a row comes to a query, a watch and its resource when it is old enough, and changes says as of when', async () => {
    const watched = await client.call('watch', { statement: ROWS, format: 'json' })
    const { id, since } = watched.structuredContent
    const written = await write("INSERT INTO ticks (id, venue, price) VALUES (3, 'XNYS', 30)")
    const texts = [
      await client.text('query', { statement: ROWS }),
      await client.text('changes', { id, since }),
      (await client.request('resources/read', { uri: `gatehouse://watch/${id}` })).body.result.contents[0].text,
    ]
    if (Date.now() < written + DELAY_MS) for (const text of texts) assert.doesNotMatch(text, /3,XNYS/)
    const changed = await client.call('changes', { id, since, wait: 20 })
    assert.ok(Date.now() >= written + DELAY_MS)
    const [head, ...lines] = changed.content[0].text.split('\n')
    assert.match(head, new RegExp(`^watch ${id} · since \\d+ · changes$`))
    assert.ok(
      lines.some((line: string) => line.startsWith('+ ') && line.endsWith(',3,XNYS')),
      changed.content[0].text,
    )
    const asOf = /^# as of (\S+)$/.exec(lines.at(-1))?.[1] ?? ''
    assert.ok(Date.parse(asOf) <= Date.now() - DELAY_MS, changed.content[0].text)
  })

  test('feeds: nothing that is younger, and the label in state, history, topics and watches', async () => {
    const topic = 'ACME'
    const published = Date.now()
    await publish(server, 'Prices', topic, 'first')
    const read = { feed: 'Prices', topic }
    const early = await client.call('read_feed', read)
    if (Date.now() < published + DELAY_MS) assert.match(early.content[0].text, /^feed\.no_topic: /)
    await until('it is old enough', 20_000, async () => (await client.call('read_feed', read)).isError === undefined)
    assert.ok(Date.now() >= published + DELAY_MS)
    const label = `delayed by ${SECONDS} s (NYSE)`
    const watched = await client.text('watch', read)
    for (const text of [
      await client.text('read_feed', read),
      await client.text('read_feed', { ...read, last: 10 }),
      await client.text('list_feeds', { feed: 'Prices' }),
      watched,
      (await client.request('resources/read', { uri: `gatehouse://feed/Prices/${topic}` })).body.result.contents[0]
        .text,
    ])
      assert.ok(
        text.split('\n', 2).some((line: string) => line.includes(label)),
        text,
      )
    const [, id] = /^watch (\S+) · since 1 /.exec(watched) ?? []
    const again = Date.now()
    await publish(server, 'Prices', topic, 'second')
    const changed = await client.call('changes', { id, since: 1, wait: 20, format: 'json' })
    assert.ok(Date.now() >= again + DELAY_MS)
    assert.match(JSON.stringify(changed.structuredContent.messages), /second/)
    assert.partialDeepStrictEqual(changed.structuredContent.licence, [
      { Product: 'NYSE', Feed: 'Prices', Delay: SECONDS },
    ])
  })
})
