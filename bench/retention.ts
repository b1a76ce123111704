/** Inserts of one row at an even rate while a retention deletes many rows beside them, and the size of the database, round after round. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { requestBytes } from './support/http-load.ts'
import { connectPaced } from './support/paced.ts'
import { temporaryFolder } from './support/program.ts'
import { startGatehouse } from './support/query-peers.ts'
import { adminToken } from './support/tokens.ts'

const ROWS = Number(process.env.BENCH_CUT_ROWS ?? 1_000_000)
const PER_SECOND = Number(process.env.BENCH_INSERTS ?? 1_000)
const CONNECTIONS = 64
const WINDOW_MS = 2_000
const CSV_ROWS = 250_000
const DAY_MS = 86_400_000
/** A cut that takes longer has failed: it deletes tens of thousands of rows a second. */
const LONGEST_MS = 120_000 + ROWS / 5

const COLUMNS = { p99: 'ms', worst: 'ms', rate: 'rows/s', file: '× first' }
const about = (engine: string) =>
  `${PER_SECOND.toLocaleString('en')} inserts a second into a table on ${engine} while a retention deletes ${ROWS.toLocaleString('en')} of its rows, and at rest`

export const retention: readonly Measurement[] = [
  {
    name: 'retention',
    about: about('SQLite'),
    columns: COLUMNS,
    targets: { file: { most: 1.1 } },
    ratios: [{ column: 'p99', to: 'at rest', most: 2 }],
    subject: (checkout) => startOnSqlite('while rows are deleted', checkout, ROWS),
    async *references() {
      yield startOnSqlite('at rest', HERE, 0)
    },
  },
  {
    name: 'retention-postgres',
    about: about('PostgreSQL'),
    columns: COLUMNS,
    ratios: [{ column: 'p99', to: 'at rest', most: 2 }],
    subject: (checkout) => startOnPostgres('while rows are deleted', checkout, ROWS),
    async *references() {
      yield startOnPostgres('at rest', HERE, 0)
    },
  },
]

async function startOnSqlite(name: string, checkout: Checkout, rows: number): Promise<Contender> {
  const folder = await temporaryFolder()
  const data = join(folder.path, 'data')
  return start({
    name,
    checkout,
    rows,
    flags: { '--data': data },
    databaseUrl: '',
    readSize: async () => statSync(join(data, 'query.db')).size,
    close: () => folder.remove(),
  })
}

/** With autovacuum, as it is set by default. */
async function startOnPostgres(name: string, checkout: Checkout, rows: number): Promise<Contender> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const database = `gatehouse_bench_${rows}`
  await client.query(`CREATE DATABASE ${database}`)
  return start({
    name,
    checkout,
    rows,
    flags: {},
    databaseUrl: server.url.replace(/\/postgres$/, `/${database}`),
    readSize: async () => {
      const { rows: sizes } = await client.query<{ size: string }>(`SELECT pg_database_size('${database}') AS size`)
      return Number(sizes[0]?.size)
    },
    async close() {
      await client.end()
      await server.stop()
    },
  })
}

interface Start {
  readonly name: string
  readonly checkout: Checkout
  /** That are deleted in each round. */
  readonly rows: number
  readonly flags: Readonly<Record<string, string>>
  readonly databaseUrl: string
  /** In bytes. */
  readonly readSize: () => Promise<number>
  readonly close: () => Promise<void>
}

async function start({ name, checkout, rows, flags, databaseUrl, readSize, close }: Start): Promise<Contender> {
  const peer = await startGatehouse(checkout, {}, databaseUrl, flags)
  const { port } = peer
  let nextId = 0
  let first: number | undefined
  const table = new CutTable(port)
  await table.run('CREATE TABLE cut (at Timestamp NOT NULL, id Integer, v Integer, PRIMARY KEY (at, id))')
  return {
    name,
    async measure(): Promise<Figures> {
      await table.run('ALTER TABLE cut SET WITH (retention = NULL)')
      await table.run('DELETE FROM cut ALL')
      for (let done = 0; done < rows; done += CSV_ROWS) await table.load(done, Math.min(CSV_ROWS, rows - done))
      const insert = await table.insertion()
      const windows: number[] = []
      const began = performance.now()
      if (rows > 0) await table.run(`ALTER TABLE cut SET WITH (retention = '30 days' ON at)`)
      let took = 0
      do {
        const send = await connectPaced(
          { port, byKey: () => insert(++nextId) },
          { connections: CONNECTIONS, perSecond: PER_SECOND, next: () => insert(++nextId) },
        )
        windows.push((await send(WINDOW_MS)).p99)
        took = performance.now() - began
        if (rows > 0 && took > LONGEST_MS) throw new Error(`After ${Math.round(took / 1000)} s rows were left`)
      } while (rows === 0 ? windows.length < 5 : await table.hasOld())
      const size = await readSize()
      first ??= size
      const sorted = windows.toSorted((a, b) => a - b)
      return {
        p99: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
        worst: sorted.at(-1) ?? Number.NaN,
        rate: (rows / took) * 1000,
        file: size / first,
      }
    },
    async close() {
      await peer.stop()
      await close()
    },
  }
}

class CutTable {
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  async run(statement: string): Promise<string> {
    return this.#post('/query', 'text/plain; charset=utf-8', statement)
  }

  /** Whether there are rows that a retention of 30 days deletes. */
  async hasOld(): Promise<boolean> {
    const old = new Date(Date.now() - 35 * DAY_MS).toISOString()
    await sleep(10)
    const reply: unknown = JSON.parse(await this.run(`SELECT id FROM cut WHERE at < '${old}' LIMIT 1`))
    return !(Object(reply).Rows?.length === 0)
  }

  /** Rows of 40 to 70 days ago, in their order. */
  async load(from: number, count: number): Promise<void> {
    const start = Date.now() - 70 * DAY_MS
    const step = (30 * DAY_MS) / ROWS
    const lines = Array.from({ length: count }, (_row, index) => {
      const id = from + index
      return `${new Date(start + id * step).toISOString()},${-id - 1},${id % 1000}`
    })
    await this.#post('/query/cut/insert', 'text/csv', `at,id,v\n${lines.join('\n')}\n`)
  }

  /** The request for a row of now. */
  async insertion(): Promise<(id: number) => Buffer> {
    const headers = await this.#headers()
    return (id) => {
      const body = JSON.stringify({ at: new Date().toISOString(), id, v: id % 1000 })
      return requestBytes('POST', '/query/cut/insert', headers, body, 'application/json')
    }
  }

  async #post(path: string, type: string, body: string): Promise<string> {
    const headers = { ...(await this.#headers()), 'content-type': type }
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, { method: 'POST', headers, body })
    const reply = await response.text()
    if (!response.ok) throw new Error(`${path}: ${reply}`)
    return reply
  }

  async #headers(): Promise<Readonly<Record<string, string>>> {
    return { authorization: `Bearer ${await adminToken(this.#port)}` }
  }
}
