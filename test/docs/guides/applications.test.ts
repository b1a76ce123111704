/** The guides for developers of applications, followed to their end on a demonstration that trades, in a real Chromium. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { buildClient } from '../../../packages/client/build.js'
import { Gatehouse, password } from '../../../packages/client/src/index.ts'
import { signIn } from '../../browser/scene.ts'
import { findComplaints, type Page, startChromium, type TestBrowser } from '../../support/chromium.ts'
import { ADMIN, ALICE } from '../../support/demo-user.ts'
import { IN_LONG_RUNS, openPlace, type TestPlace } from '../../support/engines.ts'
import { freePort } from '../../support/free-port.ts'
import { type GuideOptions, openGuide } from '../../support/guide.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

/** Where the guides say that their pages are. */
const [FIRST, PRICES] = [8000, 5090]
const ports = new Map<number, number>()
let place: TestPlace
let leave: () => Promise<void>
let port: number
let server: TestServer
let browser: TestBrowser

before(async () => {
  await buildClient()
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  port = await freePort()
  for (const written of [FIRST, PRICES]) ports.set(written, await freePort())
  server = await startDemo()
  browser = await startChromium({ ports: Object.fromEntries(ports) })
})
after(async () => {
  await browser.stop()
  await server.stop()
  await leave()
})

/** What `npm start` does. */
function startDemo(): Promise<TestServer> {
  const flags = { '--demo': 'true', '--demo-market': 'true', '--port': String(port), '--stream-drain-time': '0' }
  return startTestServer(place, { flags })
}

/** After a restart the market waits for some seconds, in case another node trades. This shortens it. */
async function quote(): Promise<void> {
  const admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`insert into quotes values ('ACME', now(), 100.25, 100.75, 100, 100)`
  const price = { Symbol: 'ACME', Bid: 100.25, Ask: 100.75, Time: new Date().toISOString() }
  await admin.feed('Ticker').publish('Price/ACME', price)
  admin.close()
}

/** Here the server and the pages have other ports; the browser finds them where the guides say that they are. */
function settings(): GuideOptions {
  const replace = [
    ['http://localhost:5080', server.issuer],
    ['./gatehouse query', `./gatehouse query --server ${server.issuer}`],
    ['./gatehouse stream', `./gatehouse stream ${server.issuer}`],
    ['./gatehouse login', `./gatehouse login --server ${server.issuer}`],
    [`server.js first-app ${FIRST}`, `server.js first-app ${ports.get(FIRST)}`],
    [`server.js signals ${PRICES}`, `server.js signals ${ports.get(PRICES)}`],
    [`server.js prices ${PRICES}`, `server.js prices ${ports.get(PRICES)}`],
  ] as const
  return { replace, environment: { GATEHOUSE_DATA: place.dataFolder } }
}

const readText = (page: Page, id: string): Promise<string> => page.locator(`#${id}`).innerText()

async function changes(page: Page, id: string): Promise<void> {
  const before = JSON.stringify(await readText(page, id))
  await page.waitForFunction(`document.getElementById('${id}').innerText !== ${before}`, undefined, { polling: 50 })
}

/** On the page of the server. The page of the guide says so, and has a button to try again. */
async function cancel(page: Page): Promise<void> {
  await page.locator('#sign-in-cancel').click()
  await page.getByRole('alert').filter({ hasText: 'The sign-in was cancelled' }).waitFor()
}

test('Your first application in ten minutes', async (t) => {
  const guide = await openGuide('first-application', settings())
  t.after(() => guide.close())
  assert.equal(guide.take('npm start').text, 'npm start\n')
  await guide.run('./gatehouse client add first-app')
  await guide.run('mkdir first-app')
  await guide.save('first-app/index.html')
  await guide.start('node examples/spa/server.js', /Open /)

  const page = await (await browser.newContext()).newPage()
  const complaints = findComplaints(page)
  const home = `http://localhost:${FIRST}/`
  await page.goto(home)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await cancel(page)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.waitForURL(home)
  await page.getByText('Alice Liddell').waitFor()
  await changes(page, 'prices')
  assert.match(await readText(page, 'trades'), /^((Buy|Sell) \d+ at \d+\.\d{4}(\n|$)){5}$/)
  assert.match(await readText(page, 'prices'), /^ACME \d+\.\d{4}\nBOLT \d+\.\d{4}\nCORN \d+\.\d{4}$/)
  assert.deepEqual(complaints, [])
  await server.stop()
  const changed = changes(page, 'prices')
  server = await startDemo()
  await quote()
  await changed
  await page.getByRole('button', { name: 'Sign out' }).click()
  // The page is left only after the tokens are revoked: until then it has the same address and the same buttons.
  await page.getByText('Alice Liddell').waitFor({ state: 'detached' })
  await page.waitForURL(home)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('#password').waitFor()

  await guide.run('./gatehouse client remove first-app')
  guide.finish()
})

test('Live prices', IN_LONG_RUNS, async (t) => {
  const guide = await openGuide('live-prices', settings())
  t.after(() => guide.close())
  assert.equal(guide.take('npm start').text, 'npm start\n')
  const table = await guide.start('--live', /\+\tACME\t\d+\.\d{4}/)
  await table.prints(/~\t(ACME|BOLT|CORN)\t/)
  await table.stop('SIGINT')
  await guide.run('explain live select symbol')
  await guide.run('explain live select id')

  await guide.save('prices.mjs')
  const program = await guide.start('node prices.mjs', /-- online\nACME \d+\.\d{4} \d+\.\d{4}\nBOLT /)
  await server.stop()
  server = await startDemo()
  await program.prints(/-- offline[\s\S]*-- online[\s\S]*-- (nothing was missed|all prices anew)/)
  await guide.run('insert into quotes')
  await program.prints(/^MINE 99\.5000 99\.7000$/m)
  await program.stop()

  await guide.save('ticker.mjs')
  const ticker = await guide.start('node ticker.mjs', /^ACME [\d.]+ [\d.]+\n/)
  await quote()
  await ticker.prints(/^(ACME [\d.]+ [\d.]+\n){2}/)
  await ticker.stop()

  await guide.run('mkdir prices')
  await guide.save('prices/index.html')
  await guide.start('node examples/spa/server.js', /Open /)
  const page = await (await browser.newContext()).newPage()
  const complaints = findComplaints(page)
  await page.goto(`http://localhost:${PRICES}/`)
  await cancel(page)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.waitForURL(`http://localhost:${PRICES}/`)
  await page.locator('tr').first().waitFor()
  await quote()
  await page.locator('tr.up, tr.down').first().waitFor()
  assert.match(await readText(page, 'prices'), /^ACME\t\d+\.\d{4}\t\d+\.\d{4}$/m)
  assert.equal(await readText(page, 'state'), 'online')
  assert.deepEqual(complaints, [])

  await guide.run('rm -r prices.mjs')
  guide.finish()
})

test('From my program to every screen', IN_LONG_RUNS, async (t) => {
  const guide = await openGuide('from-my-program', settings())
  t.after(() => guide.close())
  assert.equal(guide.take('npm start').text, 'npm start\n')
  await guide.run('feed add Signals')
  await guide.run('./gatehouse login', { stdin: `${ALICE.password}\n` })
  const terminal = await guide.start('sub Signals/*', /Signals/)
  await guide.save('publish.py')
  const hasPython = spawnSync('python3', ['--version']).status === 0
  if (hasPython) {
    await guide.run('python3 publish.py')
    await terminal.prints(/desk-1\/ACME[^\n]*"number":\s*5/)
  } else guide.take('python3 publish.py')

  await guide.save('publish.mjs')
  await guide.save('watch.mjs')
  const watch = await guide.start('node watch.mjs', /^/)
  await guide.run('node publish.mjs')
  await watch.prints(/desk-2\/BOLT buy \d+\n/)
  await watch.prints(/desk-2\/ECHO hold \d+\n/)
  await server.stop()
  server = await startDemo()
  await watch.prints(/-- nothing was missed/)
  await watch.stop()

  await guide.run('mkdir signals')
  await guide.save('signals/index.html')
  await guide.start('node examples/spa/server.js', /Open /)
  const page = await (await browser.newContext()).newPage()
  const complaints = findComplaints(page)
  await page.goto(`http://localhost:${PRICES}/`)
  await cancel(page)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.getByText('desk-2/ECHO').waitFor()
  assert.deepEqual(complaints, [])
  await terminal.stop('SIGINT')
  await guide.run('feed remove Signals')
  guide.finish()
})
