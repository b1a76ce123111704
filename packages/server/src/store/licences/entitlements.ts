/** Entitlements: what a user, client, role or attribute may use of a product, and when. There may be a million. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely'
import { type AttributeValue, type AttributeValues, usernameKey } from '../accounts/user.ts'
import type { DefinitionPage, DefinitionStore } from '../database/definitions.ts'
import type { Schema } from '../database/schema.ts'
import type { Access } from './products.ts'

export type Level = Schema['entitlements']['level']
export type EntitlementKind = 'billable' | 'trial' | 'exempt'

export interface Entitlement {
  /** Made from what identifies it when it is given; it stays when the user is renamed. */
  readonly id: string
  readonly product: string
  readonly level: Level
  /** The username, the client, the role, or `attribute=value`. */
  readonly who: string
  /** That of the attribute, in its type. */
  readonly value?: AttributeValue | undefined
  /** Milliseconds; undefined: always. */
  readonly from: number | undefined
  readonly until: number | undefined
  readonly access: Access
  readonly kind: EntitlementKind
  readonly note: string
}

/** As decisions need it. */
export type HeldEntitlement = Omit<Entitlement, 'who' | 'value' | 'note'>

/** A user or a client, as entitlements name it. */
export interface Holder {
  readonly kind: 'user' | 'client'
  readonly id: string
  readonly roles: readonly string[]
  readonly attributes: AttributeValues
}

const MOST_AT_ONCE = 500

export type Entitlements = ReturnType<typeof createEntitlements>

export function createEntitlements(db: Kysely<Schema>, clock: Clock) {
  const rows = () =>
    db
      .selectFrom('entitlements')
      .leftJoin('users', (join) =>
        join.onRef('users.id', '=', 'entitlements.holder').on('entitlements.level', '=', 'user'),
      )
      .selectAll('entitlements')
      .select('users.username as username')
  const store: DefinitionStore<Entitlement> = {
    /** Ordered by id. `user` is an id or a name. */
    async list({ after = '', limit, filter = {} }: DefinitionPage = {}) {
      let query = rows().where('entitlements.id', '>', after).orderBy('entitlements.id')
      if (limit !== undefined) query = query.limit(limit)
      if (filter.product !== undefined) query = query.where('entitlements.product', '=', filter.product)
      if (filter.user !== undefined) {
        const { user } = filter
        query = query
          .where('entitlements.level', '=', 'user')
          .where((eb) => eb.or([eb('users.id', '=', user), eb('users.username_key', '=', usernameKey(user))]))
      }
      return (await query.execute()).map(toEntitlement)
    },

    async find(id) {
      const row = await rows().where('entitlements.id', '=', id).executeTakeFirst()
      return row && toEntitlement(row)
    },

    async put({ id, product, level, who, from, ...rest }) {
      const holder = level === 'user' ? await userId(who) : who
      const now = clock()
      const definition = JSON.stringify(rest)
      await db
        .insertInto('entitlements')
        .values({
          ...{ id, product, level, holder, definition },
          ...{ starts_at: from ?? null, ends_at: rest.until ?? null, created_at: now, updated_at: now },
        })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet({ definition, ends_at: rest.until ?? null, updated_at: now }),
        )
        .execute()
    },

    async remove(id) {
      await db.deleteFrom('entitlements').where('id', '=', id).execute()
    },
  }

  async function userId(name: string): Promise<string> {
    const key = usernameKey(name)
    const row = await db.selectFrom('users').select('id').where('username_key', '=', key).executeTakeFirst()
    if (row === undefined) throw new Error(`There is no user ${name}`)
    return row.id
  }

  return {
    ...store,

    async removeProduct(product: string): Promise<void> {
      await db.deleteFrom('entitlements').where('product', '=', product).execute()
    },

    /** Ends of the access of users by name, and of their trials, after `from` and up to `until`; at most `most`. */
    async ending(product: string, from: number, until: number, most: number): Promise<{ user: string; at: number }[]> {
      const [given, trials] = await Promise.all([
        db
          .selectFrom('entitlements')
          .select(['holder as user', 'ends_at as at'])
          .where('product', '=', product)
          .where('level', '=', 'user')
          .where('ends_at', '>', from)
          .where('ends_at', '<=', until)
          .orderBy('ends_at')
          .limit(most)
          .execute(),
        db
          .selectFrom('trials')
          .select(['user_id as user', 'ends_at as at'])
          .where('product', '=', product)
          .where('ends_at', '>', from)
          .where('ends_at', '<=', until)
          .orderBy('ends_at')
          .limit(most)
          .execute(),
      ])
      return [...given, ...trials].flatMap(({ user, at }) => (at === null ? [] : [{ user, at }]))
    },

    /** Whether a role, attribute or client is named; at most `most` of the products. */
    async productsFor(level: Level, holder: string, most: number): Promise<string[]> {
      const prefix = `${holder}=`
      const matches =
        level === 'attribute'
          ? sql<SqlBool>`substr(holder, 1, ${sql.lit(prefix.length)}) = ${prefix}`
          : sql<SqlBool>`holder = ${holder}`
      const found = await db
        .selectFrom('entitlements')
        .select('product')
        .distinct()
        .where('level', '=', level)
        .where(matches)
        .orderBy('product')
        .limit(most)
        .execute()
      return found.map(({ product }) => product)
    },

    /** All that may concern the holder, whatever the time, by the level. Of one product, or of all. */
    async heldBy(holder: Holder, product?: string): Promise<HeldEntitlement[]> {
      const names: [Level, string][] = [
        [holder.kind, holder.id],
        ...attributeHolders(holder.attributes).map((name): [Level, string] => ['attribute', name]),
        ...holder.roles.map((role): [Level, string] => ['role', role]),
      ]
      const held: HeldEntitlement[] = []
      for (let from = 0; from < names.length; from += MOST_AT_ONCE) {
        const some = names.slice(from, from + MOST_AT_ONCE)
        let query = db
          .selectFrom('entitlements')
          .selectAll()
          .where((eb) => eb.or(some.map(([level, name]) => eb.and([eb('level', '=', level), eb('holder', '=', name)]))))
        if (product !== undefined) query = query.where('product', '=', product)
        for (const { id, product: of, level, starts_at, definition } of await query.execute())
          held.push({ ...readDefinition(definition), id, product: of, level, from: starts_at ?? undefined })
      }
      return held
    },
  }
}

/** As they are stored. */
export function attributeHolders(attributes: AttributeValues): string[] {
  return Object.entries(attributes).flatMap(([name, values]) => values.map((value) => attributeHolder(name, value)))
}

export function attributeHolder(name: string, value: AttributeValue): string {
  return `${name}=${value}`
}

type Row = Selectable<Schema['entitlements']> & { readonly username: string | null }

function toEntitlement({ id, product, level, holder, username, starts_at, definition }: Row): Entitlement {
  const who = level === 'user' ? (username ?? holder) : holder
  return { ...readDefinition(definition), id, product, level, who, from: starts_at ?? undefined }
}

function readDefinition(definition: string): Pick<Entitlement, 'until' | 'access' | 'kind' | 'note' | 'value'> {
  return { until: undefined, ...JSON.parse(definition) }
}
