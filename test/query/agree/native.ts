/** The same rows in plain PostgreSQL tables, queried without Gatehouse: the meaning of the statement in SQL. */
import pg from 'pg'
import { createPostgresDatabase } from '../../support/postgres.ts'
import { COLUMNS, type Row } from './data.ts'
import type { ColumnKind } from './kinds.ts'
import type { PlainKind, PlainStatement } from './plain.ts'

export interface Native {
  load(a: readonly Row[], b: readonly Row[]): Promise<void>
  /** The rows as the service would encode them, but without trailing zeros in Decimals. */
  ask(statement: PlainStatement): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openNative(): Promise<Native> {
  const database = await createPostgresDatabase()
  const client = new pg.Client({
    connectionString: database.url,
    types: { getTypeParser: () => (text: string) => text },
  })
  await client.connect()
  const columns = COLUMNS.map(({ name, kind, type }) => `${name} ${NATIVE[kind] ?? type.replace('Decimal', 'numeric')}`)
  for (const table of ['a', 'b']) await client.query(`CREATE TABLE ${table} (${columns.join(', ')})`)
  return {
    async load(a, b) {
      for (const [table, rows] of [
        ['a', a],
        ['b', b],
      ] as const) {
        await client.query(`TRUNCATE ${table}`)
        const places = COLUMNS.map(({ kind }, index) =>
          kind === 'Binary' ? `decode($${index + 1}, 'base64')` : `$${index + 1}`,
        )
        for (const row of rows) {
          const values = COLUMNS.map(({ name }) => row[name] ?? null)
          await client.query(`INSERT INTO ${table} VALUES (${places.join(', ')})`, values)
        }
      }
    },
    async ask({ text, kinds }) {
      const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array' })
      return rows.map((row) => `[${row.map((cell, index) => wire(cell, kinds[index] ?? 'Text')).join(',')}]`)
    },
    async close() {
      await client.end()
      await database.drop()
    },
  }
}

const NATIVE: Readonly<Partial<Record<ColumnKind, string>>> = {
  Text: 'text COLLATE "C"',
  Integer: 'bigint',
  Double: 'double precision',
  Boolean: 'boolean',
  Timestamp: 'timestamp',
  Date: 'date',
  Time: 'time',
  Uuid: 'uuid',
  Json: 'json',
  Binary: 'bytea',
}

/** Trailing zeros do not count: a numeric in SQL has the scale of its value, a Decimal in IQL that of its type. */
export function withoutScales(row: string, kinds: readonly PlainKind[]): string {
  const cells: unknown[] = JSON.parse(row)
  return JSON.stringify(
    cells.map((cell, index) => {
      return kinds[index] === 'Decimal' && typeof cell === 'string' ? shortened(cell) : cell
    }),
  )
}

function shortened(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
}

function wire(cell: string | null, kind: PlainKind): string {
  if (cell === null) return 'null'
  switch (kind) {
    case 'Integer':
      return cell
    case 'Boolean':
      return cell === 't' ? 'true' : 'false'
    case 'Decimal':
      return JSON.stringify(shortened(cell))
    case 'Timestamp':
      return `"${cell.replace(' ', 'T')}Z"`
    default:
      return JSON.stringify(cell)
  }
}
