/** The browsers of users that get notices by push, and the key of this installation by which push services know it. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { newId, seal, unseal } from '../keys/opaque.ts'

export interface PushSubscription {
  readonly id: string
  readonly userId: string
  readonly endpoint: string
  /** Both in base64url. */
  readonly p256dh: string
  readonly auth: string
  /** The name of the browser. */
  readonly label: string
  readonly createdAt: number
}

export const MOST_PUSH_SUBSCRIPTIONS = 10
const PURPOSE = 'key for web push'
const KEY_ID = 'vapid'

export type PushSubscriptions = ReturnType<typeof createPushSubscriptions>

export function createPushSubscriptions(db: Kysely<Schema>, clock: Clock) {
  return {
    async listOf(userId: string): Promise<PushSubscription[]> {
      const rows = await db
        .selectFrom('push_subscriptions')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('created_at')
        .execute()
      return rows.map(({ id, user_id, endpoint, p256dh, auth, label, created_at }) => ({
        ...{ id, userId: user_id, endpoint, p256dh, auth, label },
        createdAt: Number(created_at),
      }))
    },

    /** One for each browser: the endpoint is a capability, which moves to whom it is given last. */
    async put(subscription: Omit<PushSubscription, 'id' | 'createdAt'>): Promise<PushSubscription> {
      const { userId, endpoint, p256dh, auth, label } = subscription
      await db.deleteFrom('push_subscriptions').where('endpoint', '=', endpoint).execute()
      const made = { id: newId(), createdAt: clock() }
      await db
        .insertInto('push_subscriptions')
        .values({ id: made.id, user_id: userId, endpoint, p256dh, auth, label, created_at: made.createdAt })
        .execute()
      return { ...subscription, ...made }
    },

    /** False if the user has no such subscription; of anybody without a user. */
    async remove(id: string, userId?: string): Promise<boolean> {
      let query = db.deleteFrom('push_subscriptions').where('id', '=', id)
      if (userId !== undefined) query = query.where('user_id', '=', userId)
      return (await query.returning('id').executeTakeFirst()) !== undefined
    },

    /** One for all nodes, made when it is first needed. */
    async vapidKey(sealingKey: Buffer): Promise<KeyObject> {
      for (;;) {
        const row = await db.selectFrom('push_keys').select('sealed').where('id', '=', KEY_ID).executeTakeFirst()
        if (row !== undefined)
          return createPrivateKey({ key: unseal(row.sealed, sealingKey, PURPOSE), format: 'der', type: 'pkcs8' })
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        const sealed = seal(privateKey.export({ format: 'der', type: 'pkcs8' }), sealingKey, PURPOSE)
        // Another node may have been faster: the stored one counts.
        await db
          .insertInto('push_keys')
          .values({ id: KEY_ID, sealed, created_at: clock() })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute()
      }
    },
  }
}
