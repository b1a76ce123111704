/** Boards in a real Chromium: the one of the demonstration moves; others are made, saved, shared and contested. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { until } from '../support/until.ts'

const LATE_MS = 5000
let scene: ConsoleScene
let admin: Gatehouse
let mine: ConsolePage
let hers: ConsolePage

before(async () => {
  scene = await openConsole()
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  mine = await scene.open('/boards')
  hers = await scene.open('/boards', { user: ALICE })
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

const tile = ({ page }: ConsolePage, name: string) => page.getByRole('region', { name, exact: true })
const button = ({ page }: ConsolePage, name: string) => page.getByRole('button', { name, exact: true })

/** Live statements on the server. */
async function liveStatements(): Promise<number> {
  const found = await Array.fromAsync(admin.admin.queries.list())
  return found.filter(({ kind }) => kind === 'live').length
}

/** A quote and a trade of ACME, now. */
async function trade(price: number): Promise<void> {
  const at = new Date()
  await admin.table('quotes').insert({
    ...{ symbol: 'ACME', quoted_at: at, bid: price - 0.01, ask: price + 0.01, bid_size: 100, ask_size: 100 },
  })
  await admin.table('trades').insert({
    ...{ id: ++lastTrade, symbol: 'ACME', side: 'Buy', quantity: 100, price, venue: 'LIT', executed_at: at },
  })
}
let lastTrade = 900_000_000

async function createBoard(name: string, tiles: readonly object[]): Promise<string> {
  const { id } = await admin.saved.create({ kind: 'board', name, body: { tiles } } as never)
  return id
}

test('the board of the demonstration moves', async () => {
  const { page } = hers
  await page.getByRole('link', { name: 'Market', exact: true }).click()
  await page.waitForURL('**/console/boards/demo-market')
  const prices = tile(hers, 'Prices').locator('.grid-rows')
  await prices.getByText('ACME').waitFor()
  await page.locator('.tile canvas').first().waitFor()
  assert.equal(await tile(hers, 'Candles of ACME').locator('canvas').count(), 0, 'nothing was traded of late')
  await trade(101.25)
  await prices.getByText('101.24').waitFor()
  await prices.locator('.falls:is(.flash-odd, .flash-even)').first().waitFor()
  await tile(hers, 'Last trades').locator('.grid-rows').getByText('101.25').waitFor()
  await image('Candles of ACME', /^Candlestick chart .* open 101\.25.*, close 101\.25/).waitFor()
  await image('Bid and ask of ACME', /: 1 points, .* Last values: bid 101\.24, ask 101\.26\.$/).waitFor()
  await trade(101.5)
  await image('Candles of ACME', /^Candlestick chart .* high 101\.5.* close 101\.5/).waitFor()
  await image('Bid and ask of ACME', /: 2 points, .* Last values: bid 101\.49, ask 101\.51\.$/).waitFor()
  await image('Volume', /^Bar chart of Volume: 5 points, symbol from ACME/).waitFor()
  assert.deepEqual(await hers.axe(), [])

  function image(of: string, name: RegExp) {
    return tile(hers, of).getByRole('img', { name })
  }
})

test('values are exact at the pointer and in the table of a chart, and the theme redraws it', async () => {
  const { page } = hers
  const volume = tile(hers, 'Volume')
  const drawn = () =>
    volume.locator('canvas').evaluate((element) => (element as unknown as { toDataURL(): string }).toDataURL())
  await volume.locator('.u-over').hover()
  await volume.locator('.chart-legend').getByText('CORN').waitFor()
  const [sum] = await admin.query<{ v: number }>`select sum(quantity) as v from trades where symbol = 'CORN'`
  assert.equal(await volume.locator('.chart-legend b').innerText(), Number(sum?.v).toLocaleString('en-US'))
  await page.mouse.move(0, 0)
  const said = volume.getByRole('status').filter({ hasText: /^[A-Z]+: / })
  await volume.getByRole('img').focus()
  await page.keyboard.press('Home')
  await said.getByText(/^ACME: /).waitFor()
  await page.keyboard.press('ArrowRight')
  const second = (await said.filter({ hasNotText: 'ACME' }).textContent()) ?? ''
  assert.equal(await volume.locator('.chart-when').innerText(), second.split(':')[0])
  await page.keyboard.press('Escape')
  await volume.locator('.chart-when').waitFor({ state: 'detached' })
  await volume.getByRole('button', { name: 'Show the values as a table' }).click()
  await volume
    .getByRole('rowheader', { name: 'CORN' })
    .or(volume.getByRole('cell', { name: 'CORN' }))
    .waitFor()
  await volume.getByRole('button', { name: 'Show the chart' }).click()
  const light = await drawn()
  await page.emulateMedia({ colorScheme: 'dark' })
  await until('the chart has the other colours', LATE_MS, async () => (await drawn()) !== light)
  assert.deepEqual(await hers.axe(), [])
  await page.emulateMedia({ colorScheme: 'light' })
})

test('the crosshair of a chart is shown by the others; a chart is zoomed and saved as a picture', async () => {
  const { page } = hers
  const [lines, candles] = [tile(hers, 'Bid and ask of ACME'), tile(hers, 'Candles of ACME')]
  await admin.table('quotes').insert(
    Array.from({ length: 20 }, (_, at) => ({
      ...{ symbol: 'ACME', quoted_at: new Date(Date.now() - at * 100), bid: 101, ask: 102, bid_size: 1, ask_size: 1 },
    })),
  )
  await lines.getByRole('img', { name: /: 22 points/ }).waitFor()
  await lines.locator('.u-over').hover({ position: { x: 200, y: 60 } })
  await candles.locator('.chart-tag.below').waitFor()
  assert.equal(await candles.locator('.chart-tag.right').count(), 0, 'the value is that of the pointer')
  await lines.locator('.chart-tag.right').waitFor()
  await lines.getByRole('button', { name: 'Zoom in' }).click()
  await lines.getByRole('button', { name: 'Show everything' }).click()
  await lines.getByRole('img').focus()
  await page.keyboard.press('+')
  await page.keyboard.press('0')
  await lines.getByRole('button', { name: 'Show everything' }).waitFor({ state: 'detached' })
  await pinch(lines)
  await lines.getByRole('button', { name: 'Show everything' }).click()
  await lines.getByRole('button', { name: 'Chart options' }).click()
  await page.getByRole('menuitemradio', { name: 'Logarithmic scale' }).click()
  await lines.getByRole('button', { name: 'Chart options' }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Save as PNG' }).click()
  assert.equal((await saved).suggestedFilename(), 'Bid-and-ask-of-ACME.png')
  hers.check()
})

/** Two fingers move apart over the chart of a tile. */
async function pinch(chart: ReturnType<typeof tile>): Promise<void> {
  const { x, y, width, height } = await chart
    .locator('.u-over')
    .evaluate((over) => over.getBoundingClientRect().toJSON())
  const session = await hers.context.newCDPSession(hers.page)
  const fingers = (apart: number) => [-apart, apart].map((by, id) => ({ id, x: x + width / 2 + by, y: y + height / 2 }))
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: fingers(20) })
  for (const apart of [40, 60, 80]) {
    await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: fingers(apart) })
  }
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await session.detach()
}

test('a variable has one value for the whole board, a row sets it, and it is part of the address', async () => {
  const { page } = hers
  await page
    .getByRole('textbox', { name: 'symbol' })
    .or(page.getByRole('combobox', { name: 'symbol' }))
    .fill('BOLT')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/demo-market?p.symbol=BOLT')
  await tile(hers, 'Candles of BOLT').waitFor()
  await tile(hers, 'Bid and ask of BOLT').locator('canvas').waitFor()
  assert.deepEqual(await hers.axe(), [])
  const prices = tile(hers, 'Prices')
  await prices.locator('.grid-row.chosen').getByText('BOLT').waitFor()
  await prices.getByText('CORN').click()
  await page.waitForURL('**/demo-market?p.symbol=CORN')
  await tile(hers, 'Candles of CORN').waitFor()
  await prices.locator('.grid-row.chosen').getByText('CORN').waitFor()
  await page.goBack()
  await page.goto(`${scene.server.issuer}/console/boards/demo-market`)
  await tile(hers, 'Candles of ACME').locator('canvas').waitFor()
})

test('a page that is not seen holds no live statements', async () => {
  await until('the tiles are live', LATE_MS, async () => (await liveStatements()) === 6)
  const turn = (state: string) =>
    hers.page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`)
  await turn('hidden')
  await until('nothing is live', LATE_MS, async () => (await liveStatements()) === 0)
  await turn('visible')
  await until('the tiles are live again', LATE_MS, async () => (await liveStatements()) === 6)
})

test('full screen has nothing but the board, until it is left', IN_LONG_RUNS, async () => {
  const { page } = hers
  await button(hers, 'Full screen').click()
  await page.waitForURL('**/demo-market?kiosk=1')
  await page.getByRole('navigation').first().waitFor({ state: 'detached' })
  await tile(hers, 'Prices').getByText('ACME').waitFor()
  await button(hers, 'Leave full screen').click()
  await page.waitForURL('**/demo-market')
  await page.getByRole('navigation').first().waitFor()
  hers.check()
})

test('a board is made, its tiles moved by keyboard, removed and brought back; a reload shows what was saved', async () => {
  const { page } = mine
  await button(mine, 'New board').click()
  await page.getByLabel('Name', { exact: true }).fill('Desk')
  await button(mine, 'Create').click()
  await page.getByRole('heading', { name: 'Desk' }).waitFor()
  await button(mine, 'Add tile').first().click()
  await page.getByLabel('Title', { exact: true }).fill('Turnover')
  await page.locator('.tile-editor .cm-content').click()
  await page.keyboard.insertText(
    'select symbol, sum(quantity) as volume from trades where symbol <> :without group by symbol order by symbol',
  )
  await page.getByLabel(':without').fill('ACME')
  await page.getByText('Bars', { exact: true }).click()
  await button(mine, 'Preview').click()
  await page
    .getByRole('region', { name: 'Preview' })
    .getByRole('img', { name: /Bar chart/ })
    .waitFor()
  assert.deepEqual(await mine.axe(), [])
  await page.getByRole('dialog').getByRole('button', { name: 'Add tile' }).click()
  await tile(mine, 'Turnover')
    .getByRole('img', { name: /^Bar chart of Turnover/ })
    .waitFor()
  const move = page.getByRole('button', { name: 'Move Turnover: arrow keys' })
  await move.focus()
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key)
  await page.getByRole('button', { name: 'Resize Turnover: arrow keys' }).focus()
  await page.keyboard.press('ArrowLeft')
  const act = async (name: string) => {
    await page.getByRole('button', { name: 'Actions for Turnover', exact: true }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await act('Duplicate')
  await tile(mine, 'Turnover (copy)').waitFor()
  await act('Remove')
  await tile(mine, 'Turnover').waitFor({ state: 'detached' })
  await button(mine, 'Undo').click()
  await tile(mine, 'Turnover').waitFor()
  assert.deepEqual(await mine.axe(), [])
  await button(mine, 'Save').click()
  await page.getByText('“Desk” was saved').waitFor()
  await page.reload()
  await tile(mine, 'Turnover')
    .getByRole('img', { name: /^Bar chart of Turnover/ })
    .waitFor()
  const saved = await admin.saved.get(page.url().split('/').at(-1) ?? '')
  assert.ok(saved.kind === 'board')
  const [first, second] = saved.body?.tiles ?? []
  assert.deepEqual(first?.position, { x: 2, y: 1, w: 5, h: 6 })
  assert.deepEqual(first?.parameters, { without: 'ACME' })
  assert.equal(second?.title, 'Turnover (copy)')
  mine.check()
})

test('a tile is moved and resized by pointer, and others make room', IN_LONG_RUNS, async () => {
  const { page } = mine
  await button(mine, 'Edit').click()
  const drag = async (name: string, x: number, y: number) => {
    const box = await page.getByRole('button', { name: `${name}: arrow keys` }).boundingBox()
    assert.ok(box !== null)
    await page.mouse.move(box.x + 8, box.y + 8)
    await page.mouse.down()
    await page.mouse.move(box.x + 8 + x, box.y + 8 + y, { steps: 4 })
    await page.mouse.up()
  }
  const first = await tile(mine, 'Turnover').boundingBox()
  await drag('Move Turnover', 0, -60)
  await drag('Resize Turnover', 300, 0)
  const now = await tile(mine, 'Turnover').boundingBox()
  assert.ok(first !== null && now !== null && now.y < first.y - 30 && now.width > first.width + 150)
  await button(mine, 'Discard').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await until('all is as before', LATE_MS, async () => (await tile(mine, 'Turnover').boundingBox())?.y === first.y)
})

test('a board is shared by its link, within the rights of who opens it', IN_LONG_RUNS, async () => {
  const link = mine.page.url()
  await hers.page.goto(link)
  await hers.page.getByText('This board does not exist, or you have no access to it').waitFor()
  await button(mine, 'Share').click()
  await mine.page.getByLabel('Who can open it').selectOption('everyone')
  assert.equal(await mine.page.getByLabel('Link', { exact: true }).inputValue(), link)
  assert.deepEqual(await mine.axe(), [])
  await mine.page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await mine.page.getByText('“Desk” is shared; send its link').waitFor()
  await hers.page.reload()
  await tile(hers, 'Turnover').getByRole('img').waitFor()
  assert.equal(await button(hers, 'Edit').count(), 0)
  assert.equal(await button(hers, 'Share').count(), 0)
  hers.check(/404/)
})

test('a tile is opened in Query with its parameters, and runs when its user wants it', IN_LONG_RUNS, async () => {
  const { page } = hers
  await button(hers, 'Actions for Turnover').click()
  await page.getByRole('menuitem', { name: 'Open in Query' }).click()
  await page.waitForURL(/\/console\/query\?tab=/)
  assert.match((await page.locator('.cm-content').textContent()) ?? '', /^select symbol, sum\(quantity\)/)
  assert.equal(await page.getByRole('textbox', { name: ':without' }).inputValue(), 'ACME')
  await page.getByText('Write a statement and run it').waitFor()
  await page.locator('.page-actions .primary').click()
  const [others] = await admin.query<{
    n: number
  }>`select count(distinct symbol) as n from trades where symbol <> 'ACME'`
  await page.locator('.query-summary').getByText(`${others?.n} rows`).waitFor()
  hers.check(/404/)
})

test('changes of another user are not overwritten without a question', IN_LONG_RUNS, async () => {
  const { page } = mine
  const id = await createBoard('Contested', [])
  await page.goto(`${scene.server.issuer}/console/boards/${id}`)
  await button(mine, 'More').click()
  await page.getByRole('menuitem', { name: 'Name and description' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Mine')
  await button(mine, 'Apply').click()
  await admin.saved.update(id, { name: 'Theirs' })
  await button(mine, 'Save').click()
  await page.getByText('Another user has changed this board').waitFor()
  assert.equal((await admin.saved.get(id)).name, 'Theirs')
  assert.deepEqual(await mine.axe(), [])
  await button(mine, 'Overwrite').click()
  await page.getByText('“Mine” was saved').waitFor()
  assert.equal((await admin.saved.get(id)).name, 'Mine')
  mine.check(/412/)
})

test('a tile that fails says why, and the others go on', IN_LONG_RUNS, async () => {
  const position = { x: 0, y: 0, w: 6, h: 6 }
  const id = await createBoard('Faulty', [
    { title: 'Wrong', view: 'table', statement: 'select pric from trades', live: true, position },
    { title: 'Unfit', view: 'line', statement: 'select symbol from instruments', position },
    { title: 'Right', view: 'table', statement: 'select symbol from instruments', position },
  ])
  await mine.page.goto(`${scene.server.issuer}/console/boards/${id}`)
  await tile(mine, 'Wrong').getByRole('alert').getByText('IQL.').waitFor()
  await tile(mine, 'Wrong').getByText(/price/).first().waitFor()
  await tile(mine, 'Unfit').getByText('choose bars').waitFor()
  await tile(mine, 'Right').getByText('ACME').waitFor()
  assert.deepEqual(await mine.axe(), [])
  mine.check(/412/)
})

test('a shared board never writes with the rights of the user who opens it', async () => {
  const position = { x: 0, y: 0, w: 6, h: 6 }
  const alice = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ALICE }) })
  const tiles = [
    { title: 'Trap', view: 'table', statement: "delete from instruments where symbol = 'ECHO'", position },
    { title: 'Bait', view: 'table', statement: "select symbol from instruments where symbol = 'ECHO'", position },
  ]
  const { id } = await alice.saved.create({ kind: 'board', name: 'Trap', shared: 'everyone', body: { tiles } } as never)
  alice.close()
  await mine.page.goto(`${scene.server.issuer}/console/boards/${id}`)
  await tile(mine, 'Trap')
    .getByRole('alert')
    .getByText('Request.WritesRefused')
    .waitFor({ timeout: 2 * LATE_MS })
  await tile(mine, 'Bait').getByText('ECHO').waitFor()
  assert.deepEqual(await admin.query`select symbol from instruments where symbol = 'ECHO'`, [{ symbol: 'ECHO' }])
  mine.check(/412|422/)
})

test('on a telephone the tiles are below each other', async () => {
  const phone = await scene.open('/boards/demo-market', { user: ALICE, width: 390 })
  await tile(phone, 'Prices').getByText('ACME').waitFor()
  const boxes = await Promise.all(
    ['Prices', 'Bid and ask of ACME', 'Volume'].map((name) => tile(phone, name).boundingBox()),
  )
  const [one, two, three] = boxes.map((box) => box ?? { x: 0, y: 0, width: 0 })
  assert.ok(one && two && three && one.x === two.x && two.x === three.x && one.y < two.y && two.y < three.y)
  assert.ok(one.width > 340)
  assert.deepEqual(await phone.axe(), [])
  phone.check()
})
