/**
 * A PostgreSQL cluster that Patroni manages: two servers and one etcd, from Debian's packages. Each server is reached through relays, so
 * that it can be cut off from the other server, from etcd and from chosen clients, as a machine in another network would be.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { until } from './until.ts'

const NEEDED = ['/usr/bin/patroni', '/usr/bin/etcd']
const POSTGRES_FOLDER = '/usr/lib/postgresql'

/** What is missing on this machine, in words; undefined if nothing is. */
export function missingForPatroni(): string | undefined {
  const missing = NEEDED.filter((file) => !existsSync(file))
  if (!existsSync(POSTGRES_FOLDER)) missing.push(POSTGRES_FOLDER)
  if (missing.length > 0)
    return `${missing.join(', ')} not found: apt-get install patroni etcd-server postgresql, on Debian or Ubuntu`
  return process.getuid?.() === 0 ? undefined : 'needs root, to run PostgreSQL as the user postgres'
}

export interface PatroniMember {
  readonly name: string
  /** The port of PostgreSQL itself, past every relay. */
  readonly port: number
  /** Of Patroni. */
  readonly api: number
  /** For clients that the partition separates from this server, if it is cut off. */
  readonly relay: TcpProxy
  query(statement: string, database?: string): Promise<readonly Record<string, unknown>[]>
  /** Ends Patroni and PostgreSQL without a word. */
  kill(): Promise<void>
  start(): void
  /** Separates the server from etcd, from the other server and from clients of its relay. */
  cut(): void
  mend(): void
  /** Closes its relays. */
  leave(): Promise<unknown>
}

export interface PatroniCluster {
  readonly members: readonly [PatroniMember, PatroniMember]
  /** Waits for it. */
  leader(): Promise<PatroniMember>
  other(member: PatroniMember): PatroniMember
  switchover(): Promise<void>
  /** Waits until the leader has a synchronous standby, or with asynchronous replication a standby that streams. */
  untilRedundant(): Promise<void>
  stop(): Promise<void>
}

/** The shortest times that fit together: ttl ≥ loop_wait + 2 × retry_timeout. */
export const TIMES = { ttl: 6, loop_wait: 1, retry_timeout: 2 }
const PASSWORD = 'gatehouse'

export async function startPatroni(isSynchronous: boolean): Promise<PatroniCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-patroni-'))
  await chmod(folder, 0o755)
  const ids = { uid: readId('-u'), gid: readId('-g') }
  const etcd = await startEtcd(folder)
  const members = (await Promise.all(
    ['one', 'two'].map((name) => createMember(name, folder, etcd.port, ids, isSynchronous)),
  )) as [PatroniMember, PatroniMember]
  members[0].start()
  const leader = async (): Promise<PatroniMember> => {
    let found: PatroniMember | undefined
    await until('there is a leader', 30_000, async () => {
      for (const member of members) {
        const rows = await member.query('select pg_is_in_recovery() as standby').catch(() => [])
        if (rows[0]?.standby === false) found = member
      }
      return found !== undefined
    })
    return found as PatroniMember
  }
  const first = await leader()
  await first.query(`create role gatehouse login createrole password '${PASSWORD}'`)
  await first.query('create database gatehouse owner gatehouse')
  members[1].start()
  const cluster: PatroniCluster = {
    members,
    leader,
    other: (member) => (member === members[0] ? members[1] : members[0]),
    async switchover() {
      const from = await leader()
      const reply = await fetch(`http://127.0.0.1:${from.api}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: from.name }),
      })
      if (!reply.ok) throw new Error(`Patroni refuses a switchover: ${await reply.text()}`)
    },
    async untilRedundant() {
      await until('the standby streams', 30_000, async () => {
        const reply = await fetch(`http://127.0.0.1:${(await leader()).api}/cluster`).catch(() => undefined)
        const state = (await reply?.json().catch(() => undefined)) as { members?: { role: string; lag?: unknown }[] }
        // Patroni promotes only a standby that etcd knows as synchronous.
        const role = isSynchronous ? 'sync_standby' : 'replica'
        return state?.members?.some((member) => member.role === role && typeof member.lag === 'number') ?? false
      })
    },
    async stop() {
      await Promise.all(members.map((member) => member.kill()))
      etcd.child.kill('SIGKILL')
      await Promise.all(members.map((member) => member.leave()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await cluster.untilRedundant()
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

/** The URL for a node that reaches the servers at these ports. */
export function patroniUrl(ports: readonly number[]): string {
  return `postgres://gatehouse:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/gatehouse`
}

function readId(flag: string): number {
  return Number(execFileSync('id', [flag, 'postgres']).toString())
}

async function startEtcd(folder: string): Promise<{ port: number; child: ChildProcess }> {
  const [port, peer] = [await freePort(), await freePort()]
  const urls = (at: number) => `http://127.0.0.1:${at}`
  const child = spawn(
    'etcd',
    [
      ['--data-dir', join(folder, 'etcd')],
      ['--listen-client-urls', urls(port), '--advertise-client-urls', urls(port)],
      ['--listen-peer-urls', urls(peer), '--initial-advertise-peer-urls', urls(peer)],
      ['--initial-cluster', `default=${urls(peer)}`],
    ].flat(),
    { stdio: 'ignore' },
  )
  await until(
    'etcd answers',
    10_000,
    async () => (await fetch(`${urls(port)}/health`).catch(() => undefined))?.ok === true,
  )
  return { port, child }
}

async function createMember(
  name: string,
  folder: string,
  etcdPort: number,
  ids: { readonly uid: number; readonly gid: number },
  isSynchronous: boolean,
): Promise<PatroniMember> {
  const data = join(folder, name)
  await mkdir(data)
  execFileSync('chown', [`${ids.uid}:${ids.gid}`, data])
  await chmod(data, 0o700)
  const [port, api] = [await freePort(), await freePort()]
  // The other server and clients come through the first relay, questions about the state through the second; the third leads to etcd.
  const relays = await Promise.all([port, api, etcdPort].map((to) => startTcpProxy('127.0.0.1', to)))
  const [relay, apiRelay, etcdRelay] = relays as [TcpProxy, TcpProxy, TcpProxy]
  const file = join(folder, `${name}.yml`)
  const version = readdirSync(POSTGRES_FOLDER).toSorted((a, b) => Number(b) - Number(a))[0]
  const settings = {
    scope: 'gatehouse',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${apiRelay.port}` },
    etcd3: { hosts: [`127.0.0.1:${etcdRelay.port}`], use_proxies: true },
    bootstrap: {
      dcs: {
        ...TIMES,
        maximum_lag_on_failover: 1048576,
        synchronous_mode: isSynchronous,
        primary_start_timeout: 0,
        master_start_timeout: 0,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_keep_size: '256MB' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums', 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust', 'local all all trust'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${relay.port}`,
      data_dir: join(data, 'data'),
      bin_dir: join(POSTGRES_FOLDER, version ?? '', 'bin'),
      authentication: {
        superuser: { username: 'postgres' },
        replication: { username: 'postgres' },
        rewind: { username: 'postgres' },
      },
      basebackup: [{ checkpoint: 'fast' }, 'no-sync'],
      parameters: { unix_socket_directories: data, shared_buffers: '32MB' },
    },
  }
  // YAML contains JSON.
  writeFileSync(file, JSON.stringify(settings, null, 2))
  let child: ChildProcess | undefined
  const logFile = join(folder, `${name}.log`)
  return {
    name,
    port,
    api,
    relay,
    async query(statement, database = 'postgres') {
      const client = new pg.Client({
        connectionString: `postgres://postgres@127.0.0.1:${port}/${database}`,
        connectionTimeoutMillis: 2000,
        query_timeout: 5000,
      })
      client.on('error', () => {})
      await client.connect()
      try {
        return (await client.query(statement)).rows
      } finally {
        await client.end().catch(() => {})
      }
    },
    start() {
      const log = openSync(logFile, 'a')
      child = spawn('patroni', [file], {
        ...ids,
        cwd: data,
        stdio: ['ignore', log, log],
        env: { PATH: process.env.PATH },
      })
      closeSync(log)
    },
    async kill() {
      if (child !== undefined && child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      const pidFile = join(data, 'data', 'postmaster.pid')
      if (!existsSync(pidFile)) return
      const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
      try {
        // SIGQUIT to a server is a crash for it, and ends its children too.
        process.kill(pid, 'SIGQUIT')
      } catch {}
      await until('PostgreSQL has ended', 10_000, () => {
        try {
          process.kill(pid, 0)
          return false
        } catch {
          return true
        }
      })
    },
    cut() {
      for (const each of relays) each.hold()
    },
    mend() {
      for (const each of relays) each.mend()
    },
    leave: () => Promise.all(relays.map((each) => each.close())),
  }
}
