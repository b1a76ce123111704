/** The guide for a broker who sells two markets, followed to its end on a demonstration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_LONG_RUNS, openPlace } from '../../support/engines.ts'
import { openGuide } from '../../support/guide.ts'
import { startTestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, requirePage } from '../../support/user-agent.ts'
import { signIn } from '../../support/visitor.ts'

const RITA = { username: 'rita', password: 'ritas first password' }
/** What the guide asks for. */
const TICKS = 'select venue, count(*) as ticks, max(at) as newest from ticks group by venue'
/** The processes that read SQLite have a low priority: on a busy machine a query takes longer than its usual limit. */
const FLAGS = { '--demo': 'true', '--query-seconds': '300' }

test('Sell two markets: real-time, delayed, counted', IN_LONG_RUNS, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: FLAGS })
  const guide = await openGuide('sell-two-markets', {
    replace: [
      ['http://localhost:5080', server.issuer],
      ['./gatehouse query', `./gatehouse query --server ${server.issuer}`],
    ],
    environment: { GATEHOUSE_DATA: place.dataFolder },
  })
  t.after(async () => {
    await guide.close()
    await server.stop()
    await leave()
  })
  guide.take('npm start')
  await guide.run('mkdir market')
  await guide.save('market/north.en.md')
  await guide.save('market/market.yaml')
  await guide.run('apply --config market/market.yaml --dry-run')
  await guide.run('agreement accept')
  await guide.save('fill.mjs')
  await guide.start('node fill.mjs', /NORTH \d+/)
  // As the guide says, at first there is nothing that is old enough.
  const dan = await signInAsDan()
  await until('a price is old enough', 60_000, () => seesNorth(dan))
  await guide.run('--username dan')
  await guide.run('user rights rita')
  await accept()
  assert.doesNotMatch(await guide.run('--username rita'), /delayed/)
  const watcher = await guide.start('--live', /\+\tNORTH\t/)
  assert.doesNotMatch(watcher.output(), /\tSOUTH\t/)
  await guide.run('entitlement add SOUTH.L1')
  await watcher.prints(/starts over \(Rights\)[\s\S]*\+\tSOUTH\t/)
  await guide.run('product places NORTH.L1')
  await guide.run('select count(*)')
  await watcher.prints(/NORTH is left out \(NORTH\.L1\)[\s\S]*-\tNORTH\t/)
  const report = await guide.run('usage --month')
  assert.match(report, /,NORTH\.L1,user,[^,]*,,professional,billable,delayed,.*,0$/m)
  await guide.run('--head')
  await guide.run('usage close')
  guide.finish()

  async function signInAsDan(): Promise<string> {
    const reply = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        ...{ grant_type: 'password', client_id: 'demo-cli', username: 'dan', password: 'dans first password' },
      }),
    })
    const { access_token: token } = (await reply.json()) as { access_token: string }
    assert.equal(reply.status, 200)
    return token
  }

  async function seesNorth(token: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`${server.issuer}/query`, { method: 'POST', headers, body: TICKS })
    const { Rows: rows = [] } = (await reply.json()) as { Rows?: readonly unknown[] }
    return rows.length === 1
  }

  /** What Rita does in her browser. */
  async function accept(): Promise<void> {
    const agent = createUserAgent({ home: server.issuer })
    await signIn(agent, requirePage(await agent.get(`${server.issuer}/account/data`)), RITA)
    const page = requirePage(await agent.get(`${server.issuer}/account/data/agreement?id=north-subscriber`))
    const form = page.forms.find(({ id }) => id === 'agreement')
    assert.ok(form, page.body)
    assert.match(requirePage(await agent.submit(form, { professional: 'no' })).body, /You have accepted the agreement/)
  }
})
