/** Many users in the database, with names that repeat: for the programs that search among them. */

import { sql } from 'kysely'
import type { Database } from '../packages/server/src/store/database/database.ts'

export const FIRST = [
  'Ada',
  'Alice',
  'Bea',
  'Carl',
  'Dana',
  'Emil',
  'Fay',
  'Gus',
  'Hana',
  'Ida',
  'Jon',
  'Kai',
  'Lea',
  'Max',
]
export const LAST = [
  'Abel',
  'Berg',
  'Cole',
  'Diaz',
  'Egger',
  'Fox',
  'Gold',
  'Hall',
  'Ito',
  'Jung',
  'King',
  'Liddell',
  'Moor',
]

/** With one statement, because creating a million users one by one takes too long. */
export async function fillUsers({ db, engine }: Database, users: number): Promise<void> {
  const pick = (words: readonly string[], by: string) =>
    sql.raw(
      `case (n / ${by}) % ${words.length} ${words.map((word, index) => `when ${index} then '${word}'`).join(' ')} end`,
    )
  const numbers =
    engine === 'sqlite'
      ? sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${users})`
      : sql`with numbers (n) as (select generate_series(1, ${sql.lit(users)}))`
  const text = sql.raw(engine === 'sqlite' ? 'n' : 'n::text')
  await sql`${numbers}, named as (select ${text} as n, ${pick(FIRST, '1')} as first, ${pick(LAST, '14')} as last from numbers)
    insert into users (id, username, username_key, password_changed_at, profile, name_key, family_key, email_key, disabled,
      created_at, updated_at)
    select 'usr_' || n, 'u' || n, 'u' || n, 0,
      '{"name":"' || first || ' ' || last || ' ' || n || '","family_name":"' || last || '","email":"' || lower(first) || '.' || n || '@example.com"}',
      lower(first || ' ' || last || ' ' || n), lower(last), lower(first) || '.' || n || '@example.com', 0, 0, 0
    from named`.execute(db)
}
