/** The guides for a file of data and for the people of a team, followed to their end on a demonstration. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { totpCode } from '../../../packages/server/src/identity/factors/totp.ts'
import { fromBase32 } from '../../support/base32.ts'
import { ADMIN } from '../../support/demo-user.ts'
import { IN_LONG_RUNS, openPlace, type TestPlace } from '../../support/engines.ts'
import { type GuideOptions, openGuide } from '../../support/guide.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { createUserAgent, requirePage } from '../../support/user-agent.ts'
import { signIn, visit } from '../../support/visitor.ts'

let place: TestPlace
let leave: () => Promise<void>
let server: TestServer

before(async () => {
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  server = await startTestServer(place, { flags: { '--demo': 'true', '--demo-market': 'true' } })
})
after(async () => {
  await server.stop()
  await leave()
})

/** Here the server has another port; commands of the administration use its data folder, as in the guides. */
function settings(): GuideOptions {
  const replace = [
    ['http://localhost:5080', server.issuer],
    ...['query', 'login', 'logout', 'import', 'export'].map(
      (name) => [`./gatehouse ${name}`, `./gatehouse ${name} --server ${server.issuer}`] as const,
    ),
    ['./gatehouse stream', `./gatehouse stream ${server.issuer}`],
  ] as const
  return { replace, environment: { GATEHOUSE_DATA: place.dataFolder } }
}

test('CSV to chart', async (t) => {
  const guide = await openGuide('csv-to-chart', settings())
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.run('./gatehouse login', { stdin: `${ADMIN.password}\n` })
  await guide.save('fills.csv')
  await guide.run('import fills.csv --table fills --dry-run')
  await guide.run('import fills.csv --table fills --create')
  await guide.run('read scope')
  await guide.save('turnover.iql')
  await guide.run('query < turnover.iql')
  await guide.save('chart.mjs')
  await guide.run('> chart.svg')
  assert.deepEqual(await readBars(), [
    ['22150.00', '2026-11-02'],
    ['4080.00', '2026-11-03'],
    ['12705.00', '2026-11-04'],
    ['4795.00', '2026-11-05'],
    ['13648.50', '2026-11-06'],
  ])
  await guide.save('more.csv')
  await guide.run('import more.csv')
  await guide.run('> chart.svg')
  assert.deepEqual((await readBars()).at(-1), ['18700.00', '2026-11-09'])
  await guide.run('fills.arrow')
  await guide.run('drop table')
  guide.finish()

  /** The labels of the bars. */
  async function readBars(): Promise<[amount: string, day: string][]> {
    const svg = await readFile(join(guide.folder, 'chart.svg'), 'utf8')
    const heights = [...svg.matchAll(/height="([\d.]+)"/g)].map(([, height]) => Number(height))
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text = '']) => text)
    assert.equal(Math.max(...heights), 200)
    return heights.map((_, index) => [texts[index * 2] ?? '', texts[index * 2 + 1] ?? ''])
  }
})

test('From ticks to candles', IN_LONG_RUNS, async (t) => {
  const guide = await openGuide('from-ticks-to-candles', settings())
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.run('./gatehouse login', { stdin: `${ADMIN.password}\n` })
  await guide.run('create table ticks')
  await guide.save('ticks.csv')
  await guide.run('import ticks.csv')
  await guide.save('minutes.iql')
  await guide.run('from minutes where')
  await guide.save('days.iql')
  await guide.run('from days order by symbol, day')
  const live = await guide.start('query --live', /09:01/)
  await guide.run('insert into ticks')
  await live.prints(/98\.75|31/)
  await live.stop()
  await guide.run('select symbol, open, close from days')
  await guide.run('--full')
  assert.match(await guide.run('explain alter table'), /minutes/)
  assert.match(await guide.run('gatehouse view list'), /minutes/)
  await guide.run('drop table ticks')
  guide.finish()
})

test('Onboard and offboard a team', IN_LONG_RUNS, async (t) => {
  const guide = await openGuide('onboard-and-offboard', settings())
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.run('mkdir team')
  await guide.save('team/team.yaml')
  await guide.save('team/orders.csv')
  await guide.run('apply --config team/team.yaml --dry-run')
  const [, link = ''] = /^(http\S+)$/m.exec(await guide.run('user invite dave')) ?? []
  await choosePassword(link, 'daves own password')
  assert.doesNotMatch(await guide.run('--username carol'), /south/)
  assert.doesNotMatch(await guide.run('--username dave'), /north/)
  await guide.run("insert into orders values (4, 'north'")

  await guide.run('--username erin')
  const login = await guide.start('./gatehouse login', /confirm the code/)
  const [, address = ''] = /^Open (\S+)$/m.exec(login.output()) ?? []
  await setUpAndConfirm(address, { username: 'erin', password: 'erins first password' })
  await login.prints(/as erin \(Erin Moss\)\.\nRights: Platform\/Market Platform\/OrderPad Platform\/Trading\n/)
  assert.match(await guide.run('user factors erin'), / totp /)

  await guide.run('login --username carol')
  const live = await guide.start('query --live', /\+\t1\tnorth\tACME\t100\n\+\t3\tnorth/)
  const stream = await guide.start('sub Ticker/Price/ACME', /"Bid"/)
  await guide.run('user set carol --role south')
  await live.prints(/-\t1\tnorth\tACME\t100\n-\t3\tnorth\tCORN\t70\n\+\t2\tsouth\tBOLT\t50\n/)
  assert.match(await guide.run('session list --user carol'), / carol +gatehouse-cli /)

  await guide.run('user disable carol')
  await live.prints(/The login is no longer valid\. Run: gatehouse login/)
  await stream.prints(/closed with 4000/)
  await guide.run('--username carol')
  await guide.run('--dry-run')
  await guide.run('client disable north-robot')
  await guide.run('role set north')
  await guide.run('audit list --target carol')
  await guide.run('./gatehouse logout')
  guide.finish()
})

async function choosePassword(link: string, password: string): Promise<void> {
  const agent = createUserAgent({ home: server.issuer })
  const form = requirePage(await agent.get(link)).forms.find(({ id }) => id === 'set-up')
  assert.ok(form, link)
  await agent.submit(form, { new_password: password })
}

/** What a person does who has no second factor yet and opens the address of a device login. */
async function setUpAndConfirm(address: string, person: { username: string; password: string }): Promise<void> {
  const agent = createUserAgent({ home: server.issuer })
  const setUp = requirePage(await signIn(agent, requirePage(await agent.get(address)), person))
  const [, key = ''] = /id="authenticator-key">([A-Z2-7 ]+)</.exec(setUp.body) ?? []
  const form = setUp.forms.find(({ id }) => id === 'authenticator')
  assert.ok(form, setUp.body)
  const code = totpCode(fromBase32(key), Math.floor(Date.now() / 30_000))
  const recovery = requirePage(await agent.submit(form, { code }))
  const [, kept = ''] = /id="recovery-codes-kept" href="([^"]+)"/.exec(recovery.body) ?? []
  await visit(agent, await agent.get(kept), person)
}
