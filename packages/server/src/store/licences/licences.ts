/** What is stored of market-data licences. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { createEntitlements } from './entitlements.ts'
import { createProducts } from './products.ts'

export interface Acceptance {
  readonly agreement: string
  /** The id of the user or client. */
  readonly holder: string
  readonly version: string
  /** SHA-256 of the text, in hexadecimal. */
  readonly digest: string
  readonly language: string
  readonly address: string | undefined
  /** Of the operator who recorded it. */
  readonly note: string | undefined
  /** Milliseconds. */
  readonly at: number
}

export interface LicenceStatus {
  readonly professional: boolean
  readonly setBy: 'user' | 'operator'
}

export interface Trial {
  readonly product: string
  /** Milliseconds. */
  readonly from: number
  readonly until: number
}

export type Licences = ReturnType<typeof createLicences>

export function createLicences(db: Kysely<Schema>, clock: Clock) {
  return {
    ...createProducts(db, clock),
    entitlements: createEntitlements(db, clock),

    async acceptances(holder: string): Promise<Acceptance[]> {
      const rows = await db.selectFrom('acceptances').selectAll().where('holder', '=', holder).execute()
      return rows.map(({ accepted_at: at, address, note, ...rest }) => ({
        ...rest,
        address: address ?? undefined,
        note: note ?? undefined,
        at,
      }))
    },

    /** False if it was accepted before; the first acceptance stays. */
    async accept({ at, address, note, ...rest }: Acceptance): Promise<boolean> {
      const made = await db
        .insertInto('acceptances')
        .values({ ...rest, address: address ?? null, note: note ?? null, accepted_at: at })
        .onConflict((conflict) => conflict.columns(['holder', 'agreement', 'version']).doNothing())
        .returning('holder')
        .executeTakeFirst()
      return made !== undefined
    },

    async status(userId: string): Promise<LicenceStatus | undefined> {
      const row = await db.selectFrom('licence_statuses').selectAll().where('user_id', '=', userId).executeTakeFirst()
      return row && { professional: row.professional === 1, setBy: row.set_by }
    },

    /** What an operator has set a user cannot change: false. */
    async setStatus(userId: string, { professional, setBy }: LicenceStatus): Promise<boolean> {
      const values = { professional: Number(professional), set_by: setBy, updated_at: clock() }
      const written = await db
        .insertInto('licence_statuses')
        .values({ user_id: userId, ...values })
        .onConflict((conflict) => {
          const update = conflict.column('user_id').doUpdateSet(values)
          return setBy === 'operator' ? update : update.where('licence_statuses.set_by', '=', 'user')
        })
        .returning('user_id')
        .executeTakeFirst()
      return written !== undefined
    },

    /** The user may declare it again. */
    async forgetStatus(userId: string): Promise<void> {
      await db.deleteFrom('licence_statuses').where('user_id', '=', userId).execute()
    },

    async trials(userId: string): Promise<Trial[]> {
      const rows = await db.selectFrom('trials').selectAll().where('user_id', '=', userId).execute()
      return rows.map(({ product, starts_at: from, ends_at: until }) => ({ product, from, until }))
    },

    /** False if the user was told before. */
    async warn(userId: string, product: string, endsAt: number): Promise<boolean> {
      const made = await db
        .insertInto('licence_warnings')
        .values({ user_id: userId, product, ends_at: endsAt })
        .onConflict((conflict) => conflict.columns(['user_id', 'product', 'ends_at']).doNothing())
        .returning('product')
        .executeTakeFirst()
      return made !== undefined
    },

    /** Those that have ended before. */
    async forgetWarnings(before: number): Promise<void> {
      await db.deleteFrom('licence_warnings').where('ends_at', '<', before).execute()
    },

    /** How many sign-ins and programs use each product now. */
    async countPlaces(): Promise<{ product: string; access: 'delayed' | 'realtime'; count: number }[]> {
      const rows = await db
        .selectFrom('licence_places')
        .select(['product', 'access', (eb) => eb.fn.countAll().as('count')])
        .groupBy(['product', 'access'])
        .execute()
      return rows.map(({ count, ...rest }) => ({ ...rest, count: Number(count) }))
    },

    /** False if the user has had one. */
    async beginTrial(userId: string, { product, from, until }: Trial): Promise<boolean> {
      const made = await db
        .insertInto('trials')
        .values({ user_id: userId, product, starts_at: from, ends_at: until })
        .onConflict((conflict) => conflict.columns(['user_id', 'product']).doNothing())
        .returning('product')
        .executeTakeFirst()
      return made !== undefined
    },
  }
}
