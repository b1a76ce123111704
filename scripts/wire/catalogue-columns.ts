/**
 * Writes packages/server/src/wire/catalogue/data/postgres-catalogue.ts: the tables of pg_catalog and information_schema with their
 * columns, the built-in types and the functions that these name, from a real PostgreSQL 15.
 *
 *     node scripts/wire/catalogue-columns.ts postgres://postgres@127.0.0.1:5432/postgres
 */
import { writeFileSync } from 'node:fs'
import pg from 'pg'

const FILE = new URL('../../packages/server/src/wire/catalogue/data/postgres-catalogue.ts', import.meta.url)

/** A domain is described by its base type, as PostgreSQL describes columns to clients. Columns that are never null have an exclamation mark. */
const RELATIONS = `
  SELECT n.nspname || '.' || c.relname || ' ' || c.oid || ' ' || c.relkind::text || ' ' || string_agg(
    a.attname || ':' || CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
      || CASE WHEN t.typtypmod >= 0 THEN ':' || t.typtypmod ELSE '' END || CASE WHEN a.attnotnull THEN '!' ELSE '' END,
    ' ' ORDER BY a.attnum) AS line
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
  WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v')
  GROUP BY n.nspname, c.relname, c.oid, c.relkind ORDER BY n.nspname DESC, c.relname`

/** Base types, pseudo-types and their arrays; types of rows, ranges and domains are left out. */
const TYPE_FILTER = `t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'p') AND NOT EXISTS (
  SELECT 1 FROM pg_type e WHERE e.oid = t.typelem AND e.typtype NOT IN ('b', 'p'))`

const TYPE_COLUMNS =
  'oid typname typlen typbyval typtype typcategory typispreferred typdelim typelem typarray typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript typalign typstorage typcollation'

const FUNCTION_COLUMN = /^typ(input|output|receive|send|modin|modout|analyze|subscript)$/

const TYPES = `SELECT concat_ws(' ', ${TYPE_COLUMNS.split(' ')
  .map((column) => (FUNCTION_COLUMN.test(column) ? `t.${column}::oid` : `t.${column}`))
  .join(', ')}) AS line FROM pg_type t WHERE ${TYPE_FILTER} ORDER BY t.oid`

const FUNCTIONS = `SELECT concat_ws(' ', p.oid, p.proname, p.prorettype, replace(p.proargtypes::text, ' ', ',')) AS line
  FROM pg_proc p WHERE EXISTS (SELECT 1 FROM pg_type t WHERE ${TYPE_FILTER}
    AND p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typanalyze, t.typsubscript)) ORDER BY p.oid`

const KEYWORDS = `SELECT word || ' ' || catcode::text AS line FROM pg_get_keywords()`

async function main(): Promise<void> {
  const [, , url] = process.argv
  if (url === undefined)
    throw new Error('Give the URL of a PostgreSQL 15, such as postgres://postgres@127.0.0.1:5432/postgres')
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    const version = rows[0]?.server_version ?? ''
    if (!version.startsWith('15.')) throw new Error(`PostgreSQL 15 is needed, and this is ${version}`)
    const lines = async (sql: string): Promise<string> =>
      (await client.query<{ line: string }>(sql)).rows.map(({ line }) => line.replaceAll('\\', '\\\\')).join('\n')
    writeFileSync(
      FILE,
      [
        '/** The tables, types and functions of a PostgreSQL 15. Written by scripts/wire/catalogue-columns.ts. */',
        '',
        '/** A line for each table: its name, its OID, its kind, and name, type and modifier of each column; ! is NOT NULL. */',
        `export const RELATION_LINES = \`\n${await lines(RELATIONS)}\``,
        '',
        '/** The columns of the lines below. */',
        `export const TYPE_COLUMNS =\n  '${TYPE_COLUMNS}'`,
        '',
        `export const TYPE_LINES = \`\n${await lines(TYPES)}\``,
        '',
        '/** A line for each function that a type names: OID, name, type of its result, types of its arguments. */',
        `export const FUNCTION_LINES = \`\n${await lines(FUNCTIONS)}\``,
        '',
        '/** A line for each keyword: the word and its category. */',
        `export const KEYWORD_LINES = \`\n${await lines(KEYWORDS)}\``,
        '',
      ].join('\n'),
    )
  } finally {
    await client.end()
  }
}

await main()
