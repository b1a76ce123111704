/** The console among a million users and thousands of tables: pages answer at once, and nothing loads everything. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { openDatabase } from '../packages/server/src/store/database/database.ts'
import type { Page } from '../test/support/chromium.ts'
import { openConsole } from '../test/support/console.ts'
import type { TestPlace } from '../test/support/engines.ts'
import { startTestServer } from '../test/support/server.ts'
import { report, untilSeen, watched, watchFrames } from './console-page.ts'
import { fillUsers } from './fill-users.ts'

export async function measureUsers(users: number): Promise<void> {
  const prepare = async (place: TestPlace) => {
    const { dataFolder, databaseUrl: url } = place
    await startOnce(place)
    const database = await openDatabase({ dataFolder, url })
    await fillUsers(database, users)
    await database.close()
  }
  const scene = await openConsole({ prepare })
  try {
    const { page } = await scene.open('')
    await watchFrames(page)
    const loaded = countLoaded(page)
    const rows = page.locator('tbody tr')
    await time('People', page, async () => {
      await page.getByRole('link', { name: 'People', exact: true }).click()
      await rows.first().waitFor()
    })
    const search = page.getByRole('searchbox')
    for (const text of ['a', 'hana', 'Hana Ito', 'u99999', 'lea.1234@', 'nobody at all'])
      await time(`search ${text}`, page, async () => {
        const replied = page.waitForResponse(/\/admin\/users/)
        await search.fill(text)
        await (await replied).finished()
      })
    await search.fill('u1234')
    await page.getByRole('link', { name: 'u1234', exact: true }).waitFor()
    await time('a user', page, async () => {
      await page.getByRole('link', { name: 'u1234', exact: true }).click()
      await page.getByRole('heading', { name: /1234/ }).first().waitFor()
    })
    await page.goto(`${scene.server.issuer}/console/people`)
    await rows.first().waitFor()
    await watchFrames(page)
    for (let times = 0; times < 3; times++)
      await time('Show more', page, async () => {
        const before = await rows.count()
        await page.getByRole('button', { name: 'Show more' }).click()
        await untilSeen(page, `document.querySelectorAll('tbody tr').length > ${before}`)
      })
    console.log(`${loaded.requests} requests, ${Math.round(loaded.bytes / 1024)} KiB in all`)
  } finally {
    await scene.stop()
  }
}

export async function measureTables(tables: number): Promise<void> {
  const scene = await openConsole({ prepare: (place) => fillTables(place, tables) })
  try {
    const { page } = await scene.open('')
    await watchFrames(page)
    const loaded = countLoaded(page)
    await time('Tables', page, async () => {
      await page.getByRole('link', { name: 'Tables', exact: true }).click()
      await page.locator('.tree-table').first().waitFor()
    })
    await time('find a table', page, async () => {
      await page.getByLabel('Find a table').fill('many_0123')
      await page.getByRole('link', { name: 'many_01234' }).waitFor()
    })
    await time('open it', page, async () => {
      await page.getByRole('link', { name: 'many_01234' }).click()
      await page.getByText('There are no rows').waitFor()
    })
    await page.getByLabel('Find a table').fill('many_0432')
    await page.getByRole('link', { name: 'many_04321' }).waitFor()
    await time('open another', page, async () => {
      const read = page.waitForResponse(/many_04321\/Select/i)
      await page.getByRole('link', { name: 'many_04321' }).click()
      await read
      await page.getByText('There are no rows').waitFor()
    })
    await time('Query', page, async () => {
      await page.getByRole('link', { name: 'Query', exact: true }).click()
      await page.locator('.cm-content').waitFor()
    })
    await page.locator('.cm-content').click()
    await time('complete a table', page, async () => {
      await page.keyboard.type('select * from many_043')
      await page.locator('.cm-tooltip-autocomplete li').getByText('many_04321').waitFor()
    })
    console.log(`${loaded.requests} requests, ${Math.round(loaded.bytes / 1024)} KiB in all`)
  } finally {
    await scene.stop()
  }
}

async function fillTables(place: TestPlace, tables: number): Promise<void> {
  await writeCatalogue(place, (database) => {
    for (let number = 0; number < tables; number++) {
      const name = `many_${String(number).padStart(5, '0')}`
      database.exec(`create table ${name} as select * from instruments where false`)
      addEntry(database, name, 'instruments')
    }
  })
}

/** A table `many` with the columns of `trades`, whose texts are all different. */
export async function fillRows(place: TestPlace, rows: number): Promise<void> {
  await writeCatalogue(place, (database) => {
    database.exec(`create table many as
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rows})
      select n as id, symbol || '-' || n as symbol, side, quantity, price, venue || ' ' || (n * 7919 % ${rows}) as venue, executed_at
      from numbers join trades on trades.rowid = (select min(rowid) from trades) + n % 4000`)
    addEntry(database, 'many', 'trades')
  })
}

/** Straight into the file of SQLite, which is much faster than statements. */
async function writeCatalogue(place: TestPlace, write: (database: Sqlite.Database) => void): Promise<void> {
  if (place.engine !== 'sqlite') throw new Error('Only in SQLite')
  await startOnce(place)
  const database = new Sqlite(join(place.dataFolder, 'query.db'))
  database.transaction(write)(database)
  database.close()
}

/** Like that of another table; its changes are not logged. */
function addEntry(database: Sqlite.Database, name: string, like: string): void {
  const sql = `insert into _gh_tables select ?, ?, issystem, json_set(definition, '$.live', json('false')), readscope,
    writescope, rowfilter, description, created from _gh_tables where key = ?`
  database.prepare(sql).run(name, name, like)
}

/** So that the databases exist. */
async function startOnce(place: TestPlace): Promise<void> {
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  await server.stop()
}

async function time(name: string, page: Page, act: () => Promise<unknown>): Promise<void> {
  report(name, await watched(page, act))
  await pause(300)
}

function countLoaded(page: Page): { requests: number; bytes: number } {
  const loaded = { requests: 0, bytes: 0 }
  page.on('requestfinished', async (request) => {
    loaded.requests++
    loaded.bytes += (await request.sizes()).responseBodySize
  })
  return loaded
}
