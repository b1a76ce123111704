/** Imports of a CSV file in which some keys occur twice: by `gatehouse import`, and in the console. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChromium } from '../test/support/chromium.ts'
import { signInOn } from '../test/support/console.ts'
import { ADMIN } from '../test/support/demo-user.ts'
import type { Figures, Measurement } from './support/compare.ts'
import { temporaryFolder } from './support/program.ts'
import { buildRow, startGatehouse } from './support/query-peers.ts'
import { adminToken } from './support/tokens.ts'

const run = promisify(execFile)
const ROWS = Number(process.env.BENCH_IMPORT_ROWS ?? 300_000)
/** Every such row has the key of the row before: 0.2 %. */
const DUPLICATE_EVERY = 500

export const importing: Measurement = {
  name: 'import',
  about: `gatehouse import of ${ROWS.toLocaleString('en')} rows of CSV into a new table, 0.2 % of them rejected as duplicates`,
  /** The processor time is that of the server. */
  columns: { rate: 'rows/s', cpu: 'µs each' },
  targets: { rate: { least: 20_000 } },
  async subject(checkout) {
    const peer = await startGatehouse(checkout)
    const folder = await temporaryFolder()
    const [file, tokenFile] = [join(folder.path, 'trades.csv'), join(folder.path, 'token')]
    await writeFile(file, csv())
    await writeFile(tokenFile, await adminToken(peer.port))
    let round = 0
    return {
      name: 'gatehouse',
      async measure(): Promise<Figures> {
        const args = ['--table', `imported${round++}`, '--create', '--key', 'id', '--restart']
        const server = ['--server', `http://localhost:${peer.port}`, '--token-file', tokenFile]
        const before = peer.use().cpuMs
        const began = performance.now()
        await importFile([join(checkout.root, 'gatehouse'), 'import', file, ...args, ...server])
        const seconds = (performance.now() - began) / 1000
        return { rate: ROWS / seconds, cpu: ((peer.use().cpuMs - before) / ROWS) * 1000 }
      },
      async close() {
        await peer.stop()
        await folder.remove()
      },
    }
  },
  async *references() {},
}

/** The browser reads the file, finds its types, sends it in parts, and shows which rows were rejected. */
export const consoleImport: Measurement = {
  name: 'console-import',
  about: `the same in the console, from the click to the outcome`,
  columns: { rate: 'rows/s', cpu: 'µs each' },
  targets: { rate: { least: 20_000 } },
  async subject(checkout) {
    const { buildConsole } = await import(join(checkout.root, 'packages/console/build.js'))
    await buildConsole()
    const peer = await startGatehouse(checkout)
    const folder = await temporaryFolder()
    const file = join(folder.path, 'trades.csv')
    await writeFile(file, csv())
    const browser = await startChromium()
    const context = await browser.newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(5 * 60_000)
    const origin = `http://localhost:${peer.port}`
    await page.goto(`${origin}/console`)
    await signInOn(page, ADMIN)
    await page.locator('.shell').waitFor()
    const token = await adminToken(peer.port)
    let round = 0
    return {
      name: 'gatehouse',
      async measure(): Promise<Figures> {
        const table = `shown${round++}`
        await createTable(origin, token, table)
        await page.goto(`${origin}/console/tables/${table}/import`)
        await page.getByLabel('CSV file', { exact: true }).setInputFiles(file)
        const button = page.getByRole('button', { name: `Import into ${table}` })
        await button.waitFor()
        const before = peer.use().cpuMs
        const began = performance.now()
        await button.click()
        const duplicates = Math.floor(ROWS / DUPLICATE_EVERY)
        const outcome = `${(ROWS - duplicates).toLocaleString('en')} rows inserted, ${duplicates.toLocaleString('en')} rejected`
        await page.getByText(outcome).waitFor()
        const seconds = (performance.now() - began) / 1000
        return { rate: ROWS / seconds, cpu: ((peer.use().cpuMs - before) / ROWS) * 1000 }
      },
      async close() {
        await browser.stop()
        await peer.stop()
        await folder.remove()
      },
    }
  },
  async *references() {},
}

async function createTable(origin: string, token: string, table: string): Promise<void> {
  const response = await fetch(`${origin}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
    body: `CREATE TABLE ${table} (id Integer PRIMARY KEY, symbol Text NOT NULL, price Double NOT NULL, qty Integer NOT NULL)`,
  })
  if (!response.ok) throw new Error(await response.text())
}

function csv(): string {
  const lines = Array.from({ length: ROWS }, (_, index) => {
    const isDuplicate = index % DUPLICATE_EVERY === DUPLICATE_EVERY - 1
    return Object.values(buildRow(isDuplicate ? index - 1 : index)).join(',')
  })
  return `id,symbol,price,qty\n${lines.join('\n')}\n`
}

/** The exit status is 1, because rows are rejected. */
async function importFile(args: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, args)
  } catch (error) {
    const isExpected = error instanceof Error && 'code' in error && error.code === 1
    if (!isExpected) throw error
    const output = 'stdout' in error && 'stderr' in error ? `${error.stdout}${error.stderr}` : ''
    if (!output.includes((ROWS / DUPLICATE_EVERY).toLocaleString('en'))) throw new Error(output)
  }
}
