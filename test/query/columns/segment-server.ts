/** A query server in a separate process that writes small segments all the time, and that tests kill; prints its address. */
import { startQueryServer } from '../query-server.ts'

const [, , dataFolder = ''] = process.argv
const columnTiming = {
  tickMs: 5,
  sweepMs: 40,
  rebuildSeconds: 0,
  orphanMs: 200,
  pauseMs: 5,
  segmentRows: 200,
  smallRows: 25,
}
const server = await startQueryServer({ engine: 'sqlite', dataFolder, databaseUrl: '' }, { columnTiming })
process.stdout.write(`${server.url}\n`)
