/** A PostgreSQL database that is moved: our two schemas, which are only read. */
import type { ClientBase } from 'pg'
import { POSTGRES_STORAGE } from '../query/storage.ts'
import { withoutCredentials } from '../store/database/servers/addresses.ts'
import { openPool, qualifiedName, readRows, SCHEMAS } from './postgres-rows.ts'
import { type MovedTable, type Part, type Source, tableLabel } from './table.ts'
import { type FindColumns, identityTables, isLeftOut, queryTables } from './tables.ts'

export function openPostgresSource(url: string, dataFolder: string): Source {
  const { pool, close } = openPool(url, dataFolder)
  let held: (ClientBase & { release(destroy: boolean): void }) | undefined
  let known: readonly MovedTable[] = []
  const find: FindColumns = async (part, table) => {
    const { rows } = await pool.query<{ name: string; isText: boolean; nullable: boolean; key: number }>(COLUMNS, [
      SCHEMAS[part],
      table,
    ])
    return rows
  }
  return {
    location: withoutCredentials(url),
    rows: (table, order, offset) => readRows(pool, table, order, offset),
    async tables() {
      known = [
        ...(await identityTables(find)),
        ...(await queryTables(await POSTGRES_STORAGE.readDefinitions({ url, dataFolder }), find)),
      ]
      return known
    },
    async foreignTables(tables) {
      const names = new Set(tables.map(tableLabel))
      const { rows } = await pool.query<{ schema: string; name: string }>(
        'SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname = ANY($1) ORDER BY 1, 2',
        [Object.values(SCHEMAS)],
      )
      return rows.flatMap(({ schema, name }) => {
        const part: Part = schema === SCHEMAS.identity ? 'identity' : 'query'
        return isLeftOut(part, name) || names.has(tableLabel({ part, name })) ? [] : [`${schema}.${name}`]
      })
    },
    async lastEvent() {
      const { rows } = await pool.query<{ last: string | null }>(
        `SELECT pg_sequence_last_value(pg_get_serial_sequence('${SCHEMAS.identity}.events', 'seq')::regclass) AS last`,
      )
      return Number(rows[0]?.last ?? 0)
    },
    async unmovable(table, limit) {
      const found: string[] = []
      const add = (problem: string): void => void found.push(problem)
      for await (const _rows of readRows(pool, table, 'stored', 0, add)) if (found.length >= limit) break
      return found.slice(0, limit)
    },
    /** Tables of callers are not locked: there may be more of them than a transaction can lock. */
    async hold() {
      held = await pool.connect()
      await held.query('BEGIN')
      const own = known.filter(({ definition }) => definition === undefined)
      await held.query(`LOCK TABLE ${own.map(qualifiedName).join(', ')} IN SHARE MODE`)
    },
    async close() {
      held?.release(true)
      await close()
    },
  }
}

const COLUMNS = `
  SELECT a.attname AS name, a.atttypid = 'text'::regtype AS "isText",
    NOT a.attnotnull AS nullable, coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) AS key
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
