/** Definitions that operators make, such as APIs and attributes: one row for each, with its key, and the rest as JSON. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

export interface DefinitionPage {
  readonly after?: string
  readonly limit?: number
  /** Only those whose members, by name, have these values. */
  readonly filter?: Readonly<Record<string, string>>
}

/** What administration and the declarative file need of a store. A caller that changes a definition also publishes its event, in the same transaction. */
export interface DefinitionStore<Item> {
  /** All, or one page; ordered by key. */
  list(page?: DefinitionPage): Promise<Item[]>
  find(key: string): Promise<Item | undefined>
  put(item: Item): Promise<void>
  remove(key: string): Promise<void>
}

export interface DefinitionTable<Item> {
  readonly table: string
  /** The columns of the key, which have the names of its members. The text of a key of several has their values, encoded, with slashes. */
  readonly key: (keyof Item & string) | readonly (keyof Item & string)[]
  /** JSON has no undefined members: what `definition` lacks. */
  readonly absent?: Partial<Item>
}

export function createDefinitions<Item extends object>(
  db: Kysely<Schema>,
  clock: Clock,
  { table, key, absent }: DefinitionTable<Item>,
): DefinitionStore<Item> {
  const rows = sql.table(table)
  const members: readonly string[] = typeof key === 'string' ? [key] : key
  const columns = sql.join(members.map((member) => sql.ref(member)))
  const values = (text: string) => (typeof key === 'string' ? [text] : text.split('/').map(decodeURIComponent))
  // A row value is compared from left to right, as the rows are ordered.
  const row = (given: readonly string[]) => sql`(${sql.join(given)})`
  const read = ({ definition, ...own }: Readonly<Record<string, string>>): Item => ({
    ...absent,
    ...JSON.parse(definition ?? '{}'),
    ...own,
  })
  return {
    async list({ after = '', limit, filter = {} } = {}) {
      const conditions: RawBuilder<unknown>[] = Object.entries(filter).map(([member, value]) => {
        if (!members.includes(member)) throw new Error(`${table} cannot be narrowed by ${member}`)
        return sql`${sql.ref(member)} = ${value}`
      })
      if (after !== '') conditions.push(sql`(${columns}) > ${row(values(after))}`)
      const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`
      const most = limit === undefined ? sql`` : sql`limit ${limit}`
      const query = sql<
        Record<string, string>
      >`select ${columns}, definition from ${rows} ${where} order by ${columns} ${most}`
      return (await query.execute(db)).rows.map(read)
    },

    async find(text) {
      const query = sql<
        Record<string, string>
      >`select ${columns}, definition from ${rows} where (${columns}) = ${row(values(text))}`
      const [found] = (await query.execute(db)).rows
      return found && read(found)
    },

    async put(item) {
      const own = new Map<string, unknown>(Object.entries(item))
      const given = members.map((member) => own.get(member))
      for (const member of members) own.delete(member)
      const [now, definition] = [clock(), JSON.stringify(Object.fromEntries(own))]
      await sql`insert into ${rows} (${columns}, definition, created_at, updated_at)
        values (${sql.join(given)}, ${definition}, ${now}, ${now})
        on conflict (${columns}) do update set definition = excluded.definition, updated_at = excluded.updated_at`.execute(
        db,
      )
    },

    async remove(text) {
      await sql`delete from ${rows} where (${columns}) = ${row(values(text))}`.execute(db)
    },
  }
}
