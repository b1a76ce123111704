/** A PostgreSQL database that data is moved to, with the record of the progress. */
import type { ClientBase } from 'pg'
import { createIndex, createTable } from '../query/engines/catalogue-sql.ts'
import { CATALOGUE } from '../query/engines/postgres/catalogue.ts'
import { POSTGRES } from '../query/engines/postgres/dialect/dialect.ts'
import { sqlType } from '../query/engines/postgres/representation.ts'
import { prepareDatabase } from '../query/engines/postgres/setup/setup.ts'
import { openDatabase, withoutCredentials } from '../store/database/database.ts'
import { inTransaction, nameOf, openPool, rowsOf, SCHEMAS } from './postgres-rows.ts'
import { labelOf, type MovedTable, type Progress, type Row, type Target } from './table.ts'
import { PROGRESS } from './tables.ts'
import { toPostgresText } from './values.ts'

const PROGRESS_TABLE = `${SCHEMAS.identity}.${PROGRESS}`

/** The database has the mark of the move already. */
export function openPostgresTarget(url: string, dataFolder: string): Target {
  const pool = openPool(url)
  /** Durable with the last commit of the move, which the server waits for. */
  const write = (work: (client: ClientBase) => Promise<void>): Promise<void> =>
    inTransaction(pool, async (client) => {
      await client.query(`SET LOCAL synchronous_commit = off; SET LOCAL maintenance_work_mem = '256MB'`)
      await work(client)
    })
  return {
    location: withoutCredentials(url),
    rows: (table, order, offset) => rowsOf(pool, table, order, offset),
    async prepare(hasQuery) {
      const { rows } = await pool.query('SELECT to_regclass($1) AS found', [PROGRESS_TABLE])
      if (rows[0]?.found !== null) return
      await (await openDatabase({ dataFolder, url, poolSize: 1 })).close()
      if (hasQuery) {
        const client = await pool.connect()
        await prepareDatabase(client).finally(() => client.release())
      }
      await pool.query(
        `CREATE TABLE ${PROGRESS_TABLE} (name text COLLATE "C" PRIMARY KEY, rows bigint NOT NULL, state text NOT NULL)`,
      )
    },
    async progress() {
      const { rows } = await pool.query<{ name: string; rows: string; state: Progress['state'] }>(
        `SELECT name, rows, state FROM ${PROGRESS_TABLE}`,
      )
      return new Map(rows.map(({ name, rows: count, state }) => [name, { rows: Number(count), state }]))
    },
    begin: (table) =>
      write(async (client) => {
        const { definition } = table
        await client.query(
          definition === undefined ? `DELETE FROM ${nameOf(table)}` : createTable(definition, CATALOGUE),
        )
        await note(client, table, 0, 'copying')
      }),
    append: (table, rows, total) =>
      write(async (client) => {
        await insertAll(client, table, rows)
        await note(client, table, total, 'copying')
      }),
    copied: (table) =>
      write(async (client) => {
        for (const index of table.definition?.indexes ?? [])
          await client.query(createIndex(table.name, index, CATALOGUE).sql)
        await note(client, table, undefined, 'copied')
      }),
    verified: (table) => write((client) => note(client, table, undefined, 'verified')),
    async finish(tables, lastEvent) {
      if (lastEvent > 0)
        await pool.query(`SELECT setval(pg_get_serial_sequence('${SCHEMAS.identity}.events', 'seq'), $1)`, [lastEvent])
      for (const table of tables) await pool.query(`ANALYZE ${nameOf(table)}`)
      await pool.query(`DROP TABLE ${PROGRESS_TABLE}`)
    },
    close: () => pool.end(),
  }
}

async function note(
  client: ClientBase,
  table: MovedTable,
  rows: number | undefined,
  state: Progress['state'],
): Promise<void> {
  await client.query(
    `INSERT INTO ${PROGRESS_TABLE} AS p (name, rows, state) VALUES ($1, coalesce($2, 0), $3)
     ON CONFLICT (name) DO UPDATE SET rows = coalesce($2, p.rows), state = excluded.state`,
    [labelOf(table), rows ?? null, state],
  )
}

/** One array for each column, so that a batch is one statement with few parameters. */
async function insertAll(client: ClientBase, table: MovedTable, rows: readonly Row[]): Promise<void> {
  const names = table.columns.map(({ name }) => POSTGRES.identifier(name)).join(', ')
  const arrays = table.columns.map(({ type }, index) => `$${index + 1}::${sqlType(type)}[]`).join(', ')
  const values = table.columns.map(({ type }, index) => {
    const write = toPostgresText(type)
    return rows.map((row) => {
      const value = row[index] ?? null
      return value === null ? null : write(value)
    })
  })
  await client.query(`INSERT INTO ${nameOf(table)} (${names}) SELECT * FROM unnest(${arrays})`, values)
}
