/** The chart in a chat, in a real Chromium, in the official AppBridge of MCP Apps with the official client. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { buildConsole } from '../../packages/console/build.js'
import { type LicenceServer, startLicenceServer } from '../licences/licence-server.ts'
import { type ChatHost, serveChatHost } from '../support/chat-host.ts'
import { startChromium, type TestBrowser } from '../support/chromium.ts'
import { openPlace } from '../support/engines.ts'
import { agentToken } from '../support/mcp.ts'
import { until } from '../support/until.ts'

const CANDLES = {
  statement:
    "SELECT time_bucket(INTERVAL '1 hour', executed_at) AS hour, first(price, executed_at) AS open, max(price) AS high, min(price) AS low, last(price, executed_at) AS close, sum(quantity) AS volume FROM trades WHERE symbol = :symbol GROUP BY hour ORDER BY hour",
  parameters: { symbol: 'ACME' },
  view: 'candles',
}
const LINES = {
  statement:
    "SELECT time_bucket(INTERVAL '6 hours', executed_at) AS at, symbol, vwap(price, quantity) AS price FROM trades GROUP BY at, symbol ORDER BY at",
  series: 'symbol',
}
const BARS = { statement: 'SELECT id, n FROM points', view: 'bar', x: 'id', live: true }

const DECLARED = `
products:
  - { name: NYSE, delay: 1 second, covers: [{ table: ticks, column: venue, values: [XNYS] }] }
  - { name: LSE, covers: [{ table: ticks, column: venue, values: [XLON] }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`
let host: ChatHost
let server: LicenceServer
let browser: TestBrowser
const closing: (() => Promise<void>)[] = []

before(async () => {
  await buildConsole()
  host = await serveChatHost()
  closing.push(host.close)
  const { place, leave } = await openPlace('sqlite')
  closing.push(leave)
  server = await startLicenceServer(place, DECLARED, {
    flags: { '--limit-mcp': '', '--agent-seconds': '300', '--public-origins': host.url },
  })
  closing.push(() => server.stop())
  browser = await startChromium()
  closing.push(() => browser.stop())
  await write('CREATE TABLE points (id Integer PRIMARY KEY, n Integer)')
  await write('INSERT INTO points (id, n) VALUES (1, 10), (2, 20)')
})
after(async () => {
  for (const close of closing.reverse()) await close()
})

async function write(statement: string, token = server.admin): Promise<void> {
  const { status, body } = await server.send('POST', '/query', { token, body: { Statement: statement } })
  assert.equal(status, 200, JSON.stringify(body))
}

interface Chat {
  readonly page: Page
  readonly frame: Frame
  /** What went wrong so far, and what the frame has asked the network for. */
  readonly complaints: string[]
  /** The tools that were called. */
  readonly calls: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, it asserts.
  readonly opened: any
}

async function openChat(
  args: object,
  { dark = false, width = 720, ...options }: Record<string, unknown> = {},
): Promise<Chat> {
  const context = await browser.newContext({ dark: dark === true, width: Number(width) })
  const page = await context.newPage()
  const complaints: string[] = []
  const calls: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('request', (request) => {
    const { 'mcp-method': method, 'mcp-name': name } = request.headers()
    if (method === 'tools/call' && name !== undefined) calls.push(name)
    if (request.frame() !== page.mainFrame()) complaints.push(`the frame asks for ${request.url()}`)
  })
  await page.goto(host.url)
  const theme = dark === true ? 'dark' : 'light'
  const given = { url: `${server.issuer}/mcp`, token: await agentToken(server), args, theme, ...options }
  const opened = await page.evaluate((value) => Reflect.get(globalThis, 'openChart')(value), given)
  const frame = page.frames().find((each) => each !== page.mainFrame())
  assert.ok(frame !== undefined)
  return { page, frame, complaints, calls, opened }
}

const plot = (frame: Frame) => frame.locator('.chart-place')
const summary = async (frame: Frame) => (await plot(frame).getAttribute('aria-label')) ?? ''
const SHOTS = process.env.CHAT_PICTURES
async function keep({ page }: Chat, name: string): Promise<void> {
  if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}.png` })
}

for (const mode of ['auto', 'legacy'])
  test(`candles in the chat, by a client of the era ${mode}`, async () => {
    const chat = await openChat(CANDLES, { mode })
    assert.equal(chat.opened.isError, false, chat.opened.text)
    await plot(chat.frame).locator('canvas').waitFor()
    assert.match(await summary(chat.frame), /^Candlestick chart of the result: \d+ points, hour from /)
    // A client of 2025-11-25 asks for a stream of the server, which there is not.
    assert.deepEqual(
      chat.complaints.filter((text) => !text.includes('405')),
      [],
    )
    await keep(chat, `candles-${mode}`)
    const text: string = chat.opened.text
    assert.match(text, mode === 'auto' ? /\n20 rows, more follow · / : /\n\d+ rows · /)
    // The client has shown what the page said that it needs.
    const sizes = await chat.page.evaluate(() => Reflect.get(globalThis, 'chat').sizes)
    assert.ok(sizes.length > 0 && sizes.at(-1).height > 200, JSON.stringify(sizes))
  })

for (const dark of [false, true])
  for (const width of [720, 360])
    test(`lines of ${width} pixels in the ${dark ? 'dark' : 'light'} theme: nothing overflows`, async () => {
      const chat = await openChat(LINES, { dark, width })
      await plot(chat.frame).locator('canvas').waitFor()
      const background = await chat.frame.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = [...background.matchAll(/\d+/g)].map(Number)
      assert.equal(red < 128, dark, background)
      const overflow = await chat.frame.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      assert.ok(overflow <= 0, `${overflow}`)
      // Values of sixteen decimals do not take the room of the plot.
      const drawn = (await chat.frame.locator('.u-over').boundingBox())?.width ?? 0
      assert.ok(drawn > width * 0.6, `${drawn} pixels`)
      await keep(chat, `lines-${width}-${dark ? 'dark' : 'light'}`)
      // The theme of the chat changes.
      await chat.page.evaluate(
        (theme) => {
          const { bridge, hostContext } = Reflect.get(globalThis, 'chat')
          bridge.setHostContext({ ...hostContext, theme })
        },
        dark ? 'light' : 'dark',
      )
      await until(
        'the theme changes',
        5000,
        async () => (await chat.frame.evaluate('document.documentElement.dataset.theme')) !== (dark ? 'dark' : 'light'),
      )
      assert.deepEqual(chat.complaints, [])
    })

test('the tools of the chart work in the frame: values as a table, options, full screen', async () => {
  const chat = await openChat(CANDLES, { width: 360 })
  const { frame, complaints } = chat
  await frame.getByRole('button', { name: 'Chart options' }).click()
  await keep(chat, 'menu-360')
  assert.equal(await frame.getByText('Save as PNG').count(), 0, 'a frame may not save files')
  await frame.getByRole('menuitemradio', { name: 'Moving average of 10' }).click()
  await frame.getByText('MA 10').waitFor()
  await frame.getByRole('button', { name: 'Full screen' }).click()
  await frame.getByRole('button', { name: 'Back to the chat' }).waitFor()
  await keep(chat, 'fullscreen-360')
  await frame.getByRole('button', { name: 'Show the values as a table' }).click()
  await frame.getByRole('columnheader', { name: 'hour' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('a live chart follows by changes, pauses between calls, and ends with the frame', async () => {
  const chat = await openChat(BARS)
  await chat.frame.getByText('Live').waitFor()
  await until('two points are drawn', 10_000, async () => /2 points/.test(await summary(chat.frame)))
  await write('INSERT INTO points (id, n) VALUES (3, 30)')
  await until('three points are drawn', 10_000, async () =>
    /3 points.*Last values: n 30/.test(await summary(chat.frame)),
  )
  await write('DELETE FROM points WHERE id = 3')
  await until('two points are drawn', 10_000, async () => /2 points/.test(await summary(chat.frame)))
  await keep(chat, 'live')
  assert.deepEqual([...new Set(chat.calls)], ['chart', 'changes'])
  await chat.page.evaluate(() => Reflect.get(globalThis, 'chat').bridge.teardownResource({}))
  assert.deepEqual(chat.complaints, [])
})

test('a chart says what is delayed or left out, on a phone too', async () => {
  const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
  await write(`CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer) ${scopes}`)
  await write("INSERT INTO ticks SELECT i, 'XNYS', i * i FROM generate_series(1, 20) AS i", server.handler)
  const statement = 'SELECT id, price FROM ticks'
  await until('the rows are old enough', 20_000, async () => {
    const { body } = await server.send('POST', '/query', { body: { Statement: statement } })
    return body.Rows?.length === 20
  })
  for (const [width, live] of [
    [720, false],
    [360, true],
  ] as const) {
    const chat = await openChat({ statement, x: 'id', live }, { width })
    const label = chat.frame.getByTitle(/NYSE delayed by 1 s/)
    await label.waitFor()
    assert.match((await label.textContent()) ?? '', /LSE is left out/)
    const box = await label.boundingBox()
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width, JSON.stringify(box))
    await keep(chat, `delayed-${width}`)
    assert.deepEqual(chat.complaints, [])
  }
})

test('a client that keeps what is for programs: the page runs the statement itself; without tools it says so', async () => {
  const chat = await openChat({ ...CANDLES, live: true }, { withMeta: false })
  await plot(chat.frame).locator('canvas').waitFor()
  assert.deepEqual(chat.calls, ['chart', 'query'])
  const mute = await openChat(CANDLES, { withMeta: false, withTools: false })
  await mute.frame.getByText('The client passes on neither').waitFor()
  await keep(mute, 'mute')
})

test('an error is shown in its words, and text of data is never markup', async () => {
  const failed = await openChat({ statement: 'SELECT nothing FROM trades' })
  await failed.frame.getByText('There is no result').waitFor()
  await keep(failed, 'failed')
  const name = `<img src=x onerror="document.title='owned'">`
  const hostile = await openChat({
    statement: `SELECT '${name.replaceAll("'", "''")}' AS t, 1 AS "</script><b>", 2 AS n`,
    view: 'bar',
    x: 't',
  })
  await plot(hostile.frame).locator('canvas').waitFor()
  assert.equal(await hostile.frame.locator('img, b:not(.chart-entry b)').count(), 0)
  assert.deepEqual(hostile.complaints, [])
})

/** What a page could do with a way out, and what came of each. */
const TRIED = `(async () => {
  const outcome = async (act) => {
    try {
      await act()
      return 'done'
    } catch (error) {
      return error instanceof Error ? error.name : 'failed'
    }
  }
  const opened = (way, succeeded, failed) => new Promise((resolve, reject) => {
    way[succeeded] = resolve
    way[failed] = () => reject(new Error('blocked'))
  })
  const image = new Image()
  image.src = 'URL/logo.png'
  const script = document.createElement('script')
  script.textContent = 'globalThis.foreign = true'
  document.head.append(script)
  return {
    fetch: await outcome(() => fetch('URL/healthz')),
    image: await outcome(() => opened(image, 'onload', 'onerror')),
    storage: await outcome(() => localStorage.length),
    socket: await outcome(() => opened(new WebSocket('URL'.replace('http', 'ws')), 'onopen', 'onerror')),
    eval: await outcome(() => new Function('return 1')()),
    script: globalThis.foreign === true ? 'done' : 'blocked',
  }
})()`

test('the frame has no way out: no requests, no storage of its own, no script from elsewhere', async () => {
  const { frame, page } = await openChat(LINES)
  await plot(frame).locator('canvas').waitFor()
  const tried = await frame.evaluate<Record<string, string>>(TRIED.replaceAll('URL', server.issuer))
  for (const [way, outcome] of Object.entries(tried)) assert.notEqual(outcome, 'done', way)
  assert.equal(await page.evaluate('document.title'), 'Chat')
})
