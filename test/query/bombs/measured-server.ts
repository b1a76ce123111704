/** A server in a process of its own that reports what requests cost it: the longest turn of its event loop and its memory. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestServer } from '../../support/server.ts'
import { measureTurns } from '../event-loop.ts'

export type Order = 'begin' | 'end' | 'stop'

export interface Cost {
  /** The longest turn in milliseconds, as an ordinary machine would take. */
  readonly turn: number
  /** What memory grew by, at most, in bytes. */
  readonly memory: number
}

export interface Ready {
  readonly port: number
  readonly wirePort: number
}

const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-bombs-'))
const [, , importBytes = ''] = process.argv
const server = await startTestServer(
  { engine: 'sqlite', dataFolder, databaseUrl: '' },
  { flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true', '--query-import-bytes': importBytes } },
)
const isWithPeak = await resetPeak()
let turns = measureTurns()
let before = 0

process.on('message', async (order: Order) => {
  if (order === 'begin') {
    globalThis.gc?.()
    await resetPeak()
    before = process.memoryUsage.rss()
    turns = measureTurns()
    process.send?.('begun')
  } else if (order === 'end') {
    const turn = await turns.end()
    process.send?.({ turn, memory: (await peak()) - before })
  } else {
    await server.stop()
    await rm(dataFolder, { recursive: true })
    process.exit(0)
  }
})
process.send?.({ port: server.port, wirePort: server.wirePort ?? 0 })

/** Linux: the peak of the resident memory is counted anew. */
function resetPeak(): Promise<boolean> {
  return writeFile('/proc/self/clear_refs', '5').then(
    () => true,
    () => false,
  )
}

async function peak(): Promise<number> {
  if (!isWithPeak) return process.memoryUsage.rss()
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
