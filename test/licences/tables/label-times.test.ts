/** As of when a result is that waited for its turn: of when its rows were read, not of when the statement came. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { errorFields, message } from '../../support/wire-client.ts'
import { startLicenceServer } from '../licence-server.ts'
import { type TablePlace, tablePlace } from './table-licences.ts'

const DECLARED = `
products:
  - { name: LATE, delay: 1 second, covers: [{ table: ticks }] }
entitlements:
  - { product: LATE, user: alice, access: delayed }
  - { product: LATE, client: handler, access: realtime, kind: exempt }
`
/** About 10^12 rows. */
const ENDLESS =
  'SELECT count(*) AS n FROM nums a CROSS JOIN nums b CROSS JOIN nums c CROSS JOIN nums d WHERE a.n + b.n + c.n + d.n < 0'
/** How long statements wait for their turn. */
const WAIT_MS = 4_000

onEveryEngineInLongRuns('labels of results that wait', (at) => {
  let place: TablePlace
  /** When each row was known to be committed, in the order of their commits. */
  const committed: number[] = []
  before(async () => {
    // Then a caller with one long statement has no room for another.
    const flags = { '--query-concurrency': '2', '--wire-port': '0' }
    place = tablePlace(await startLicenceServer(at(), DECLARED, { flags }))
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await write(`CREATE TABLE ticks (id Integer PRIMARY KEY, sent Integer NOT NULL) ${scopes}`, place.server.admin)
    await write(`CREATE TABLE nums (n Integer PRIMARY KEY) ${scopes}`, place.server.admin)
    await write('INSERT INTO nums SELECT n FROM generate_series(1, 1000) AS n')
  })
  after(() => place.server.stop())

  async function write(statement: string, token = place.server.handler): Promise<void> {
    const { status, body } = await place.query(statement, token)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
  }

  /** Inserts the time again and again. Returns what ends that. */
  function insertTimes(): () => Promise<void> {
    let isRunning = true
    const running = (async () => {
      while (isRunning) {
        await write(`INSERT INTO ticks (id, sent) VALUES (${committed.length}, ${Date.now()})`)
        committed.push(Date.now())
        await sleep(50)
      }
    })()
    running.catch(() => {})
    return async () => {
      isRunning = false
      await running
    }
  }

  test('AsOf is that of the rows, however long the result has waited', async () => {
    const { url, alice } = place.server
    const stop = insertTimes()
    const statement = 'SELECT id FROM ticks LIMIT 1'
    const isSeen = async () => (await place.query(statement)).body.Rows?.length === 1
    await until('rows are old enough', 3_000, isSeen)
    const endless = place.query(ENDLESS, alice, { 'request-id': 'endless' })
    // Statements of one text that were short a moment ago are expected to be short again.
    let texts = 0
    const newest = () =>
      `SELECT count(*) AS n, max(sent) AS newest FROM ticks WHERE ${'id >= 0 AND '.repeat(texts++)}sent > 0`
    let waiting: ReturnType<typeof place.query> | undefined
    for (let tries = 0; waiting === undefined; tries++) {
      assert.ok(tries < 20, 'the endless statement counts as long')
      const sent = place.query(newest())
      if ((await Promise.race([sent, sleep(2_000)])) === undefined) waiting = sent
      else await sleep(250)
    }
    const arrow = fetch(`${url}/query`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice}`,
        accept: 'application/vnd.apache.arrow.stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ Statement: newest() }),
    })
    const { client } = await place.wire()
    client.send(message('Q', `${newest()}\0`))
    await sleep(WAIT_MS)
    assert.equal((await place.server.send('DELETE', '/query/endless')).status, 204)
    const { body, headers } = await waiting
    const [[count, last] = []] = body.Rows
    const [label] = body.Licence
    const known = Date.parse(label.AsOf)
    // A row of the moment before may be missing: the clock is read after the logs.
    const least = committed.filter((time) => time <= known - 1_000).length
    assert.ok(count >= least, `${count} rows as of ${label.AsOf}, ${least} were committed before`)
    const check = (what: string, asOf: number): void =>
      assert.ok(Number(last) - asOf < WAIT_MS / 2, `${what} is ${Number(last) - asOf} ms older than its rows`)
    check('the label', known)
    check('the header', Number(/as-of=@(\d+)/.exec(headers.get('licence') ?? '')?.[1]) * 1_000 + 999)
    const file = await arrow
    const inside = /"AsOf":"([^"]+)"/.exec(Buffer.from(await file.arrayBuffer()).toString('latin1'))?.[1] ?? ''
    check('the label in a file', Date.parse(inside))
    assert.ok(file.headers.get('licence')?.endsWith(`as-of=@${Math.floor(Date.parse(inside) / 1_000)}`))
    const notice = (await client.repliesTo('Z')).find(({ type }) => type === 'N')
    const { M: text = '' } = errorFields(notice?.body ?? Buffer.alloc(0))
    check('the notice', Date.parse(/as of (\S+Z)/.exec(text)?.[1] ?? ''))
    client.close()
    await endless
    await stop()
  })
})
