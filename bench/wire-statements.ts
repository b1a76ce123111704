/** Statements by PostgreSQL's protocol, compared with PostgreSQL itself and with our HTTP. Needs psql and pgbench (Debian: postgresql-contrib). */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
import { byKey } from './query.ts'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { pinThisProcess } from './support/processors.ts'
import { newPort, temporaryFolder } from './support/program.ts'
import { BY_KEY, buildRow, EVERYTHING, ROWS, ROWS_PER_SYMBOL, startGatehouse, TIMES } from './support/query-peers.ts'
import { adminToken } from './support/tokens.ts'

const run = promisify(execFile)
const SECONDS = Math.max(1, Math.round(Number(process.env.BENCH_ROUND_MS ?? 3000) / 1000))
const CONNECTIONS = 16
const COPIED = Number(process.env.BENCH_INGEST_ROWS ?? 200_000)
const SERVER_PROCESSOR = 0
const CLIENT_PROCESSOR = 1
const POSTGRES = 'PostgreSQL'

/** A server that psql and pgbench can reach. */
interface WirePeer {
  readonly name: string
  /** For the environment of a client. */
  readonly address: Readonly<Record<string, string>>
  /** The table of trades. */
  readonly table: string
  growth?(): number
  stop(): Promise<void>
}

export const wireStatements: readonly Measurement[] = [
  {
    name: 'wire-key',
    about: `one row by its key, prepared, by pgbench with ${CONNECTIONS} connections, each server on one processor; HTTP with 32`,
    columns: { rate: '1/s' },
    ratios: [
      { column: 'rate', to: POSTGRES, least: 0.8 },
      { column: 'rate', to: 'over HTTP', least: 1.3 },
    ],
    setup: () => pinThisProcess(CLIENT_PROCESSOR),
    subject: async (checkout) => lookups(await startWire(checkout, { processor: SERVER_PROCESSOR })),
    async *references() {
      yield lookups(await startOriginal(SERVER_PROCESSOR))
      const http = await startGatehouse(HERE, { processor: SERVER_PROCESSOR })
      const measure = byKey(http)
      if (measure !== undefined) yield { name: 'over HTTP', measure, close: http.stop }
    },
  },
  {
    name: 'wire-rows',
    about: `${(ROWS * TIMES).toLocaleString('en')} rows by psql: SELECT and binary COPY, and how much the server grows`,
    columns: { select: 's', copy: 's', growth: 'MiB' },
    targets: { growth: { most: 64 } },
    ratios: [
      { column: 'select', to: POSTGRES, most: 1.5 },
      { column: 'copy', to: POSTGRES, most: 1.5 },
    ],
    subject: async (checkout) => results(await startWire(checkout)),
    async *references() {
      yield results(await startOriginal())
    },
  },
  {
    name: 'wire-copy',
    about: `COPY FROM STDIN by psql: ${COPIED.toLocaleString('en')} rows of CSV in one statement`,
    columns: { rate: 'rows/s' },
    ratios: [{ column: 'rate', to: POSTGRES, least: 0.5 }],
    subject: async (checkout) => copying(await startWire(checkout)),
    async *references() {
      yield copying(await startOriginal())
    },
  },
]

async function startWire(...[checkout, placement]: Parameters<typeof startGatehouse>): Promise<WirePeer> {
  const port = newPort()
  const peer = await startGatehouse(checkout, placement, '', {
    '--wire-port': String(port),
    '--wire-writes': 'true',
    '--limit-exempt': '127.0.0.1',
  })
  return {
    name: 'gatehouse',
    // A password would be hashed for each connection.
    address: buildAddress(port, 'token', await adminToken(peer.port), 'gatehouse'),
    table: 'trades2',
    growth: () => peer.use().proportionalMiB,
    stop: peer.stop,
  }
}

async function startOriginal(processor?: number): Promise<WirePeer> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(
    'CREATE TABLE trades (id bigint PRIMARY KEY, symbol text NOT NULL, price double precision NOT NULL, qty bigint NOT NULL)',
  )
  await client.query(
    `INSERT INTO trades SELECT n, 'S' || n / ${ROWS_PER_SYMBOL}, (n % 10000) / 100.0, n % 500 FROM generate_series(0, ${ROWS - 1}) AS n`,
  )
  await client.query('CREATE INDEX by_symbol ON trades (symbol)')
  await client.query(`CREATE TABLE ten AS SELECT n FROM generate_series(1, ${TIMES}) AS n`)
  await client.query('ANALYZE')
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  // New backends inherit the processor of the postmaster, which is the parent of this one.
  const postmaster = readFileSync(`/proc/${rows[0]?.pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[1] ?? ''
  if (processor !== undefined) await run('taskset', ['-cp', String(processor), postmaster])
  await client.end()
  const { port, password } = new URL(server.url)
  return {
    name: POSTGRES,
    address: buildAddress(Number(port), 'postgres', password, 'postgres'),
    table: 'trades',
    stop: () => server.stop(),
  }
}

function buildAddress(port: number, user: string, password: string, database: string) {
  return { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database }
}

function lookups(peer: WirePeer): Contender {
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      const folder = await temporaryFolder()
      const script = join(folder.path, 'by-key.sql')
      const statement = BY_KEY.replace('trades ', `${peer.table} `)
      await writeFile(script, `\\set id random(0, ${ROWS - 1})\n${statement}:id;\n`)
      const args = ['-n', '-M', 'prepared', '-c', String(CONNECTIONS), '-T', String(SECONDS), '-f', script]
      const output = await client('pgbench', args, peer)
      await folder.remove()
      return { rate: Number(/tps = ([\d.]+)/.exec(output)?.[1]) }
    },
    close: peer.stop,
  }
}

function results(peer: WirePeer): Contender {
  const statement = EVERYTHING.replace('trades ', `${peer.table} `)
  const timed = async (text: string): Promise<number> => {
    const began = performance.now()
    await client('psql', ['-q', '-A', '-t', '-o', '/dev/null', '-c', text], peer)
    return (performance.now() - began) / 1000
  }
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      const copying = `COPY (${statement}) TO STDOUT (FORMAT binary)`
      const before = peer.growth?.() ?? 0
      const select = await timed(statement)
      const copy = await timed(copying)
      // Apart from the times: to add up the memory of the server takes a fifth of a processor at this rate, and locks its page tables.
      let most = before
      const sampler = setInterval(() => {
        most = Math.max(most, peer.growth?.() ?? 0)
      }, 50)
      if (peer.growth !== undefined) for (const text of [statement, copying]) await timed(text)
      clearInterval(sampler)
      return { select, copy, growth: most - before }
    },
    close: peer.stop,
  }
}

function copying(peer: WirePeer): Contender {
  let nextId = ROWS
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      const folder = await temporaryFolder()
      const file = join(folder.path, 'trades.csv')
      const lines = Array.from({ length: COPIED }, () => Object.values(buildRow(nextId++)).join(','))
      await writeFile(file, `${lines.join('\n')}\n`)
      const began = performance.now()
      await client(
        'psql',
        ['-q', '-c', `\\copy ${peer.table} (id, symbol, price, qty) FROM '${file}' (FORMAT csv)`],
        peer,
      )
      const seconds = (performance.now() - began) / 1000
      await folder.remove()
      return { rate: COPIED / seconds }
    },
    close: peer.stop,
  }
}

async function client(program: string, args: readonly string[], { address }: WirePeer): Promise<string> {
  try {
    const { stdout } = await run(program, args, { env: { ...process.env, ...address }, maxBuffer: 1024 ** 3 })
    return stdout
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error(`${program} is missing: install Debian's postgresql-client and postgresql-contrib`)
    throw error
  }
}
