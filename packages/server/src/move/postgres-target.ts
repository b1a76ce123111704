/** A PostgreSQL database that data is moved to, with the record of the progress. */
import type { ClientBase, Pool } from 'pg'
import { POSTGRES_STORAGE } from '../query/storage.ts'
import { openDatabase } from '../store/database/database.ts'
import { withoutCredentials } from '../store/database/servers/addresses.ts'
import { inTransaction, openPool, qualifiedName, readRows, SCHEMAS } from './postgres-rows.ts'
import { type MovedTable, type Progress, type Row, type Target, tableLabel } from './table.ts'
import { PROGRESS } from './tables.ts'
import { toPostgresText } from './values.ts'

const PROGRESS_TABLE = `${SCHEMAS.identity}.${PROGRESS}`

/** The database has the mark of the move already. */
export function openPostgresTarget(url: string, dataFolder: string): Target {
  const { pool, close } = openPool(url, dataFolder)
  const write = (work: (client: ClientBase) => Promise<void>): Promise<void> => inTransaction(pool, work)
  return {
    location: withoutCredentials(url),
    rows: (table, order, offset) => readRows(pool, table, order, offset),
    async prepare(hasQuery) {
      const { rows } = await pool.query('SELECT to_regclass($1) AS found', [PROGRESS_TABLE])
      if (rows[0]?.found !== null) return
      await (await openDatabase({ dataFolder, url, poolSize: 1 })).close()
      if (hasQuery) {
        const client = await pool.connect()
        await POSTGRES_STORAGE.prepare(client).finally(() => client.release())
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
          definition === undefined ? `DELETE FROM ${qualifiedName(table)}` : POSTGRES_STORAGE.createTable(definition),
        )
        await note(client, table, 0, 'copying')
      }),
    append: (table, rows, total) => insertAll(pool, table, rows, total),
    copied: (table) =>
      write(async (client) => {
        const { definition } = table
        if (definition !== undefined)
          for (const statement of POSTGRES_STORAGE.createIndexes(definition)) await client.query(statement)
        await note(client, table, undefined, 'copied')
      }),
    verified: (table) => write((client) => note(client, table, undefined, 'verified')),
    async finish(tables, lastEvent) {
      if (lastEvent > 0)
        await pool.query(`SELECT setval(pg_get_serial_sequence('${SCHEMAS.identity}.events', 'seq'), $1)`, [lastEvent])
      for (const table of tables) await pool.query(`ANALYZE ${qualifiedName(table)}`)
      await pool.query(`DROP TABLE ${PROGRESS_TABLE}`)
    },
    close,
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
    [tableLabel(table), rows ?? null, state],
  )
}

/** One round trip: an array for each column, and the record of the progress in the same statement. */
async function insertAll(pool: Pool, table: MovedTable, rows: readonly Row[], total: number): Promise<void> {
  const { columns } = table
  const names = columns.map(({ name }) => POSTGRES_STORAGE.identifier(name)).join(', ')
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${POSTGRES_STORAGE.columnType(type)}[]`).join(', ')
  const values = columns.map(({ type }, index) => {
    const write = toPostgresText(type)
    return rows.map((row) => {
      const value = row[index] ?? null
      return value === null ? null : write(value)
    })
  })
  await pool.query(
    `WITH moved AS (INSERT INTO ${qualifiedName(table)} (${names}) SELECT * FROM unnest(${arrays}))
     UPDATE ${PROGRESS_TABLE} SET rows = $${columns.length + 1} WHERE name = $${columns.length + 2}`,
    [...values, total, tableLabel(table)],
  )
}
