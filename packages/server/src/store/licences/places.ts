/** Places: the sign-ins and programs that use a product now. Their number is bounded for each user or client and product. */
import { createHash } from 'node:crypto'
import { type ExpressionBuilder, type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { Engine } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'

export type Place = Selectable<Schema['licence_places']>

export interface PlacePage {
  readonly after: Pick<Place, 'product' | 'holder' | 'place'> | undefined
  readonly limit: number
  readonly product: string | undefined
  readonly holder: string | undefined
  /** Milliseconds: those that have lapsed are left out. */
  readonly now: number
}

const MOST_AT_ONCE = 500

export type Places = ReturnType<typeof createPlaces>

/** In a transaction. */
export function createPlaces(db: Kysely<Schema>) {
  const places = () => db.selectFrom('licence_places').selectAll()
  return {
    /** Of one holder, the oldest first. Until the transaction ends nobody else changes or ends them: what was ended is not put back. */
    async lockOfHolder(engine: Engine, product: string, holder: string): Promise<Place[]> {
      const query = places().where('product', '=', product).where('holder', '=', holder).orderBy('place')
      const held = await (engine === 'postgres' ? query.forUpdate() : query).execute()
      return held.sort((one, other) => one.taken_at - other.taken_at)
    },

    /** Of all products, the oldest first. */
    heldBy: (holder: string, now: number): Promise<Place[]> =>
      places()
        .where('holder', '=', holder)
        .where('expires_at', '>', now)
        .orderBy('taken_at')
        .orderBy('product')
        .execute(),

    /** One page, ordered by product, holder and place. */
    list({ after, limit, product, holder, now }: PlacePage): Promise<Place[]> {
      let query = places().where('expires_at', '>', now)
      if (product !== undefined) query = query.where('product', '=', product)
      if (holder !== undefined) query = query.where('holder', '=', holder)
      if (after !== undefined)
        query = query.where((eb) =>
          eb.or([
            eb('product', '>', after.product),
            eb.and([eb('product', '=', after.product), eb('holder', '>', after.holder)]),
            eb.and([eb('product', '=', after.product), eb('holder', '=', after.holder), eb('place', '>', after.place)]),
          ]),
        )
      return query.orderBy('product').orderBy('holder').orderBy('place').limit(limit).execute()
    },

    all: (most: number): Promise<Place[]> => places().orderBy('product').orderBy('holder').limit(most).execute(),

    async put(place: Place): Promise<void> {
      const { access, session, displaced, taken_at, expires_at, nodes } = place
      await db
        .insertInto('licence_places')
        .values(place)
        .onConflict((conflict) =>
          conflict
            .columns(['product', 'holder', 'place'])
            .doUpdateSet({ access, session, displaced, taken_at, expires_at, nodes }),
        )
        .execute()
    },

    /** Those that are still there. */
    async renew(sessions: readonly string[], until: number): Promise<Pick<Place, 'session' | 'displaced'>[]> {
      const renewed: Pick<Place, 'session' | 'displaced'>[] = []
      for (let from = 0; from < sessions.length; from += MOST_AT_ONCE)
        renewed.push(
          ...(await db
            .updateTable('licence_places')
            .set({ expires_at: until })
            .where('session', 'in', sessions.slice(from, from + MOST_AT_ONCE))
            .returning(['session', 'displaced'])
            .execute()),
        )
      return renewed
    },

    /** Resolves if the database answers. */
    async check(): Promise<void> {
      await db.selectFrom('licence_places').select('session').limit(1).execute()
    },

    /** False if another has removed it. */
    async remove({ product, holder, place, session }: Place): Promise<boolean> {
      const removed = await db
        .deleteFrom('licence_places')
        .where('product', '=', product)
        .where('holder', '=', holder)
        .where('place', '=', place)
        .where('session', '=', session)
        .returning('session')
        .executeTakeFirst()
      return removed !== undefined
    },

    /** Those that were not used again in time. */
    async removeLapsed(engine: Engine, now: number): Promise<Place[]> {
      const lapsed = (eb: ExpressionBuilder<Schema, 'licence_places'>) => eb('expires_at', '<=', now)
      const removal = db.deleteFrom('licence_places').where(lapsed)
      // Those that are being renewed have not lapsed, or are removed the next time.
      const free = db.selectFrom('licence_places').select('session').where(lapsed).forUpdate().skipLocked()
      return (engine === 'postgres' ? removal.where('session', 'in', free) : removal).returningAll().execute()
    },
  }
}

/** One at a time takes a place of the holder and product, on all nodes, until the transaction ends. */
export async function lockPlaces(
  engine: Engine,
  tx: Transaction<Schema>,
  product: string,
  holder: string,
): Promise<void> {
  // On SQLite a transaction is the only writer anyway.
  if (engine !== 'postgres') return
  const key = createHash('sha256').update(`places\0${product}\0${holder}`).digest().readBigInt64BE()
  await sql`select pg_advisory_xact_lock(${key.toString()}::bigint)`.execute(tx)
}
