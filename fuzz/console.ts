/** The console under load in a real browser: `node fuzz/console.ts rows|live|start|users|tables [number] [sqlite|postgres]`. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from '../test/support/chromium.ts'
import { CONSOLE_ENGINE, openConsole } from '../test/support/console.ts'
import { readHoldings, report, untilSeen, watched, watchFrames } from './console-page.ts'
import { fillRows, measureTables, measureUsers } from './console-scale.ts'

/** Rows of distinct texts into the grid of a query; then they are scrolled, sorted and filtered. */
async function measureRows(rows: number): Promise<void> {
  const scene = await openConsole({ prepare: (place) => fillRows(place, rows) })
  try {
    const { page } = await scene.open('/query')
    await watchFrames(page)
    report('idle', await watched(page, () => pause(1000)))
    await write(page, 'select id, symbol, price, executed_at, venue from many')
    const read = await watched(page, async () => {
      await page.keyboard.press('Control+Enter')
      await untilSeen(page, `document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') === '${rows + 1}'`)
    })
    report(`${rows} rows, ${Math.round(rows / (read.milliseconds / 1000))}/s`, read)
    await untilSeen(page, `!document.querySelector('.query-summary .spinner')`)
    const { heapMiB } = await readHoldings(page)
    console.log(`heap: ${heapMiB} MiB`)
    report('scrolled', await watched(page, () => page.evaluate(SCROLL)))
    for (const column of ['id', 'symbol', 'price', 'executed_at', 'venue'])
      report(
        `sorted by ${column}`,
        await watched(page, async () => {
          await page
            .getByRole('columnheader', { name: new RegExp(`^${column}`) })
            .getByRole('button', { name: new RegExp(`^${column}`) })
            .click()
          await arranged(page)
        }),
      )
    await page.getByRole('columnheader', { name: /^venue/ }).hover()
    await page.getByRole('button', { name: 'Column venue' }).click()
    await page.getByRole('menuitem', { name: 'Filter…' }).click()
    report(
      'filtered',
      await watched(page, async () => {
        await page.getByLabel('Filter venue').fill(' 123')
        await arranged(page)
      }),
    )
  } finally {
    await scene.stop()
  }
}

const SCROLL = `(async () => {
  const grid = document.querySelector('[role=grid]')
  for (let at = 0; at < 60; at++) {
    grid.scrollTop = (grid.scrollHeight / 60) * at
    await new Promise(requestAnimationFrame)
  }
})()`

async function write(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

async function arranged(page: Page): Promise<void> {
  await pause(100)
  await untilSeen(page, `document.querySelector('[role=grid]').ariaBusy !== 'true'`)
}

/** The board of the demonstration and a live query, open for minutes while the market trades: the pages must not grow. */
async function measureLive(minutes: number): Promise<void> {
  const scene = await openConsole({ flags: { '--demo-market': 'true' } })
  try {
    const board = await scene.open('/boards/demo-market')
    await board.page.locator('.tile canvas').first().waitFor()
    const query = await scene.open('/query')
    await write(
      query.page,
      'select symbol, max(bid) as bid, min(ask) as ask, count(*) as quotes from quotes group by symbol order by symbol',
    )
    await query.page.keyboard.press('Control+Enter')
    await query.page.getByRole('switch', { name: 'Live' }).click()
    await query.page.locator('.query-summary .badge').getByText('Live').waitFor()
    const pages = { board: board.page, query: query.page }
    const samples: Record<keyof typeof pages, Awaited<ReturnType<typeof readHoldings>>[]> = { board: [], query: [] }
    const parts = 8
    for (let part = 0; part <= parts; part++) {
      for (const name of ['board', 'query'] as const) samples[name].push(await readHoldings(pages[name]))
      console.log(JSON.stringify({ board: samples.board.at(-1), query: samples.query.at(-1) }))
      if (part < parts) await pause((minutes * 60_000) / parts)
    }
    for (const view of [board, query]) view.check()
    for (const [name, [, second, ...rest]] of Object.entries(samples)) {
      const last = rest.at(-1)
      assert.ok(second !== undefined && last !== undefined)
      assert.ok(last.heapMiB < second.heapMiB + 4, `the heap of ${name} grows`)
      assert.ok(last.nodes < second.nodes * 1.2 + 200, `the nodes of ${name} grow`)
      assert.ok(last.listeners < second.listeners * 1.2 + 50, `the listeners of ${name} grow`)
    }
    console.log('flat')
  } finally {
    await scene.stop()
  }
}

/** From the address to an editor that takes keys, with a session and with an empty cache. */
async function measureStart(times: number): Promise<void> {
  const scene = await openConsole()
  try {
    const signedIn = await scene.open()
    for (let time = 0; time < times; time++) {
      const page = await signedIn.context.newPage()
      const client = await page.context().newCDPSession(page)
      await client.send('Network.enable')
      if (time < times / 2) await client.send('Network.setCacheDisabled', { cacheDisabled: true })
      const start = performance.now()
      await page.goto(`${scene.server.issuer}/console/query`)
      await page.locator('.cm-content').waitFor()
      const bytes = await page.evaluate<number>(
        `[performance.getEntriesByType('navigation')[0], ...performance.getEntriesByType('resource')]
          .filter(({ name }) => name.includes('/console')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      )
      const cache = time < times / 2 ? 'empty' : 'warm'
      console.log(`interactive after ${Math.round(performance.now() - start)} ms, cache ${cache}, ${bytes} bytes`)
      await page.close()
    }
  } finally {
    await scene.stop()
  }
}

const [what = 'rows', number, engine] = process.argv.slice(2)
if (engine !== undefined) process.env[CONSOLE_ENGINE] = engine
const RUNS: ReadonlyMap<string, () => Promise<void>> = new Map([
  ['rows', () => measureRows(Number(number ?? 1_000_000))],
  ['live', () => measureLive(Number(number ?? 10))],
  ['start', () => measureStart(Number(number ?? 6))],
  ['users', () => measureUsers(Number(number ?? 1_000_000))],
  ['tables', () => measureTables(Number(number ?? 5000))],
])
const run = RUNS.get(what)
if (run === undefined) throw new Error(`Unknown: ${what}. One of ${[...RUNS.keys()].join(', ')}`)
await run()
process.exit(0)
