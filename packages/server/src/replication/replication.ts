/** Starts the process that replicates the data folder, and starts it again if it ends. The entry for the server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { programFile } from '../child-process/program.ts'
import type { Logger } from '../telemetry/log.ts'
import { type DumpOptions, OCCUPIED, type ReplicationOptions } from './options.ts'

export { leaveRequest, type ReplicationRequest } from './spool/requests.ts'
export { isReplicating, measureLag, type ReplicationStatus, readStatus } from './spool/status.ts'

export interface Replication {
  /** Sends what is left, within some seconds. Call it when nothing is written any more. */
  stop(): Promise<void>
}

const REPLICATOR = new URL('./replicator-main.ts', import.meta.url)
const DUMPER = new URL('./dumper-main.ts', import.meta.url)
const NODE_OPTIONS = ['--max-old-space-size=256', '--max-semi-space-size=4', '--disable-warning=ExperimentalWarning']
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
const LIVED_MS = 60_000
/** Longer than it takes by itself. */
const STOP_MS = 15_000
/** A dump that is not complete is begun again. */
const STOP_DUMP_MS = 2_000

export function startReplication(options: ReplicationOptions | DumpOptions, logger: Logger): Replication {
  const stopping = new AbortController()
  let child: ChildProcess | undefined
  const run = async (): Promise<boolean> => {
    let isOccupied = false
    child = start(options, (line) => {
      if (line === OCCUPIED) isOccupied = true
      else passOn(line, logger)
    })
    await whenEnded(child)
    return isOccupied
  }
  const running = keepRunning(run, logger, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      child?.stdin?.end('stop\n')
      const kill = setTimeout(() => child?.kill('SIGKILL'), 'databaseUrl' in options ? STOP_DUMP_MS : STOP_MS).unref()
      await running
      clearTimeout(kill)
    },
  }
}

/** `run` resolves when the process has ended: true if another one replicates the folder. */
async function keepRunning(run: () => Promise<boolean>, logger: Logger, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const since = performance.now()
    const isOccupied = await run()
    if (signal.aborted) return
    if (performance.now() - since > LIVED_MS) failures = 0
    if (!isOccupied) logger.error('the process of the backup ended; starting another one')
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
}

function start(options: ReplicationOptions | DumpOptions, onLine: (line: string) => void): ChildProcess {
  const program = 'databaseUrl' in options ? DUMPER : REPLICATOR
  const child = spawn(process.execPath, [...NODE_OPTIONS, programFile(program)], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    // Only what names the credentials of the target, and the connection to PostgreSQL: the secrets of the server are withheld.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => isPassedOn(name))),
    // A signal to the group of the server, as from a terminal, must not end it before the rest is sent.
    detached: true,
  })
  child.stdin?.on('error', () => {})
  child.stdin?.write(`${JSON.stringify(options)}\n`)
  if (child.stdout) createInterface({ input: child.stdout }).on('line', onLine)
  return child
}

function isPassedOn(name: string): boolean {
  return /^(AWS_|PG|HOME$|PATH$|TZ$|NODE_COMPILE_CACHE$|NODE_EXTRA_CA_CERTS$|SSL_CERT_)/.test(name)
}

/** With everything that it has written. */
function whenEnded(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('close', () => resolve()).once('error', () => resolve())
  })
}

function passOn(line: string, logger: Logger): void {
  const { level, message, details } = JSON.parse(line) as {
    level: 'info' | 'warn' | 'error'
    message: string
    details?: object
  }
  logger[level](details ?? {}, message)
}
