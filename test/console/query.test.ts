/** The area Query in a real Chromium: writing, running, large, live and saved results, charts, downloads. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import type { Page } from '../support/chromium.ts'
import { ADMIN, ALICE, type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { longestTask } from '../support/long-tasks.ts'
import { until } from '../support/until.ts'

const LATE_MS = 60_000
let scene: ConsoleScene
let admin: Gatehouse
let view: ConsolePage
let page: Page

before(async () => {
  scene = await openConsole()
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`create table ticks (id Integer primary key, symbol Text not null, price Decimal(18, 4) not null)
    read scope 'Platform/Market'`
  await admin.query`insert into ticks values (1, 'A', 1), (2, 'B', 2), (3, 'C', 3)`
  view = await scene.open('/query')
  await view.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  page = view.page
  await page.getByText('Write a statement and run it').waitFor()
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

const summary = (on: Page = page) => on.locator('.query-summary')
const cell = (row: number, column: number, on: Page = page) =>
  on.locator(`[aria-rowindex="${row + 2}"] [aria-colindex="${column + 2}"]`)
const options = () => page.locator('.cm-tooltip-autocomplete li')

/** A list of completions takes no key in its first 75 ms, for those who type on. */
async function accept(): Promise<void> {
  await page.waitForTimeout(100)
  await page.keyboard.press('Enter')
}

/** Replaces the text of the tab and runs it. */
async function run(text: string, on: Page = page): Promise<void> {
  await on.locator('.cm-content').click()
  await on.keyboard.press('Control+A')
  await on.keyboard.insertText(text)
  await on.keyboard.press('Control+Enter')
}

test('an example runs with one click, and the area is free of faults', async () => {
  await page.getByRole('button', { name: 'All trades' }).click()
  await summary().getByText('4,000 rows').waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'New tab' }).click()
})

test('the tree of tables puts names into the statement; columns are completed before FROM', async () => {
  await page.getByRole('button', { name: 'Show the columns of trades' }).click()
  await page.locator('.cm-content').click()
  await page.keyboard.type('select venu')
  await options().filter({ hasText: 'venue' }).filter({ hasText: 'Text · trades' }).waitFor()
  await accept()
  await page.keyboard.type(',')
  await page.keyboard.press('Escape')
  await page.getByRole('list', { name: 'Columns of trades' }).getByRole('button', { name: 'price' }).click()
  await page.keyboard.type(' from')
  await page.keyboard.press('Escape')
  await page.getByRole('list', { name: 'Tables' }).getByRole('button', { name: 'trades', exact: true }).click()
  assert.equal(await page.locator('.cm-content').textContent(), 'select venue, price from trades')
  await page.keyboard.press('Control+A')
  await page.keyboard.press('Delete')
})

test('tables, columns and functions are completed; the statement runs, also without rows', async () => {
  await page.locator('.cm-content').click()
  await page.keyboard.type('select * from tra')
  await options().getByText('trades').waitFor()
  await accept()
  await page.keyboard.type(' t where t.pri')
  await options().filter({ hasText: 'price' }).filter({ hasText: 'Decimal(18, 4)' }).waitFor()
  await accept()
  await page.keyboard.type(' > abs')
  await options().filter({ hasText: 'abs' }).filter({ hasText: '(x)' }).first().waitFor()
  await accept()
  await page.keyboard.type('1')
  await page.keyboard.press('End')
  await page.keyboard.type(' and t.id <= 3')
  assert.match(
    (await page.locator('.cm-content').textContent()) ?? '',
    /select \* from trades t where t\.price > abs\(1\) and t\.id <= 3/,
  )
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Enter')
  await summary().getByText('3 rows').waitFor()
  assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '4')
  await run('select id, price from trades where id < 0')
  await page.getByText('No rows match the statement.').waitFor()
  await page.getByRole('columnheader', { name: /price/ }).waitFor()
})

test('a fault is underlined at its place with the hint, by the parser and by the server', async () => {
  await run('select id from trades;\nselect pric from trades')
  const underlined = page.locator('.cm-lintRange-error')
  await underlined.getByText('pric', { exact: true }).waitFor()
  const notice = page.locator('.query-result .notice')
  await notice.getByText('did you mean price?').waitFor()
  await notice.getByText('IQL.UnknownColumn').waitFor()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('selec 1')
  await underlined.getByText('selec').waitFor()
  await underlined.hover()
  await page
    .locator('.cm-diagnostic')
    .getByText(/SELECT/i)
    .first()
    .waitFor()
  view.check(/status of 400/)
})

test('the statement at the cursor or all of them, with the rows that each has affected', async () => {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(
    "update ticks set price = price + 1 where id = 1;\nselect symbol from ticks where id = 2;\nselect 'x' as last from ticks",
  )
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Control+Enter')
  await summary().getByText('1 row', { exact: false }).waitFor()
  assert.equal(await cell(0, 0).textContent(), 'B')
  await page.keyboard.press('Control+Shift+Enter')
  await summary().getByText('3 rows').waitFor()
  await page.getByRole('button', { name: /^1\. update/ }).click()
  await summary().getByText('1 row affected').waitFor()
})

test('a parameter has a field with the type of its column', async () => {
  await run('select id from ticks where price >= :least')
  const field = page.getByRole('textbox', { name: ':least' })
  await page.locator('.query-parameter').getByText('Decimal(18, 4)').waitFor()
  await field.fill('3')
  await field.press('Enter')
  await summary().getByText('1 row').waitFor()
  await field.fill('many')
  await field.press('Enter')
  await page
    .getByText(/The value of :least is not/)
    .first()
    .waitFor()
})

test(
  'the claims of a row filter are not parameters: the statement of the documentation runs as it stands',
  IN_LONG_RUNS,
  async () => {
    const docs = await readFile(new URL('../../docs/concepts.md', import.meta.url), 'utf8')
    const statement = /CREATE TABLE positions [^`]*/.exec(docs)?.[0] ?? ''
    assert.match(statement, /:role/)
    await run(statement)
    await summary().getByText('0 rows affected').waitFor()
    assert.equal(await page.locator('.query-parameter').count(), 0)
    await run(
      `alter table positions set row filter (desk = :roles); select count(*) as n from positions where desk = :desk`,
    )
    await page.locator('.query-parameter').waitFor()
    assert.deepEqual(await page.locator('.query-parameter label').allTextContents(), [':desk'])
  },
)

test('a statement that takes long is cancelled, here and on the server', async () => {
  await run('select count(*) as n from trades a cross join trades b cross join trades c')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await summary().getByText('Cancelled').waitFor()
  await until('nothing runs', LATE_MS, async () => (await Array.fromAsync(admin.admin.queries.list())).length === 0)
})

test(
  'hundreds of thousands of rows stream in and scroll; typing still works, and no frame waits for them',
  IN_LONG_RUNS,
  async () => {
    await run('select * from trades')
    await summary().getByText('4,000 rows').waitFor()
    const longest = await longestTask(page, async () => {
      await run('select a.id, b.executed_at, b.price from trades a cross join trades b limit 300000')
      await page.keyboard.press('End')
      await page.keyboard.type(' -- typed meanwhile')
      await summary().getByText('300,000 rows').waitFor({ timeout: LATE_MS })
      await page.waitForFunction(`!document.querySelector('.query-summary .spinner')`, undefined, { timeout: LATE_MS })
      await page.evaluate(`(async () => {
      for (let at = 0; at < 60; at++) {
        document.querySelector('[role=grid]').scrollTop = at * 100_000
        await new Promise(requestAnimationFrame)
      }
    })()`)
    })
    assert.ok(longest < 100, `${longest} ms`)
    assert.match((await page.locator('.cm-content').textContent()) ?? '', /limit 300000 -- typed meanwhile/)
    await cell(0, 0).or(page.locator('.grid-cell').first()).first().click()
    await page.keyboard.press('Control+End')
    await cell(299_999, 0).waitFor()
  },
)

test('Live: rows change and move to their places; the method is named, and why a result cannot be live', async () => {
  await run('select symbol, price from ticks order by price desc')
  await summary().getByText('3 rows').waitFor()
  await page.getByRole('switch', { name: 'Live' }).click()
  await summary().getByText('by rerun').waitFor()
  assert.equal(await cell(0, 0).textContent(), 'C')
  await admin.query`update ticks set price = 100 where symbol = 'A'`
  await cell(0, 0).getByText('A').waitFor()
  await cell(0, 1).getByText('100', { exact: true }).waitFor()
  await admin.query`insert into ticks values (4, 'D', 50)`
  await cell(1, 0).getByText('D').waitFor()
  await admin.query`delete from ticks where id = 4`
  await cell(1, 0).getByText('C').waitFor()
  await page.getByRole('radio', { name: 'Chart' }).check({ force: true })
  await page.getByRole('combobox', { name: 'Chart' }).selectOption('bar')
  await page.locator('.query-chart canvas').waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('radio', { name: 'Table', exact: true }).check({ force: true })
  await run('select symbol from ticks limit 2')
  await page.getByText('This result cannot be live').waitFor()
  await page.getByRole('button', { name: 'Switch off' }).click()
  await summary().getByText('2 rows').waitFor()
})

test('a grouped result is kept as a materialized view, and the hint of a refusal is shown', async () => {
  await admin.query`insert into ticks values (4, 'C', 4)`
  await run('select symbol, count(*) as n, max(price) as high from ticks group by symbol order by symbol limit 10')
  await summary().getByText('3 rows').waitFor()
  await page.getByRole('button', { name: 'Keep this' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByRole('textbox', { name: 'Name of the view' }).fill('highest')
  await dialog.getByText('CREATE MATERIALIZED VIEW highest AS').waitFor()
  assert.doesNotMatch(await dialog.innerText(), /LIMIT|ORDER BY/)
  assert.deepEqual(await view.axe(), [])
  await dialog.getByRole('button', { name: 'Keep', exact: true }).click()
  await dialog.getByText('CREATE INDEX ticks_symbol ON ticks (symbol)').waitFor()
  await admin.query`create index ticks_symbol on ticks (symbol)`
  await dialog.getByRole('button', { name: 'Keep', exact: true }).click()
  await page.getByText('highest follows its table from now on').waitFor({ timeout: LATE_MS })
  await admin.query`refresh materialized view highest`
  await run('select symbol, n from highest order by symbol')
  await summary().getByText('3 rows').waitFor()
  await page.getByRole('button', { name: 'Keep this' }).waitFor({ state: 'hidden' })
  const structure = await scene.open('/tables/highest/structure')
  await structure.page.getByText('materialized view').first().waitFor()
  await structure.page.getByText('ready', { exact: true }).waitFor()
  await structure.page.getByText(/^\d+\.\d s$/).waitFor()
  assert.deepEqual(await structure.axe(), [])
  const facts = structure.page.locator('section', { hasText: 'Bring up to date' })
  await facts.getByText('3', { exact: true }).waitFor()
  await admin.query`insert into ticks values (5, 'D', 4)`
  await facts.getByText('4', { exact: true }).waitFor({ timeout: LATE_MS })
  await structure.page.getByRole('button', { name: 'Bring up to date' }).click()
  await structure.page.getByText('highest is up to date').waitFor()
  await structure.page.getByRole('button', { name: 'Evaluate all of it' }).click()
  await structure.page.getByText('Rows that were wrong: 0').waitFor()
  await structure.context.close()
  await admin.query`drop materialized view highest`
  await admin.query`delete from ticks where id in (4, 5)`
})

test('a result is added to a board; several stand side by side; the plan has rows and times', async () => {
  await run('select symbol from ticks; select id from ticks order by id')
  await page.keyboard.press('Control+F')
  await page.locator('.cm-search').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Shift+Enter')
  await page.getByRole('button', { name: 'All results side by side' }).click()
  await page.getByRole('grid').nth(1).waitFor()
  await page.getByRole('button', { name: 'All results side by side' }).click()
  await page.getByRole('radio', { name: 'Plan' }).check({ force: true })
  await page.getByText(/3 rows in .* ms/).waitFor()
  await page.getByRole('button', { name: 'Add to board' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByRole('textbox', { name: 'Title of the tile' }).fill('Ids')
  await dialog.getByRole('combobox', { name: 'Board' }).selectOption('A new board')
  await dialog.getByRole('textbox', { name: 'Name of the board' }).fill('Mine')
  assert.deepEqual(await view.axe(), [])
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('“Ids” was added to “Mine”').waitFor()
  const [board] = await Array.fromAsync(admin.saved.list({ kind: 'board', prefix: 'Mine' }))
  const { body } = await admin.saved.get(board?.id ?? '')
  assert.deepEqual(body, {
    tiles: [
      {
        ...{ title: 'Ids', statement: 'select id from ticks order by id', view: 'table', live: false },
        position: { x: 0, y: 0, w: 6, h: 6 },
      },
    ],
  })
  await page.getByRole('radio', { name: 'Table', exact: true }).check({ force: true })
})

test('a saved query survives a reload, is shared with others, and is not overwritten by accident', async () => {
  await run('select symbol, price from ticks where symbol = :symbol')
  await page.getByRole('textbox', { name: ':symbol' }).fill('B')
  await page.keyboard.press('Control+S')
  await page.getByRole('textbox', { name: 'Name' }).fill('Ticks of a symbol')
  await page.getByRole('combobox', { name: 'Who can open it' }).selectOption('everyone')
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByText('was saved and is shared').waitFor()
  assert.match(page.url(), /\/console\/query\/saved\/[^/]+$/)
  await page.reload()
  await page.locator('.query-tab.current').getByText('Ticks of a symbol').waitFor()
  assert.equal(await page.getByRole('textbox', { name: ':symbol' }).inputValue(), 'B')
  assert.ok((await page.locator('.query-tab').count()) >= 2, 'the other tabs are there too')

  const other = await scene.open('/query', { user: ALICE })
  await other.page.getByRole('radio', { name: 'Saved' }).check({ force: true })
  await other.page.getByRole('link', { name: /Ticks of a symbol/ }).click()
  await other.page.waitForURL(page.url())
  await other.page.locator('.page-actions .primary').click()
  await summary(other.page).getByText('1 row').waitFor()
  assert.equal(await cell(0, 0, other.page).textContent(), 'B')
  await other.page.locator('.cm-content').click()
  await other.page.keyboard.press('Control+End')
  await other.page.keyboard.type(' -- mine')
  await other.page.keyboard.press('Control+S')
  assert.equal(await other.page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Ticks of a symbol (copy)')
  other.check()
  await other.context.close()

  await admin.saved.update(page.url().split('/').at(-1) ?? '', { name: 'Renamed elsewhere' })
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' -- changed')
  await page.keyboard.press('Control+S')
  await page.getByText('was changed in the meantime').waitFor()
  await page.getByRole('button', { name: 'Overwrite' }).click()
  await page.getByText('“Renamed elsewhere” was saved').waitFor()
})

test('a result is downloaded as the server writes it, and copied', async () => {
  await run('select id, symbol from ticks order by id')
  await summary().getByText('3 rows').waitFor()
  await page.getByRole('button', { name: 'Download' }).click()
  const started = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Download CSV' }).click()
  const file = await (await started).path()
  assert.equal(await readFile(file, 'utf8'), 'id,symbol\r\n1,A\r\n2,B\r\n3,C\r\n')
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Copy as JSON' }).click()
  await page.getByText('3 rows copied as JSON').waitFor()
})

test(
  'a link with a text opens it, and runs nothing before Ctrl-Enter; the plan is shown on request',
  IN_LONG_RUNS,
  async () => {
    const text = 'select price from ticks where id = 1'
    await page.goto(`${scene.server.issuer}/console/query?q=${encodeURIComponent(text)}`)
    await page.getByText('Write a statement and run it').waitFor()
    assert.equal(await page.locator('.cm-content').textContent(), text)
    await page.locator('.cm-editor.cm-focused').waitFor()
    await page.keyboard.press('Control+Enter')
    await summary().getByText('1 row').waitFor()
    await page.getByRole('radio', { name: 'Plan' }).check({ force: true })
    await page.locator('.query-plan').getByText('find in ticks by id').waitFor()
    await page.locator('.query-plan').getByText('Yes, by keys:').waitFor()
  },
)

test('dark and on a telephone it is free of faults; it is small, and nothing was against the policy', async (t) => {
  const dark = await scene.open('/query/saved/demo-turnover', { user: ALICE, dark: true, width: 390 })
  await dark.page.locator('.query-tab.current').getByText('Turnover by sector').waitFor()
  await dark.page.locator('.page-actions .primary').click()
  await dark.page.locator('.query-chart canvas').waitFor()
  assert.deepEqual(await dark.axe(), [])
  dark.check()
  // All that was loaded for it: shell, editor, grid and chart; and the typefaces.
  const loaded = (path: string) =>
    dark.page.evaluate<number>(
      `performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.startsWith('${path}')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    )
  const [program, typefaces] = [await loaded('/console/assets/'), await loaded('/assets/')]
  assert.ok(program > 100_000 && program <= 261_000, `${program} bytes compressed`)
  assert.ok(typefaces > 10_000 && typefaces <= 40_000, `${typefaces} bytes of typefaces`)
  t.diagnostic(`${program} bytes compressed, ${typefaces} of typefaces`)
  view.check(/status of 4\d\d/)
})
