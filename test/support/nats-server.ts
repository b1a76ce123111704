/** A nats-server of a test: its own folder and port on loopback, with JetStream. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IS_LONG_RUN } from './engines.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Another version than that of the path can be named. */
const PROGRAM = process.env.NATS_SERVER ?? 'nats-server'

/** Why tests with NATS are skipped; undefined where they run. */
export function whyWithoutNats(): string | undefined {
  if (!IS_LONG_RUN) return 'runs in npm run test:all'
  if (spawnSync(PROGRAM, ['--version']).status === 0) return undefined
  return 'needs nats-server (Debian: apt-get install nats-server), or NATS_SERVER=path'
}

export interface NatsServer {
  readonly url: string
  readonly version: string
  start(): Promise<void>
  /** Without time to finish anything. */
  kill(): Promise<void>
  close(): Promise<void>
}

/** `settings` are lines of its configuration file. */
export async function startNats(settings = ''): Promise<NatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-'))
  const port = await freePort()
  const file = join(folder, 'nats.conf')
  // Feeds reserve their bytes, and tests declare many.
  await writeFile(
    file,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: "${join(folder, 'jetstream')}", max_file_store: 1TB, max_memory_store: 1GB }\n${settings}\n`,
  )
  let running: ChildProcess | undefined
  const start = async (): Promise<void> => {
    running = spawn(PROGRAM, ['-c', file], { stdio: 'ignore' })
    await until('nats-server listens', 10_000, () => answers(port))
  }
  const kill = async (): Promise<void> => {
    const ending = running
    running = undefined
    if (ending === undefined) return
    const exited = once(ending, 'exit')
    ending.kill('SIGKILL')
    await exited
  }
  await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    version: spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout.trim(),
    start,
    kill,
    async close() {
      await kill()
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    // The server sends its INFO first.
    await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
