/** Lists of users, and the search by the beginning of a username, display name, family name or e-mail address, in ranges of indexes. */
import type { Kysely } from 'kysely'
import { type BoundedCount, boundedCount, COUNTED_ROWS } from '../database/counts.ts'
import type { Schema } from '../database/schema.ts'
import { selectUsers, toUsers, type User, usernameKey } from './user.ts'

interface UserPage {
  readonly after?: string
  readonly limit?: number
  readonly prefix?: string
}

export interface FoundUsers {
  readonly users: readonly User[]
  /** Where the next page begins; undefined after the last one. */
  readonly next: SearchHit | undefined
}

/** How often a page of a search reads on for users that earlier pages do not have. */
const MOST_READS = 8

export function listUsers(db: Kysely<Schema>) {
  return {
    /** One page, ordered by name; with a prefix, of the names that begin with it. */
    async list({ after = '', limit = 100, prefix = '' }: UserPage = {}): Promise<User[]> {
      const [start, last] = [usernameKey(prefix), usernameKey(after)]
      let page = db.selectFrom('users').select('id').orderBy('username_key').limit(limit)
      // A range of the index, with one lower bound.
      page =
        compareBytes(last, start) < 0 ? page.where('username_key', '>=', start) : page.where('username_key', '>', last)
      if (start !== '') page = page.where('username_key', '<', endOfPrefix(start))
      return toUsers(await selectUsers(db).where('users.id', 'in', page).orderBy('username_key').execute())
    },

    /** Users with a role, ordered by username. Few are sorted; of many, users are read in order until enough have the role. */
    async listWith(role: string, { after = '', limit = 100 }: Omit<UserPage, 'prefix'> = {}): Promise<User[]> {
      const { more } = await countHolders(db, role)
      const users = db.selectFrom('users').select('users.id').where('username_key', '>', usernameKey(after))
      const page = more
        ? users.where(({ exists, selectFrom }) =>
            exists(
              selectFrom('user_roles')
                .select('user_roles.role')
                .whereRef('user_roles.user_id', '=', 'users.id')
                .where('user_roles.role', '=', role),
            ),
          )
        : users.innerJoin('user_roles', 'user_roles.user_id', 'users.id').where('user_roles.role', '=', role)
      const ids = (await page.orderBy('username_key').limit(limit).execute()).map(({ id }) => id)
      if (ids.length === 0) return []
      return toUsers(await selectUsers(db).where('users.id', 'in', ids).orderBy('username_key').execute())
    },

    countWith: (role: string) => countHolders(db, role),

    /**
     * Users with a username, name, family name or e-mail address that begins with the text, ordered by what begins with it. A page
     * reads a bounded number of index entries: it can be shorter than `limit` although there is a next one.
     */
    async search(
      text: string,
      { limit, after }: { limit: number; after?: SearchHit | undefined },
    ): Promise<FoundUsers> {
      const folded = foldText(text) ?? ''
      const found: User[] = []
      let last = after
      for (let reads = 0; reads < MOST_READS; reads++) {
        const wanted = limit - found.length
        const hits = await searchQuery(db, folded, last, wanted).execute()
        if (hits.length > 0) found.push(...(await usersAt(db, hits, folded)))
        if (hits.length < wanted) return { users: found, next: undefined }
        last = hits.at(-1)
        if (found.length === limit) break
      }
      return { users: found, next: last }
    },
  }
}

/** The users of the hits, each at the first key that begins with the text only. */
async function usersAt(db: Kysely<Schema>, hits: readonly SearchHit[], folded: string): Promise<User[]> {
  const ids = [...new Set(hits.map(({ id }) => id))]
  const users = toUsers(await selectUsers(db).where('users.id', 'in', ids).execute())
  const byId = new Map(users.map((user) => [user.id, user]))
  return hits.flatMap(({ key, id }) => {
    const user = byId.get(id)
    const keys = user && [usernameKey(user.username), ...Object.values(searchKeys(user.profile))]
    if (user === undefined || firstMatch(keys ?? [], folded) !== key) return []
    // Two equal keys are two hits.
    byId.delete(id)
    return [user]
  })
}

async function countHolders(db: Kysely<Schema>, role: string): Promise<BoundedCount> {
  const held = db.selectFrom('user_roles').select('role').where('role', '=', role).limit(COUNTED_ROWS)
  const { count } = await db
    .selectFrom(held.as('held'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return boundedCount(Number(count), Number(count))
}

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
function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`
}

/** The first of the keys that begin with the text: the hit at which the user is listed. */
function firstMatch(keys: readonly (string | null)[], folded: string): string | undefined {
  return keys.flatMap((key) => (key?.startsWith(folded) ? [key] : [])).sort(compareBytes)[0]
}

/** The order of the indexes, which differs from that of UTF-16 units. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
