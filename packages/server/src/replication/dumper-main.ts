/** The process that sends dumps of PostgreSQL to the target, of a lower priority. */
import { createInterface } from 'node:readline'
import { endWithServer } from '../child-process/end-with-server.ts'
import { lowerPriority, READ_PRIORITY } from '../child-process/priority.ts'
import type { DumpOptions } from './options.ts'
import { Dumper } from './postgres/dumper.ts'
import type { ReplicationLog } from './ship/log.ts'
import { openTarget } from './target/open-target.ts'

endWithServer()
lowerPriority(process.pid, READ_PRIORITY)

const log: ReplicationLog = (level, message, details) => {
  process.stdout.write(`${JSON.stringify({ level, message, details })}\n`)
}

/** The options, then a line when it is to stop. */
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const options: DumpOptions = JSON.parse((await lines.next()).value ?? '')
const stopping = new AbortController()
const dumper = new Dumper({
  ...options,
  keepMs: options.keepMs,
  masterKey: options.masterKey === undefined ? undefined : Buffer.from(options.masterKey, 'base64'),
  key: Buffer.from(options.key, 'base64'),
  target: await openTarget(options.url),
  log,
})
const running = dumper.run(stopping.signal)
await lines.next()
stopping.abort()
await running
// An exit would wait for the thread that waits for the server.
process.kill(process.pid, 'SIGKILL')
