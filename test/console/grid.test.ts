/** The data grid in a real Chromium: a million rows, a thousand columns, keys, copies, and frames that stay short. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadAxe } from '../support/axe.ts'
import { type BrowserContext, findComplaints, type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { openGridPage } from '../support/grid-page.ts'
import { longestTask } from '../support/long-tasks.ts'
import { until } from '../support/until.ts'

let browser: TestBrowser
let context: BrowserContext
let page: Page
let complaints: string[]

before(async () => {
  browser = await startChromium()
  context = await browser.newContext()
  page = await openGridPage(context)
  complaints = findComplaints(page)
  await page.evaluate(HELPERS)
})
after(() => browser.stop())

const HELPERS = `
  globalThis.frame = () => new Promise(requestAnimationFrame)
  globalThis.columns = [
    { name: 'id', type: 'Integer' }, { name: 'price', type: 'Decimal(18, 4)' },
    { name: 'symbol', type: 'Text' }, { name: 'at', type: 'Timestamp' }, { name: 'note', type: 'Json' },
  ]
  globalThis.buildRow = (i) => {
    const part = i % 1000
    return [i, part + '.5000', 'S' + (part % 50), '2026-01-01T00:00:00.' + String(part).padStart(6, '0') + 'Z', null]
  }
  globalThis.range = (from, to) => Array.from({ length: to - from }, (_, at) => buildRow(from + at))
  undefined
`

/** Evaluated by the debugger, which the policy of the page does not concern. */
const seen = (condition: string) => until(condition, 5000, () => page.evaluate<boolean>(condition))

const cell = (row: number, column: number) =>
  page.locator(`[aria-rowindex="${row + 2}"] [aria-colindex="${column + 2}"]`)

test('a million rows: the last one is reached by key and by scrolling, few elements exist', async () => {
  // In batches, as they arrive: a million rows at once would be garbage that the frames of the next test wait for.
  await page.evaluate(`globalThis.model = new GridModel(columns)
    for (let at = 0; at < 1_000_000; at += 5000) model.append(range(at, at + 5000))
    show(model)`)
  const grid = page.getByRole('grid', { name: 'Rows' })
  await cell(0, 0).waitFor()
  assert.equal(await grid.getAttribute('aria-rowcount'), '1000001')
  assert.equal(await grid.getAttribute('aria-colcount'), '6')
  await cell(0, 0).click()
  await page.keyboard.press('Control+End')
  await cell(999_999, 0).waitFor()
  assert.equal(await cell(999_999, 0).textContent(), '999999')
  assert.equal(await cell(999_999, 4).textContent(), 'NULL')
  assert.match((await cell(999_999, 3).getAttribute('title')) ?? '', /^2026-01-01 00:00:00\.000999 UTC$/)
  await page.evaluate(`{ const grid = document.querySelector('[role=grid]'); grid.scrollTop = grid.scrollHeight / 2 }`)
  await seen(`Math.abs(document.querySelector('.grid-row').getAttribute('aria-rowindex') - 500_000) < 100`)
  assert.ok((await page.locator('.grid-cell').count()) < 400)
})

test(
  'scrolling through a million rows, and sorting and filtering them, leaves the frames short',
  IN_LONG_RUNS,
  async () => {
    const arranged = 'await frame(); await frame(); while (model.arranging.value) await frame()'
    const longest: number[] = []
    for (const work of [
      `const grid = document.querySelector('[role=grid]')
     for (let i = 0; i < 30; i++) { grid.scrollTop = (grid.scrollHeight / 30) * i; await frame() }`,
      `model.setSort({ column: 1, descending: true }); ${arranged}`,
      `model.setFilter(2, 'S7'); ${arranged}`,
    ])
      longest.push(await longestTask(page, () => page.evaluate(`(async () => { ${work} })()`)))
    assert.ok(Math.max(...longest) < 100, `scrolled, sorted, filtered: ${longest} ms`)
    assert.equal(await page.evaluate('[model.size, model.row(0)[2], model.row(0)[1]].join()'), '20000,S7,957.5000')
  },
)

test('100,000 rows a second are taken in without a long frame, also while sorted', IN_LONG_RUNS, async () => {
  await page.evaluate(`
    globalThis.model = new GridModel(columns)
    show(model)
    model.setSort({ column: 0, descending: true })
    globalThis.batches = Array.from({ length: 20 }, (_, at) => range(at * 5000, (at + 1) * 5000))
    undefined`)
  const longest = await longestTask(page, () =>
    page.evaluate(`(async () => {
      for (const batch of batches) { model.append(batch); await new Promise((done) => setTimeout(done, 50)) }
      while (model.size < 100_000) await frame()
    })()`),
  )
  assert.ok(longest < 100, `${longest} ms`)
  await seen(`document.querySelector('.grid-row .grid-cell').textContent === '99999'`)
})

test('a thousand columns: only those in view exist, End leads to the last', async () => {
  await page.evaluate(`
    globalThis.model = new GridModel(Array.from({ length: 1000 }, (_, at) => ({ name: 'c' + at, type: 'Integer' })))
    model.append(Array.from({ length: 1000 }, (_, row) => Array.from({ length: 1000 }, (_, at) => row * 1000 + at)))
    show(model)`)
  await cell(0, 0).click()
  await page.keyboard.press('End')
  await cell(0, 999).waitFor()
  assert.equal(await cell(0, 999).textContent(), '999')
  assert.ok((await page.locator('.grid-cell').count()) < 800)
})

test('keys and the mouse select a range, which is copied as TSV', async () => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate('globalThis.model = new GridModel(columns); model.append(range(0, 100)); show(model)')
  await cell(1, 0).click()
  await page.keyboard.press('Shift+ArrowDown')
  await page.keyboard.press('Shift+ArrowRight')
  assert.equal(await page.locator('.grid-cell.selected').count(), 4)
  assert.equal(await copied(), '1\t1.5000\n2\t2.5000')
  await cell(4, 2).hover()
  await page.mouse.down()
  await cell(6, 2).hover()
  await page.mouse.up()
  assert.equal(await copied(), 'S4\nS5\nS6')
  const active = await page.getByRole('grid').getAttribute('aria-activedescendant')
  assert.equal(await page.locator(`[id="${active}"]`).textContent(), 'S6')
})

async function copied(): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')")
  await page.keyboard.press('Control+c')
  await page.getByText(/^Copied/).waitFor()
  const text = await page.evaluate<string>('navigator.clipboard.readText()')
  return text
}

test('the header sorts by mouse and by keys, pins, resizes and filters', async () => {
  const heading = page.getByRole('columnheader', { name: /symbol/ })
  await heading.getByRole('button', { name: /^symbol/ }).click()
  assert.equal(await heading.getAttribute('aria-sort'), 'ascending')
  await cell(0, 0).click()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  assert.equal(await page.getByRole('columnheader', { name: /^id/ }).getAttribute('aria-sort'), 'ascending')
  const before = await page.evaluate<number>(`document.querySelector('.grid-heading').offsetWidth`)
  await page.keyboard.press('Alt+ArrowRight')
  await seen(`document.querySelector('.grid-heading').offsetWidth === ${before} + 16`)
  await page.keyboard.press('Alt+ArrowDown')
  await page.getByRole('menuitem', { name: 'Filter…' }).click()
  await page.getByLabel('Filter id').fill('>= 98')
  await seen('model.size === 2')
  await heading.hover()
  await page.getByRole('button', { name: 'Column symbol' }).click()
  await page.getByRole('menuitem', { name: 'Pin', exact: true }).click()
  assert.equal(await page.locator('.grid-row .grid-pinned .grid-cell').first().textContent(), 'S48')
})

test('a value of a megabyte is cut where it is drawn, and a change of a live row is marked', async () => {
  await page.evaluate(`
    globalThis.model = new GridModel([{ name: 'big', type: 'Json' }, { name: 'text', type: 'Text' }])
    const big = { items: Array.from({ length: 100_000 }, (_, at) => 'item ' + at) }
    model.put('a', [big, 'x'.repeat(1_000_000)])
    show(model)`)
  await cell(0, 0).click()
  assert.ok((await cell(0, 0).textContent())?.endsWith('…'))
  assert.ok(((await cell(0, 1).textContent())?.length ?? 0) < 400)
  await page.keyboard.press('Enter')
  const details = page.getByRole('region', { name: 'Value of big' })
  assert.match((await details.textContent()) ?? '', /The first 100,000 of 1,788,909/)
  assert.equal((await details.locator('pre').textContent())?.length, 100_000)
  await page.evaluate(`model.put('a', [null, 'short'])`)
  await page.locator('.grid-cell.flash-odd').first().waitFor()
  assert.equal(await cell(0, 1).textContent(), 'short')
})

test('axe-core finds nothing, and the policy of the console is kept', async () => {
  await page.evaluate('globalThis.model = new GridModel(columns); model.append(range(0, 100)); show(model)')
  await cell(0, 0).click()
  await loadAxe(page)
  const faults = await page.evaluate(`axe.run(document.querySelector('main'), { resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html + nodes[0].failureSummary))`)
  assert.deepEqual(faults, [])
  assert.deepEqual(complaints, [])
})
