/** Users with their roles, and the rights that the roles give. */
import { randomBytes } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import { type BoundedCount, boundedCount, COUNTED_ROWS } from '../database/counts.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Schema, UserRow } from '../database/schema.ts'
import {
  compareBytes,
  endOfPrefix,
  firstMatch,
  foldText,
  type SearchHit,
  searchKeys,
  searchQuery,
} from './user-search.ts'

/** The standard claims by their registered names (OpenID Connect Core §5.1). */
export type Profile = Readonly<Record<string, unknown>>

export interface User {
  readonly id: string
  readonly username: string
  readonly passwordHash: string | undefined
  readonly passwordChangedAt: number
  /** Digest of the password set by a declarative file, so that only a change in the file sets it again. */
  readonly declaredDigest: string | undefined
  readonly profile: Profile
  readonly roles: readonly string[]
  /** The scopes of the roles. */
  readonly rights: ReadonlySet<string>
  readonly roleRequiresSecondFactor: boolean
  readonly hasSecondFactor: boolean
  readonly disabled: boolean
  /** At the next sign-in, before anything is issued. */
  readonly mustChangePassword: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

export interface NewUser {
  readonly username: string
  readonly passwordHash?: string | undefined
  readonly declaredDigest?: string | undefined
  readonly profile?: Profile
  readonly roles?: readonly string[]
  readonly disabled?: boolean
  readonly mustChangePassword?: boolean
}

export interface UserChange {
  readonly username?: string
  readonly profile?: Profile
  readonly disabled?: boolean
  readonly mustChangePassword?: boolean
  readonly declaredDigest?: string | undefined
}

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

export type Users = ReturnType<typeof createUsers>

/** No client_id may begin with it: the subject of a token tells a user from a client (RFC 9068 §5). */
export const USER_ID_PREFIX = 'usr_'

export class UsernameTaken extends Error {
  override name = 'UsernameTaken'
}

export function createUsers(db: Kysely<Schema>, clock: Clock) {
  /** One row per role of the user. */
  const withRoles = () =>
    db
      .selectFrom('users')
      .leftJoin('user_roles', 'user_roles.user_id', 'users.id')
      .leftJoin('roles', 'roles.name', 'user_roles.role')
      .selectAll('users')
      .select(['user_roles.role as role', 'roles.scopes as role_scopes', 'roles.require_second_factor as role_factor'])
      .select((eb) =>
        eb
          .selectFrom('factors')
          .whereRef('factors.user_id', '=', 'users.id')
          .where('factors.kind', '!=', 'recovery')
          .select((inner) => inner.fn.countAll<number>().as('count'))
          .as('factors'),
      )
  const byId = prepare(db, ({ id }: { id: string }) => withRoles().where('users.id', '=', id))
  const byName = prepare(db, ({ key }: { key: string }) => withRoles().where('users.username_key', '=', key))

  return {
    async findById(id: string): Promise<User | undefined> {
      return groupRows(await byId({ id }))[0]
    },

    async findByUsername(username: string): Promise<User | undefined> {
      return groupRows(await byName({ key: usernameKey(username) }))[0]
    },

    /** One page, ordered by name; with a prefix, of the names that begin with it. */
    async list({ after = '', limit = 100, prefix = '' }: UserPage = {}): Promise<User[]> {
      const [start, last] = [usernameKey(prefix), usernameKey(after)]
      let page = db.selectFrom('users').select('id').orderBy('username_key').limit(limit)
      // A range of the index, with one lower bound.
      page =
        compareBytes(last, start) < 0 ? page.where('username_key', '>=', start) : page.where('username_key', '>', last)
      if (start !== '') page = page.where('username_key', '<', endOfPrefix(start))
      return groupRows(await withRoles().where('users.id', 'in', page).orderBy('username_key').execute())
    },

    /** Users with a role, ordered by username. Few are sorted; of many, users are read in order until enough have the role. */
    async listWith(role: string, { after = '', limit = 100 }: Omit<UserPage, 'prefix'> = {}): Promise<User[]> {
      const { more } = await countHolders(role)
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
      return groupRows(await withRoles().where('users.id', 'in', ids).orderBy('username_key').execute())
    },

    countWith: countHolders,

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
        if (hits.length > 0) found.push(...(await usersAt(hits, folded)))
        if (hits.length < wanted) return { users: found, next: undefined }
        last = hits.at(-1)
        if (found.length === limit) break
      }
      return { users: found, next: last }
    },

    /** Whether an enabled user with one of the roles has a password or a passkey. */
    async canSignInWith(roles: readonly string[]): Promise<boolean> {
      const row = await db
        .selectFrom('user_roles')
        .innerJoin('users', 'users.id', 'user_roles.user_id')
        .select('users.id')
        .where('user_roles.role', 'in', roles)
        .where('users.disabled', '=', 0)
        .where((eb) => {
          const passkey = eb.selectFrom('factors').select('factors.id').where('factors.kind', '=', 'passkey')
          return eb.or([
            eb('users.password_hash', 'is not', null),
            eb.exists(passkey.whereRef('factors.user_id', '=', 'users.id')),
          ])
        })
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },

    async create(user: NewUser): Promise<string> {
      const id = USER_ID_PREFIX + randomBytes(16).toString('base64url')
      const now = clock()
      const inserted = await db
        .insertInto('users')
        .values({
          id,
          username: user.username.normalize('NFKC').trim(),
          username_key: usernameKey(user.username),
          password_hash: user.passwordHash ?? null,
          password_changed_at: now,
          declared_digest: user.declaredDigest ?? null,
          profile: JSON.stringify(user.profile ?? {}),
          ...searchKeys(user.profile ?? {}),
          disabled: Number(user.disabled ?? false),
          must_change_password: Number(user.mustChangePassword ?? false),
          created_at: now,
          updated_at: now,
        })
        .onConflict((conflict) => conflict.column('username_key').doNothing())
        .returning('id')
        .executeTakeFirst()
      if (inserted === undefined) throw new UsernameTaken(`The username ${user.username} is taken`)
      await addRoles(id, user.roles ?? [])
      return id
    },

    async update(id: string, change: UserChange): Promise<void> {
      await db
        .updateTable('users')
        .set({
          updated_at: clock(),
          ...(change.username === undefined
            ? {}
            : { username: change.username, username_key: usernameKey(change.username) }),
          ...(change.profile === undefined
            ? {}
            : { profile: JSON.stringify(change.profile), ...searchKeys(change.profile) }),
          ...(change.disabled === undefined ? {} : { disabled: Number(change.disabled) }),
          ...(change.mustChangePassword === undefined
            ? {}
            : { must_change_password: Number(change.mustChangePassword) }),
          ...('declaredDigest' in change ? { declared_digest: change.declaredDigest ?? null } : {}),
        })
        .where('id', '=', id)
        .execute()
    },

    /**
     * Links with which a password could be chosen are void from then on. False, and nothing is changed, if another password than
     * that of the time `since` is in force by now.
     */
    async setPassword(
      id: string,
      passwordHash: string,
      { mustChange = false, since }: { readonly mustChange?: boolean; readonly since?: number | undefined } = {},
    ): Promise<boolean> {
      const now = clock()
      let update = db
        .updateTable('users')
        .set({
          password_hash: passwordHash,
          password_changed_at: now,
          must_change_password: Number(mustChange),
          updated_at: now,
        })
        .where('id', '=', id)
      if (since !== undefined) update = update.where('password_changed_at', '=', since)
      if ((await update.returning('id').executeTakeFirst()) === undefined) return false
      await db
        .updateTable('set_up_links')
        .set({ revoked_at: now })
        .where('user_id', '=', id)
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .execute()
      return true
    },

    /** Stores the same password hashed with newer parameters, unless the password has changed since. */
    async rehash(id: string, from: string, to: string): Promise<void> {
      await db
        .updateTable('users')
        .set({ password_hash: to })
        .where('id', '=', id)
        .where('password_hash', '=', from)
        .execute()
    },

    async setRoles(id: string, roles: readonly string[]): Promise<void> {
      await db
        .deleteFrom('user_roles')
        .where('user_id', '=', id)
        .$if(roles.length > 0, (query) => query.where('role', 'not in', roles))
        .execute()
      await addRoles(id, roles)
    },

    /** Sessions of the user become useless but stay until they are ended, because ending one notifies its applications. */
    async remove(id: string): Promise<void> {
      await db.deleteFrom('users').where('id', '=', id).execute()
      for (const table of ['user_roles', 'factors', 'consents', 'set_up_links'] as const) {
        await db.deleteFrom(table).where('user_id', '=', id).execute()
      }
    },
  }

  /** The users of the hits, each at the first key that begins with the text only. */
  async function usersAt(hits: readonly SearchHit[], folded: string): Promise<User[]> {
    const ids = [...new Set(hits.map(({ id }) => id))]
    const users = groupRows(await withRoles().where('users.id', 'in', ids).execute())
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

  async function countHolders(role: string): Promise<BoundedCount> {
    const held = db.selectFrom('user_roles').select('role').where('role', '=', role).limit(COUNTED_ROWS)
    const { count } = await db
      .selectFrom(held.as('held'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return boundedCount(Number(count), Number(count))
  }

  async function addRoles(userId: string, roles: readonly string[]): Promise<void> {
    if (roles.length === 0) return
    await db
      .insertInto('user_roles')
      .values(roles.map((role) => ({ user_id: userId, role })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

/** Usernames are compared in NFKC and case-insensitively. */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').trim().toLowerCase()
}

type Row = Selectable<UserRow> & {
  role: string | null
  role_scopes: string | null
  role_factor: number | null
  factors: number | null
}

function groupRows(rows: readonly Row[]): User[] {
  const byId = new Map<string, Row[]>()
  for (const row of rows) {
    const same = byId.get(row.id)
    if (same === undefined) byId.set(row.id, [row])
    else same.push(row)
  }
  return [...byId.values()].flatMap((same) => (same[0] === undefined ? [] : [toUser(same[0], same)]))
}

function toUser(row: Row, rows: readonly Row[]): User {
  const profile: Profile = JSON.parse(row.profile)
  const rights = new Set<string>()
  for (const { role_scopes } of rows) {
    const scopes: string[] = role_scopes === null ? [] : JSON.parse(role_scopes)
    for (const scope of scopes) rights.add(scope)
  }
  return {
    id: row.id,
    username: row.username,
    passwordHash: row.password_hash ?? undefined,
    passwordChangedAt: row.password_changed_at,
    declaredDigest: row.declared_digest ?? undefined,
    profile,
    roles: rows.flatMap(({ role }) => role ?? []).sort(),
    rights,
    roleRequiresSecondFactor: rows.some(({ role_factor }) => role_factor === 1),
    hasSecondFactor: Number(row.factors ?? 0) > 0,
    disabled: row.disabled === 1,
    mustChangePassword: row.must_change_password === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
