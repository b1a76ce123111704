/** Users: finding them by id or name, creating and changing them. */
import { randomBytes } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { prepare } from '../database/prepared-query.ts'
import type { Schema } from '../database/schema.ts'
import { foldText, searchKeys } from '../database/search-keys.ts'
import {
  type AttributeValues,
  type Profile,
  type RoleSource,
  readRoleSources,
  selectUsers,
  toUsers,
  USER_ID_PREFIX,
  type User,
  usernameKey,
} from './user.ts'
import { listUsers } from './user-search.ts'

export interface NewUser {
  readonly username: string
  readonly passwordHash?: string | undefined
  readonly declaredDigest?: string | undefined
  readonly profile?: Profile
  readonly roles?: readonly string[]
  /** Who gives the roles. Default: an operator. */
  readonly roleSource?: RoleSource
  readonly attributes?: AttributeValues
  readonly breakGlass?: boolean
  readonly disabled?: boolean
  readonly mustChangePassword?: boolean | undefined
}

export interface UserChange {
  readonly username?: string
  readonly profile?: Profile
  readonly attributes?: AttributeValues
  readonly breakGlass?: boolean
  readonly disabled?: boolean
  readonly mustChangePassword?: boolean
  readonly declaredDigest?: string | undefined
}

/** Rows of one statement. */
const BATCH = 500

export type Users = ReturnType<typeof createUsers>

export class UsernameTaken extends Error {
  override name = 'UsernameTaken'
}

export function createUsers(db: Kysely<Schema>, clock: Clock) {
  return { ...findUsers(db), ...listUsers(db), ...changeUsers(db, clock), ...setPasswords(db, clock) }
}

function findUsers(db: Kysely<Schema>) {
  const byId = prepare(db, ({ id }: { id: string }) => selectUsers(db).where('users.id', '=', id))
  const byName = prepare(db, ({ key }: { key: string }) => selectUsers(db).where('users.username_key', '=', key))
  return {
    async findById(id: string): Promise<User | undefined> {
      return toUsers(await byId({ id }))[0]
    },

    async findByUsername(username: string): Promise<User | undefined> {
      return toUsers(await byName({ key: usernameKey(username) }))[0]
    },

    /** Those who have this e-mail address, verified or not; case is ignored. At most `most`. */
    async findByEmail(address: string, most: number): Promise<User[]> {
      const key = foldText(address)
      if (key === undefined) return []
      const ids = db.selectFrom('users').select('id').where('email_key', '=', key).limit(most)
      const found = toUsers(await selectUsers(db).where('users.id', 'in', ids).execute())
      return found.filter(({ profile }) => String(profile.email).toLowerCase() === address.toLowerCase())
    },

    /** Those of these ids that exist. */
    async findAll(ids: readonly string[]): Promise<User[]> {
      const found: User[] = []
      for (let from = 0; from < ids.length; from += BATCH) {
        const batch = ids.slice(from, from + BATCH)
        found.push(...toUsers(await selectUsers(db).where('users.id', 'in', batch).execute()))
      }
      return found
    },

    /** Whether an enabled user for emergencies can administer, and has a password and a second factor. */
    async hasBreakGlass(without?: string): Promise<boolean> {
      let query = selectUsers(db).where('users.break_glass', '=', 1).where('users.disabled', '=', 0)
      if (without !== undefined) query = query.where('users.id', '!=', without)
      return toUsers(await query.execute()).some(
        ({ rights, passwordHash, hasSecondFactor }) =>
          rights.has('Identity/Admin') && passwordHash !== undefined && hasSecondFactor,
      )
    },

    /** Whether an enabled user with one of the roles has a password, a passkey or an identity at another provider. */
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
            eb.exists(
              eb.selectFrom('identities').select('identities.id').whereRef('identities.user_id', '=', 'users.id'),
            ),
          ])
        })
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },
  }
}

function changeUsers(db: Kysely<Schema>, clock: Clock) {
  return {
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
          attributes: JSON.stringify(user.attributes ?? {}),
          break_glass: Number(user.breakGlass ?? false),
          disabled: Number(user.disabled ?? false),
          must_change_password: Number(user.mustChangePassword ?? false),
          created_at: now,
          updated_at: now,
        })
        .onConflict((conflict) => conflict.column('username_key').doNothing())
        .returning('id')
        .executeTakeFirst()
      if (inserted === undefined) throw new UsernameTaken(`The username ${user.username} is taken`)
      await addRoles(id, user.roles ?? [], user.roleSource ?? 'operator')
      return id
    },

    async update(id: string, change: UserChange): Promise<void> {
      await db
        .updateTable('users')
        .set({
          updated_at: clock(),
          ...(change.username === undefined
            ? {}
            : { username: change.username.normalize('NFKC').trim(), username_key: usernameKey(change.username) }),
          ...(change.profile === undefined
            ? {}
            : { profile: JSON.stringify(change.profile), ...searchKeys(change.profile) }),
          ...(change.attributes === undefined ? {} : { attributes: JSON.stringify(change.attributes) }),
          ...(change.breakGlass === undefined ? {} : { break_glass: Number(change.breakGlass) }),
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
     * From now on the source gives the user these roles and no others. A role that another source gives too stays. Returns whether the
     * user's roles have changed.
     */
    async setRoles(id: string, roles: readonly string[], source: RoleSource = 'operator'): Promise<boolean> {
      const given = new Set(roles)
      const held = await db.selectFrom('user_roles').select(['role', 'sources']).where('user_id', '=', id).execute()
      let isChanged = false
      for (const { role, sources: text } of held) {
        const before = readRoleSources(text)
        const after = before.filter((other) => other !== source)
        if (given.delete(role)) after.push(source)
        if (after.length === before.length && before.includes(source) === after.includes(source)) continue
        if (after.length > 0) await setSources(id, role, after)
        else {
          await db.deleteFrom('user_roles').where('user_id', '=', id).where('role', '=', role).execute()
          isChanged = true
        }
      }
      await addRoles(id, [...given], source)
      return isChanged || given.size > 0
    },

    /** The ids of the users who have a role from this source. */
    async listBySource(source: RoleSource): Promise<string[]> {
      const rows = await db
        .selectFrom('user_roles')
        .select('user_id')
        .distinct()
        .where('sources', 'like', `%"${source.replaceAll(/[%_]/g, '_')}"%`)
        .execute()
      return rows.map(({ user_id }) => user_id)
    },

    /** Sessions of the user become useless but stay until they are ended, because ending one notifies its applications. */
    async remove(id: string): Promise<void> {
      await db.deleteFrom('users').where('id', '=', id).execute()
      await db.deleteFrom('scim_external_ids').where('resource_id', '=', id).execute()
      // The members of these groups change.
      await db
        .updateTable('scim_groups')
        .set((eb) => ({ revision: eb('revision', '+', 1) }))
        .where('role', 'in', db.selectFrom('user_roles').select('role').where('user_id', '=', id))
        .execute()
      for (const table of [
        'user_roles',
        'factors',
        'consents',
        'set_up_links',
        'address_links',
        'known_browsers',
        'identities',
        'licence_statuses',
        'trials',
        'push_subscriptions',
      ] as const) {
        await db.deleteFrom(table).where('user_id', '=', id).execute()
      }
      await db.deleteFrom('acceptances').where('holder', '=', id).execute()
      await db.deleteFrom('entitlements').where('level', '=', 'user').where('holder', '=', id).execute()
    },
  }

  async function setSources(userId: string, role: string, sources: readonly RoleSource[]): Promise<void> {
    await db
      .updateTable('user_roles')
      .set({ sources: JSON.stringify(sources) })
      .where('user_id', '=', userId)
      .where('role', '=', role)
      .execute()
  }

  async function addRoles(userId: string, roles: readonly string[], source: RoleSource): Promise<void> {
    if (roles.length === 0) return
    const sources = JSON.stringify([source])
    await db
      .insertInto('user_roles')
      .values(roles.map((role) => ({ user_id: userId, role, sources })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

function setPasswords(db: Kysely<Schema>, clock: Clock) {
  return {
    /**
     * Links with which a password could be chosen or an address confirmed are void from then on. False, and nothing is changed, if another password than
     * that of the time `since` is now current.
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
      for (const table of ['set_up_links', 'address_links'] as const)
        await db
          .updateTable(table)
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
  }
}
