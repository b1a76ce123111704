/** Many live subscribers over real sockets to a server in a separate process: they reconnect all at once, or do not read. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import type { TestPlace } from '../../support/engines.ts'
import { type RunningProcess, serveProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { type Held, ModelClient, openEvents, openStream, readText, type Transport } from './model-client.ts'
import type { ModelStatement } from './model-statements.ts'

const SYMBOLS = Array.from({ length: 20 }, (_symbol, index) => `S${index}`)
const ROWS = 200
const PER_CONNECTION = 5
const PATIENCE_MS = 60_000

type Row = Readonly<Record<string, unknown>>
type Settings = Readonly<Record<string, string>>

export class Crowd {
  readonly #place: TestPlace
  readonly token: string
  server: RunningProcess
  #transports: Transport[] = []

  private constructor(place: TestPlace, server: RunningProcess, token: string) {
    this.#place = place
    this.server = server
    this.token = token
  }

  /** With these settings, by the names of their flags. */
  static async open(place: TestPlace, settings: Settings = {}): Promise<Crowd> {
    const server = await serve(place, settings)
    const crowd = new Crowd(place, server, (await signIn(server, ADMIN)).access_token)
    const rows = Array.from({ length: ROWS }, (_row, id) => `(${id}, '${SYMBOLS[id % 20]}', ${id}, '')`)
    await crowd.query(`CREATE TABLE ticks (id Integer PRIMARY KEY, symbol Text NOT NULL, price Integer, note Text)
      READ SCOPE 'Platform/Market'`)
    await crowd.query(`INSERT INTO ticks VALUES ${rows.join(', ')}`)
    return crowd
  }

  async query(statement: string): Promise<readonly Row[]> {
    const { status, text } = await this.#post(statement)
    assert.equal(status, 200, `${statement}: ${text}`)
    return JSON.parse(text).Rows ?? []
  }

  async #post(body: string) {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'text/plain' }
    const reply = await fetch(`http://127.0.0.1:${this.server.port}/query`, { method: 'POST', headers, body })
    return { status: reply.status, text: await reply.text() }
  }

  connect(): Promise<Transport> {
    return openStream('PlatformJson', { port: this.server.port, token: this.token })
  }

  /** Subscribers of statements of every kind but clocks, several on each connection. They continue where `before` left off. */
  async subscribe(count: number, before?: readonly ModelClient[]): Promise<ModelClient[]> {
    const clients = Array.from({ length: count }, (_client, index) => {
      const statement = before?.[index]?.statement ?? buildStatement(index)
      return new ModelClient(statement, 20, () => {})
    })
    const connections = Math.ceil(count / PER_CONNECTION)
    const transports = await Promise.all(Array.from({ length: connections }, () => this.connect()))
    this.#transports.push(...transports)
    for (const [index, client] of clients.entries()) {
      const held: Held | undefined = before?.[index]?.kept.at(-1)
      await transports[Math.floor(index / PER_CONNECTION)]?.subscribe(client, held)
    }
    await until('everybody has a state', PATIENCE_MS, () =>
      clients.every(({ applier, failure, ended }) => {
        if (failure !== undefined || ended !== undefined) throw failure ?? new Error(ended)
        return applier.isWhole && applier.seen.pieces > 0
      }),
    )
    return clients
  }

  /** Everybody holds what a query returns. */
  async agree(clients: readonly ModelClient[]): Promise<void> {
    const wanted = new Map<string, string>()
    for (const { statement } of clients) {
      const { text, parameters, isOrdered } = statement
      const sql = text.replace(':s', `'${parameters.s}'`)
      if (!wanted.has(sql)) wanted.set(sql, readText(await this.query(sql), isOrdered))
      // Kept under the statement that the client has.
      wanted.set(JSON.stringify([text, parameters]), wanted.get(sql) ?? '')
    }
    await until('everybody holds the result', PATIENCE_MS, () =>
      clients.every(({ statement: { text, parameters }, text: held, failure }) => {
        if (failure !== undefined) throw failure
        return held === wanted.get(JSON.stringify([text, parameters]))
      }),
    )
  }

  /** The times of lookups while other work runs, as the 50th and 99th percentiles. */
  async timesBeside<Result>(work: Promise<Result>): Promise<{ result: Result; p50: number; p99: number }> {
    let isDone = false
    const ended = work.finally(() => {
      isDone = true
    })
    const times: number[] = []
    while (!isDone || times.length < 20) {
      const began = performance.now()
      await this.query(`SELECT price FROM ticks WHERE id = ${times.length % ROWS}`)
      times.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    times.sort((a, b) => a - b)
    const at = (share: number): number => Math.round(10 * (times[Math.ceil(times.length * share) - 1] ?? 0)) / 10
    return { result: await ended, p50: at(0.5), p99: at(0.99) }
  }

  async metric(name: string): Promise<number> {
    const headers = { authorization: `Bearer ${this.token}` }
    const reply = await fetch(`http://127.0.0.1:${this.server.port}/metrics`, { headers })
    const line = (await reply.text()).split('\n').find((line) => line.startsWith(`${name} `))
    return Number(line?.split(' ').at(-1))
  }

  get residentMiB(): number {
    const status = readFileSync(`/proc/${this.server.child.pid}/status`, 'latin1')
    return Math.round(Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024)
  }

  /** Resolves with the codes that the streams were closed with. */
  async restart(signal: NodeJS.Signals): Promise<ReadonlySet<number | undefined>> {
    await this.server.stop(signal)
    await until('everybody is cut off', PATIENCE_MS, () => this.#transports.every(({ isClosed }) => isClosed))
    const streams = this.#transports.filter(({ kind }) => kind !== 'events')
    const codes = new Set(streams.map(({ closeCode }) => closeCode))
    this.hangUp()
    this.server = await serve(this.#place)
    return codes
  }

  /** One subscriber on a separate connection. */
  async follow(text: string, maxRate = 20): Promise<{ client: ModelClient; transport: Transport }> {
    return this.#follow(text, maxRate, await this.connect())
  }

  /** The same by server-sent events. It continues where `before` left off. */
  async followEvents(text: string, before?: ModelClient): Promise<ModelClient> {
    const transport = openEvents({ port: this.server.port, token: this.token })
    return (await this.#follow(text, 20, transport, before?.kept.at(-1))).client
  }

  async #follow(text: string, maxRate: number, transport: Transport, held?: Held) {
    const statement: ModelStatement = {
      text,
      parameters: {},
      user: 'admin',
      tables: [],
      method: 'keys',
      isOrdered: false,
    }
    const client = new ModelClient(statement, maxRate, () => {})
    this.#transports.push(transport)
    await transport.subscribe(client, held)
    await until('it has a state', PATIENCE_MS, () => client.applier.isWhole && client.applier.seen.pieces > 0)
    return { client, transport }
  }

  hangUp(): void {
    for (const transport of this.#transports.splice(0)) transport.close()
  }

  async close(): Promise<void> {
    this.hangUp()
    await this.server.stop()
  }
}

function serve({ dataFolder, databaseUrl }: TestPlace, settings: Settings = {}): Promise<RunningProcess> {
  const flags = {
    data: dataFolder,
    'database-url': databaseUrl,
    issuer: 'http://localhost:5998',
    'stream-drain-time': '0',
    'stream-max-connections-per-user': '5000',
    'stream-max-connections-per-address': '5000',
    ...settings,
  }
  return serveProcess(['--demo', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)])
}

function buildStatement(index: number): ModelStatement {
  const common = { user: 'admin', tables: ['ticks'], parameters: {}, isOrdered: false } as const
  switch (index % 8) {
    case 0:
      return { ...common, method: 'rerun', text: 'SELECT symbol, sum(price) AS total FROM ticks GROUP BY symbol' }
    case 1:
      return {
        ...common,
        method: 'rerun',
        isOrdered: true,
        text: 'SELECT price FROM ticks ORDER BY price DESC LIMIT 10',
      }
    case 2:
      return { ...common, method: 'keys', text: 'SELECT id, price FROM ticks WHERE price > 100' }
    default: {
      const s = SYMBOLS[index % 20] ?? ''
      return { ...common, method: 'keys', parameters: { s }, text: 'SELECT price FROM ticks WHERE symbol = :s' }
    }
  }
}

/** Changes of every kind, some of which take rows out of results. */
export const CHANGES: readonly string[] = [
  "INSERT INTO ticks VALUES (1000, 'S1', 500, ''), (1001, 'S2', 7, '')",
  'UPDATE ticks SET price = price + 1 WHERE id < 100',
  "UPDATE ticks SET symbol = 'S3' WHERE id = 5",
  'DELETE FROM ticks WHERE id >= 150 AND id < 170',
  'UPDATE ticks SET id = 2000 WHERE id = 7',
  'UPDATE ticks SET price = 1 WHERE id = 199',
]
