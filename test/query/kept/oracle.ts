/**
 * Writes at random while materialized views follow: at every read the rows of a view must be those of its query at one commit, and never an
 * earlier one than at the read before. All rows of the table carry the number of their commit, so that a state names its commit.
 */
import assert from 'node:assert/strict'
import { until } from '../../support/until.ts'
import { Choice } from '../agree/choice.ts'
import type { Reply } from '../query-server.ts'

/** A node. */
export interface OracleServer {
  query(statement: string): Promise<Pick<Reply, 'status' | 'text' | 'json'>>
}

const SYMBOLS = ['A', 'B', 'C', 'D']
const MINUTES = `SELECT symbol, time_bucket('1 minute', at) AS minute, count(*) AS n, sum(quantity) AS q, first(price, at) AS open,
  last(price, at) AS close FROM events WHERE quantity >= 0 GROUP BY symbol, minute`
const HOURS = `SELECT symbol, time_bucket('1 hour', minute, 'Europe/Berlin') AS hour, sum(n) AS n, sum(q) AS q, last(close, minute) AS close
  FROM minutes GROUP BY symbol, hour`
const DAYS = `SELECT symbol, time_bucket('1 day', hour, 'Europe/Berlin') AS day, sum(n) AS n, sum(q) AS q FROM hours GROUP BY symbol, day`

/** Over the time at which the clocks of Berlin are set back. */
const START = Date.parse('2026-10-24T20:00:00Z')
const SPAN = 36 * 3_600_000

export class Oracle {
  #servers: readonly OracleServer[]
  readonly #choice: Choice
  readonly #truncate: (() => Promise<void>) | undefined
  #id = 0
  /** The rows of the query after each commit since the one that was last read, as texts. */
  #states: string[] = []
  #commits = 0
  #columns: string[] = []
  checked = 0

  /** Each statement goes to one of the servers, which share a database. `truncate` empties the table as another program does. */
  constructor(servers: readonly OracleServer[], seed: number, truncate?: () => Promise<void>) {
    this.#servers = servers
    this.#choice = new Choice(seed)
    this.#truncate = truncate
  }

  async open(): Promise<void> {
    // The others learn of a definition a moment later.
    const all = this.#servers
    this.#servers = all.slice(0, 1)
    await this.run(
      'CREATE TABLE events (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL, note Text)',
    )
    await this.run('CREATE INDEX events_symbol ON events (symbol, at)')
    await this.run(`CREATE MATERIALIZED VIEW minutes AS ${MINUTES}`)
    await this.run(`CREATE MATERIALIZED VIEW hours AS ${HOURS}`)
    await this.run(`CREATE MATERIALIZED VIEW days AS ${DAYS}`)
    for (const server of all)
      await until(
        'it is defined',
        10_000,
        async () => (await server.query('SELECT day FROM days LIMIT 1')).status === 200,
      )
    this.#servers = all
    await this.#note()
  }

  async #note(): Promise<void> {
    this.#states.push(await this.#rows(MINUTES))
    this.#commits++
  }

  use(servers: readonly OracleServer[]): void {
    this.#servers = servers
  }

  get #server(): OracleServer {
    return this.#choice.of(this.#servers)
  }

  async run(statement: string): Promise<void> {
    const reply = await this.#server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
  }

  async #rows(query: string): Promise<string> {
    const reply = await this.#server.query(`${query} ORDER BY 1, 2`)
    assert.equal(reply.status, 200, `${query}: ${reply.text}`)
    return JSON.stringify(reply.json.Rows)
  }

  /** One commit, then a read. */
  async step(): Promise<void> {
    if (this.#truncate !== undefined && this.#below(100) === 0) await this.#truncate()
    else await this.run(this.#write())
    await this.#note()
    await this.check()
  }

  /** Writes without a pause until a server is killed. */
  async stepUntilFailure(): Promise<void> {
    try {
      for (;;) await this.step()
    } catch (error) {
      // It may have been written or not.
      if (error instanceof assert.AssertionError && !/: \{.*"status":(5\d\d|409)/s.test(error.message)) throw error
    }
  }

  /** Once a server answers again: the last write is perhaps there. */
  async recover(): Promise<void> {
    let fault = ''
    await until('a server answers', 60_000, async () => {
      try {
        // A write of a node that was killed may still end.
        const before = await this.#rows(MINUTES)
        await new Promise((resolve) => setTimeout(resolve, 300))
        await this.#note()
        const columns = await this.#server.query(`SELECT name FROM cataloguecolumns WHERE tablename = 'events'`)
        this.#columns = columns.json.Rows.map(({ name }) => String(name)).filter((name) => /^c\d+$/.test(name))
        return before === this.#states.at(-1)
      } catch (error) {
        fault = String(error)
        return false
      }
    }).catch(() => assert.fail(fault))
    await until('the views are read', 60_000, () =>
      this.check().then(
        () => true,
        (error) => {
          if (/no state since/.test(String(error))) throw error
          return false
        },
      ),
    )
  }

  async check(): Promise<void> {
    const held = await this.#rows('SELECT * FROM minutes')
    const found = this.#states.indexOf(held)
    const seen = this.#commits - this.#states.length
    assert.notEqual(found, -1, `a read after ${this.#commits} commits is no state since ${seen}: ${held}`)
    this.#states = this.#states.slice(found)
    this.checked++
  }

  /** All levels, when all that was committed is in them. */
  async settle(): Promise<void> {
    await this.run('REFRESH MATERIALIZED VIEW days')
    for (const [view, query] of [
      ['minutes', MINUTES],
      ['hours', HOURS],
      ['days', DAYS],
    ] as const) {
      assert.equal(await this.#rows(`SELECT * FROM ${view}`), await this.#rows(query), view)
      const { json } = await this.#server.query(`REFRESH MATERIALIZED VIEW ${view} FULL`)
      assert.equal(json.RowsAffected, 0, view)
    }
  }

  #write(): string {
    const kind = this.#below(100) / 100
    if (this.#id < 5 || kind < 0.45) return this.#insert()
    if (kind < 0.6)
      return `UPDATE events SET symbol = '${this.#symbol()}', price = ${this.#price()} WHERE id % 7 = ${this.#below(7)}`
    if (kind < 0.7) return `UPDATE events SET at = '${this.#time()}' WHERE id = ${this.#below(this.#id)}`
    if (kind < 0.78)
      return `UPDATE events SET id = id + 100000, quantity = quantity - 3 WHERE id = ${this.#below(this.#id)}`
    if (kind < 0.86)
      return `UPDATE events SET note = repeat('x', 3000), symbol = '${this.#symbol()}' WHERE id % 5 = ${this.#below(5)}`
    if (kind < 0.96) return `DELETE FROM events WHERE id % 11 = ${this.#below(11)}`
    if (kind < 0.98) return this.#alter()
    return 'DELETE FROM events ALL'
  }

  #alter(): string {
    const column = `c${this.#commits}`
    if (this.#columns.length < 4) {
      this.#columns.push(column)
      return `ALTER TABLE events ADD COLUMN ${column} Integer`
    }
    const [first] = this.#columns.splice(0, 1, column)
    return `ALTER TABLE events RENAME COLUMN ${first} TO ${column}`
  }

  #insert(): string {
    const count = 1 + this.#below(20)
    const rows = Array.from({ length: count }, () => {
      return `(${this.#id++}, '${this.#symbol()}', '${this.#time()}', ${this.#price()}, ${this.#below(6) - 1})`
    })
    return `INSERT INTO events (id, symbol, at, price, quantity) VALUES ${rows.join(', ')}`
  }

  #below(end: number): number {
    return this.#choice.below(end)
  }

  #symbol(): string {
    return this.#choice.of(SYMBOLS)
  }

  #price(): string {
    return (this.#below(1_000_000) / 10_000).toFixed(4)
  }

  #time(): string {
    return new Date(START + this.#below(SPAN)).toISOString()
  }
}
