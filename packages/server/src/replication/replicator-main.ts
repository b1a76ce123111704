/**
 * The process that replicates a data folder, of a lower priority than the server, which never waits for it. Not of the lowest: what is
 * lost with the machine is what it has not sent, also where the processors have more to do than they can.
 */
import { createInterface } from 'node:readline'
import { endWithServer } from '../child-process/end-with-server.ts'
import { lowerPriority, READ_PRIORITY } from '../child-process/priority.ts'
import { OCCUPIED, type ReplicationOptions } from './options.ts'
import type { ReplicationLog } from './ship/log.ts'
import { Replicator } from './ship/replicator.ts'
import { taskRunner } from './ship/tasks.ts'
import { SpoolState } from './spool/state.ts'
import { openTarget } from './target/open-target.ts'

endWithServer()
lowerPriority(process.pid, READ_PRIORITY)

const log: ReplicationLog = (level, message, details) => {
  process.stdout.write(`${JSON.stringify({ level, message, details })}\n`)
}

/** The options, then a line when it is to stop. */
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const options: ReplicationOptions = JSON.parse((await lines.next()).value ?? '')
const state = SpoolState.open(options.dataFolder)
if (state === undefined) {
  process.stdout.write(`${OCCUPIED}\n`)
  end()
}
const replicator = new Replicator(
  {
    ...options,
    keepMs: options.keepMs,
    timing: options.timing,
    key: Buffer.from(options.key, 'base64'),
    target: await openTarget(options.url),
    runTask: taskRunner(new URL('./task-main.ts', import.meta.url)),
    log,
  },
  state,
)
replicator.start()
await lines.next()
await replicator.stop()
end()

/** An exit would wait for the thread that waits for the server. */
function end(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('The process has ended')
}
