/** The samples in JavaScript, each started by the command in its README, against one demonstration and in one Chromium. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { buildClient } from '../../packages/client/build.js'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { signIn } from '../browser/scene.ts'
import { findComplaints, type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { type Guide, openPage } from '../support/guide.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

/** As the samples write them, and as the demonstration registers them. */
const [SPA, REACT, EXPRESS] = [5090, 5091, 5092]
const ports = new Map<number, number>()
let place: TestPlace
let leave: () => Promise<void>
let port: number
let server: TestServer
let admin: Gatehouse
let browser: TestBrowser
const samples: Guide[] = []

before(async () => {
  await buildClient()
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  port = await freePort()
  server = await startDemo()
  for (const written of [SPA, REACT, EXPRESS]) ports.set(written, await freePort())
  browser = await startChromium({ ports: Object.fromEntries(ports) })
  admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
})
after(async () => {
  admin.close()
  await browser.stop()
  await Promise.all(samples.map((sample) => sample.close()))
  await server.stop()
  await leave()
})

function startDemo(): Promise<TestServer> {
  const flags = { '--demo': 'true', '--demo-market': 'true', '--port': String(port), '--stream-drain-time': '0' }
  return startTestServer(place, { flags })
}

/** With the addresses of this test in its files, and the origin for which it is registered in the browser. */
async function open(name: string, environment: Record<string, string> = {}): Promise<Guide> {
  const moved = [...ports].map(([written, here]) => [String(written), String(here)] as const)
  const replace = [['http://localhost:5080', server.issuer] as const, ...moved]
  const folder = `examples/${name}`
  const sample = await openPage(`${folder}/README.md`, { copy: folder, replace, environment })
  samples.push(sample)
  return sample
}

/** Signs in, sees trades and prices that move, and leaves the page open for the tests below. */
async function use(origin: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser.newContext()).newPage()
  const complaints = findComplaints(page)
  await page.goto(origin)
  await page.locator('#sign-in').click()
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.waitForURL(origin)
  await page.locator('#user', { hasText: 'Alice Liddell' }).waitFor()
  await page.locator('#trades tr:nth-child(10)').waitFor()
  assert.match(await page.locator('#trades tr').first().innerText(), /\b(Buy|Sell)\b.*\d+\.\d{4}$/)
  await page.locator('#prices tr:nth-child(5)').waitFor()
  assert.match(await page.locator('#prices tr').first().innerText(), /^ACME\s+\d+\.\d{4}\s+\d+\.\d{4}$/)
  await move(page)
  return { page, complaints }
}

async function move(page: Page): Promise<void> {
  const shown = await page.locator('#prices').innerText()
  await page.waitForFunction(
    (before) => {
      const { document } = globalThis as unknown as { document: { querySelector(name: string): { innerText: string } } }
      return document.querySelector('#prices').innerText !== before
    },
    shown,
    { polling: 50 },
  )
}

/** Signs out: also at the server, so that the next sign-in asks for the password. */
async function signOut(page: Page, origin: string): Promise<void> {
  await page.locator('#sign-out').click()
  await page.waitForURL(origin)
  await page.locator('#sign-in').click()
  await page.locator('#password').waitFor()
}

/** Cancels the sign-in on the page of the server: the sample says so and offers another try. */
async function cancel(origin: string): Promise<void> {
  const page = await (await browser.newContext()).newPage()
  const failures: string[] = []
  page.on('pageerror', (error) => failures.push(String(error)))
  await page.goto(origin)
  await page.locator('#sign-in').click()
  await page.locator('#sign-in-cancel').click()
  await page.getByRole('alert').filter({ hasText: 'The sign-in was cancelled' }).waitFor()
  await page.locator('#sign-in').click()
  await page.locator('#password').waitFor()
  assert.deepEqual(failures, [])
  await page.context().close()
}

test('the single-page application', async () => {
  const origin = `http://localhost:${SPA}/`
  const sample = await open('spa')
  await sample.start('node examples/spa/server.js', /Open /)
  sample.finish()
  await cancel(origin)
  const { page, complaints } = await use(origin)
  await page.locator('#symbol').selectOption('BOLT')
  await page.waitForFunction('/4\\d\\.|5\\d\\./.test(document.querySelector("#trades td:last-child")?.innerText)')
  await page.locator('#prices tr.up, #prices tr.down').first().waitFor()
  assert.equal(await page.locator('#state').innerText(), 'online')
  await signOut(page, origin)
  assert.deepEqual(complaints, [])
})

test('the React page', async () => {
  const origin = `http://localhost:${REACT}/`
  const sample = await open('react')
  await sample.start('npm start --prefix examples/react', /Local:/)
  sample.finish()
  await cancel(origin)
  const { page, complaints } = await use(origin)
  // Under StrictMode, which mounts everything twice: each subscription is made once, and ends with what showed it.
  const sent = sentOn(page)
  await page.reload()
  await page.locator('#ticker', { hasText: /^1\d\d\.\d+ – 1\d\d\.\d+$/ }).waitFor()
  await page.locator('#prices tr:nth-child(5)').waitFor()
  await page.getByRole('button', { name: 'CORN' }).click()
  await page.locator('#ticker', { hasText: /^\d\.\d+ – \d\.\d+$/ }).waitFor()
  assert.deepEqual(
    sent().filter((line) => line.includes('Ticker')),
    ['Sub Ticker/Price/ACME', 'Unsub Ticker/Price/ACME', 'Sub Ticker/Price/CORN'],
  )
  assert.equal(sent().filter((line) => line.startsWith('Sub Query/Live/')).length, 1)
  await page.getByText('Latest trades of CORN').waitFor()
  await page.waitForFunction('/^\\d\\.\\d{4}$/.test(document.querySelector("#trades td:last-child")?.innerText)')
  assert.equal(await page.locator('#state').innerText(), 'online')
  await signOut(page, origin)
  assert.deepEqual(complaints, [])
})

/** What the page sends on its streams from now on: operation, controller and topic. */
function sentOn(page: Page): () => readonly string[] {
  const lines: string[] = []
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const { Action, Controller, Topic } = JSON.parse(String(payload))
      lines.push(`${Action} ${Controller}/${Topic}`)
    }),
  )
  return () => lines
}

let express: Awaited<ReturnType<typeof use>>

test('the Express application', async () => {
  const sample = await open('express', { ORIGIN: `http://localhost:${EXPRESS}` })
  await sample.start('npm start --prefix examples/express', /Open /)
  sample.finish()
  await cancel(`http://localhost:${EXPRESS}/`)
  express = await use(`http://localhost:${EXPRESS}/`)
  const { page, complaints } = express
  assert.equal(await page.evaluate('Object.keys(localStorage).length + Object.keys(sessionStorage).length'), 0)
  assert.deepEqual(complaints, [])
})

test('the worker misses no trade and writes none twice, though it is killed and the server restarts', async () => {
  const start = 'node examples/worker/worker.js'
  const environment = { GATEHOUSE_SERVER: server.issuer }
  const first = await (await open('worker', environment)).start(start, /online/)
  // In the middle of its first rows, if it is not quicker than we are.
  await until('it writes', 30_000, async () => (await count()) > 0)
  await first.stop('SIGKILL')
  const left = await count()
  await server.stop()
  const sample = await open('worker', environment)
  const second = await sample.start(start, /trying again/)
  server = await startDemo()
  await second.prints(/wrote/)
  await server.stop()
  await second.prints(/offline/)
  server = await startDemo()
  // After a restart the market waits for some seconds, in case another node trades.
  const inserted = await admin.query<{ id: number }>`
    insert into trades (id, symbol, side, quantity, price, executed_at)
    select max(id) + 1, 'ACME', 'Buy', 7, 101.37, now() from trades returning id`.first()
  await until('it writes on', 60_000, async () => (await lastWritten()) >= Number(inserted?.id))
  await second.stop()
  assert.ok((await count()) > left)
  const wrong = await admin.query`
    select t.id from trades t left join trade_values v on v.trade_id = t.id
    where t.id <= ${await lastWritten()} and (v.trade_id is null or v.amount <> t.price * t.quantity)`
  assert.deepEqual(wrong, [])
  assert.match(await sample.run('./gatehouse query'), /^[A-Z]+ +│ +\d+ +│ +\d+\.\d{4}$/m)
  sample.finish()
})

async function count(): Promise<number> {
  const [row] = await admin.query<{ n: number }>`select count(*) as n from trade_values`.rows().catch(() => [])
  return row?.n ?? 0
}

async function lastWritten(): Promise<number> {
  return (await admin.query<{ id: number }>`select max(trade_id) as id from trade_values`.first())?.id ?? 0
}

test('after the restart the page of the Express application moves on, and signing out ends it', async () => {
  const { page, complaints } = express
  const moved = move(page)
  await admin.query`insert into quotes values ('ACME', now(), 100.25, 100.75, 100, 100)`
  await moved
  await signOut(page, `http://localhost:${EXPRESS}/`)
  assert.deepEqual(complaints, [])
})

test('the samples need what the tests have', async () => {
  const read = async (file: string) => JSON.parse(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8'))
  const own = await Promise.all(
    ['package.json', 'packages/server/package.json', 'packages/console/package.json'].map(read),
  )
  const here: Record<string, string> = Object.assign(
    {},
    ...own.flatMap(({ dependencies, devDependencies }) => [dependencies, devDependencies]),
    { 'gatehouse-client': 'file:../../packages/client' },
  )
  for (const name of ['express', 'react']) {
    const { dependencies: needed } = (await read(`examples/${name}/package.json`)) as {
      dependencies: Record<string, string>
    }
    for (const [dependency, range] of Object.entries(needed))
      assert.equal(here[dependency]?.replace('^', ''), range.replace('^', ''), dependency)
  }
})
