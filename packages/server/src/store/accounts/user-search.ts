/** Finds users by the beginning of their username, display name, family name or e-mail address, in ranges of indexes. */
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'

export interface SearchKeys {
  readonly name_key: string | null
  readonly family_key: string | null
  readonly email_key: string | null
}

/** PostgreSQL cannot index longer texts than about 2,700 bytes. */
const LONGEST_KEY = 100

/** The columns of a user that are searched, besides the username. */
export function searchKeys(profile: Readonly<Record<string, unknown>>): SearchKeys {
  const { name, nickname, given_name, family_name, email } = profile
  const full = foldText(name) ?? foldText([given_name, family_name].filter(isText).join(' ')) ?? foldText(nickname)
  const lastWord = full?.includes(' ') ? full.slice(full.lastIndexOf(' ') + 1) : undefined
  return {
    name_key: full ?? null,
    family_key: foldText(family_name) ?? lastWord ?? null,
    email_key: foldText(email) ?? null,
  }
}

/** As usernames are compared: NFKC and case-insensitively. Undefined for what is no text, or empty. */
export function foldText(value: unknown): string | undefined {
  if (!isText(value)) return undefined
  const folded = value.normalize('NFKC').trim().toLowerCase().replace(/\s+/g, ' ')
  return folded === '' ? undefined : [...folded].slice(0, LONGEST_KEY).join('')
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Where a user was found: the key that begins with the text, and the user's id. */
export interface SearchHit {
  readonly key: string
  readonly id: string
}

const COLUMNS = ['username_key', 'name_key', 'family_key', 'email_key'] as const

/** Up to `limit` hits after another one, in order. A user has one for each of their keys that begins with the text. */
export function searchQuery(db: Kysely<Schema>, folded: string, after: SearchHit | undefined, limit: number) {
  const low = after ?? { key: folded, id: '' }
  // One lower bound, since an index range has only one: the hits up to `after` are not read again.
  const [first, ...others] = COLUMNS.map((column) =>
    db
      .selectFrom(
        db
          .selectFrom('users')
          .select([`${column} as key`, 'id'])
          .where((eb) => eb(eb.refTuple(column, 'id'), '>', eb.tuple(low.key, low.id)))
          .where(column, '<', endOfPrefix(folded))
          .orderBy(column)
          .orderBy('id')
          .limit(limit)
          .as(column),
      )
      .select(['key', 'id'])
      .$narrowType<SearchHit>(),
  )
  if (first === undefined) throw new Error('unreachable: there are columns')
  return others
    .reduce((query, other) => query.unionAll(other), first)
    .orderBy('key')
    .orderBy('id')
    .limit(limit)
}

/** Greater than every text with the prefix, in the order of bytes. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`
}

/** The first of the keys that begin with the text: the hit at which the user is listed. */
export function firstMatch(keys: readonly (string | null)[], folded: string): string | undefined {
  return keys.flatMap((key) => (key?.startsWith(folded) ? [key] : [])).sort(compareBytes)[0]
}

/** The order of the indexes, which differs from that of UTF-16 units. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
