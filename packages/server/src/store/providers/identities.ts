/** Identities that users have at other providers: an issuer and a subject belong to one user (OpenID Connect Core §5.7). */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { newId } from '../keys/opaque.ts'

export interface Identity {
  readonly id: string
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  readonly userId: string
  /** What the person recognises it by, such as an e-mail address; never used to find anybody. */
  readonly label: string
  readonly createdAt: number
  readonly usedAt: number
}

export type NewIdentity = Pick<Identity, 'provider' | 'issuer' | 'subject' | 'userId' | 'label'>
export type Identities = ReturnType<typeof createIdentities>

export function createIdentities(db: Kysely<Schema>, clock: Clock) {
  const rows = () => db.selectFrom('identities').selectAll()
  return {
    async find(issuer: string, subject: string): Promise<Identity | undefined> {
      const row = await rows().where('issuer', '=', issuer).where('subject', '=', subject).executeTakeFirst()
      return row && readRow(row)
    },

    async listOfUser(userId: string): Promise<Identity[]> {
      const found = await rows().where('user_id', '=', userId).orderBy('created_at').orderBy('id').execute()
      return found.map(readRow)
    },

    /** Undefined if the identity is linked to any user already: of concurrent requests one succeeds. */
    async add(identity: NewIdentity): Promise<Identity | undefined> {
      const now = clock()
      const row = await db
        .insertInto('identities')
        .values({
          id: newId(),
          provider: identity.provider,
          issuer: identity.issuer,
          subject: identity.subject,
          user_id: identity.userId,
          label: identity.label.slice(0, LONGEST_LABEL),
          created_at: now,
          used_at: now,
        })
        .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
        .returningAll()
        .executeTakeFirst()
      return row && readRow(row)
    },

    async markUsed(id: string): Promise<void> {
      await db.updateTable('identities').set({ used_at: clock() }).where('id', '=', id).execute()
    },

    /** Undefined if the user has no such identity. */
    async remove(userId: string, id: string): Promise<Identity | undefined> {
      const row = await db
        .deleteFrom('identities')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .returningAll()
        .executeTakeFirst()
      return row && readRow(row)
    },
  }
}

const LONGEST_LABEL = 200

function readRow(row: Selectable<Schema['identities']>): Identity {
  return {
    id: row.id,
    provider: row.provider,
    issuer: row.issuer,
    subject: row.subject,
    userId: row.user_id,
    label: row.label,
    createdAt: row.created_at,
    usedAt: row.used_at,
  }
}
