/** `gatehouse import` of a CSV file in which some keys occur twice. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Figures, Measurement } from './support/compare.ts'
import { temporaryFolder } from './support/program.ts'
import { rowOf, startGatehouse } from './support/query-peers.ts'
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

function csv(): string {
  const lines = Array.from({ length: ROWS }, (_, index) => {
    const isDuplicate = index % DUPLICATE_EVERY === DUPLICATE_EVERY - 1
    return Object.values(rowOf(isDuplicate ? index - 1 : index)).join(',')
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
