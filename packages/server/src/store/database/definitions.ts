/** Definitions that operators make, such as APIs and attributes: one row for each, with its key, and the rest as JSON. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { Schema } from './schema.ts'

export interface DefinitionPage {
  readonly after?: string
  readonly limit?: number
}

/** What administration and the declarative file need of a store. A caller that changes a definition also publishes its event, in the same transaction. */
export interface DefinitionStore<Item> {
  /** All, or one page; ordered by key. */
  list(page?: DefinitionPage): Promise<Item[]>
  find(key: string): Promise<Item | undefined>
  put(item: Item): Promise<void>
  remove(key: string): Promise<void>
}

interface DefinitionRow {
  readonly key: string
  readonly definition: string
}

export interface DefinitionTable<Item, Key extends keyof Item> {
  readonly table: keyof Schema
  /** The column of the key, which has the name of the member. */
  readonly key: Key & string
  /** JSON has no undefined members: what `definition` lacks. */
  readonly absent?: Partial<Item>
}

export function createDefinitions<Item extends { readonly [name in Key]: string }, Key extends keyof Item>(
  db: Kysely<Schema>,
  clock: Clock,
  { table, key, absent }: DefinitionTable<Item, Key>,
): DefinitionStore<Item> {
  const [rows, column] = [sql.table(table), sql.ref(key)]
  const read = (row: DefinitionRow): Item => ({ [key]: row.key, ...absent, ...JSON.parse(row.definition) })
  return {
    async list({ after, limit } = {}) {
      const from = after === undefined ? sql`` : sql`where ${column} > ${after}`
      const most = limit === undefined ? sql`` : sql`limit ${limit}`
      const query = sql<DefinitionRow>`select ${column} as key, definition from ${rows} ${from} order by ${column} ${most}`
      return (await query.execute(db)).rows.map(read)
    },

    async find(name) {
      const query = sql<DefinitionRow>`select ${column} as key, definition from ${rows} where ${column} = ${name}`
      const [row] = (await query.execute(db)).rows
      return row && read(row)
    },

    async put({ [key]: name, ...rest }) {
      const [now, definition] = [clock(), JSON.stringify(rest)]
      await sql`insert into ${rows} (${column}, definition, created_at, updated_at)
        values (${name}, ${definition}, ${now}, ${now})
        on conflict (${column}) do update set definition = excluded.definition, updated_at = excluded.updated_at`.execute(
        db,
      )
    },

    async remove(name) {
      await sql`delete from ${rows} where ${column} = ${name}`.execute(db)
    },
  }
}
