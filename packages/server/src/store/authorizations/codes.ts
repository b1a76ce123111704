/** Authorization codes: stored as digests, usable once (RFC 6749 §4.1.2). */

import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { ChallengeMethod } from '../clients/client-metadata.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newSecret } from '../keys/opaque.ts'

/** What a code is bound to, besides its grant. */
export interface CodeDetails {
  readonly redirectUri: string
  readonly nonce?: string | undefined
  /** `dpop_jkt`: the thumbprint of the key that redeems it (RFC 9449 §10). */
  readonly boundKey?: string | undefined
  readonly challenge?: { readonly method: ChallengeMethod; readonly value: string } | undefined
}

export type SpentCode = { readonly grantId: string; readonly details: CodeDetails } & (
  | { readonly outcome: 'fresh' }
  | { readonly outcome: 'expired' }
  /** Its grant was revoked before. */
  | { readonly outcome: 'revoked' }
  /** It was spent before: one of the two senders stole it. */
  | { readonly outcome: 'reused' }
)

export type Codes = ReturnType<typeof createCodes>

export function createCodes(db: Kysely<Schema>, clock: Clock) {
  // Reads the state of the grant in the same statement: a concurrent second use revokes the grant, and must be noticed.
  const spendOnce = prepare(db, ({ digest, now }: { digest: string; now: number }) =>
    db
      .updateTable('codes')
      .set({ spent_at: now })
      .where('digest', '=', digest)
      .where('spent_at', 'is', null)
      .returning((eb) => [
        'grant_id',
        'details',
        'expires_at',
        eb.selectFrom('grants').select('revoked_at').whereRef('grants.id', '=', 'codes.grant_id').as('revoked_at'),
      ]),
  )

  return {
    /** Returns the code itself, which is not stored. */
    async issue(grantId: string, details: CodeDetails, lifetimeMs: number): Promise<string> {
      const code = newSecret()
      await db
        .insertInto('codes')
        .values({
          digest: digestSecret(code),
          grant_id: grantId,
          details: JSON.stringify(details),
          expires_at: clock() + lifetimeMs,
          spent_at: null,
        })
        .execute()
      return code
    },

    /** Undefined for a code that was never issued, or has been pruned. */
    async spend(code: string): Promise<SpentCode | undefined> {
      const digest = digestSecret(code)
      const now = clock()
      const [spent] = await spendOnce({ digest, now })
      if (spent !== undefined) return describe(spent, spendOutcome(spent, now))
      const known = await db.selectFrom('codes').selectAll().where('digest', '=', digest).executeTakeFirst()
      return known === undefined ? undefined : describe(known, 'reused')
    },

    /** Makes a code usable again, until `until` at least, when spending it did not lead to a token. */
    async restore(code: string, until: number): Promise<void> {
      await db
        .updateTable('codes')
        .set((eb) => ({
          spent_at: null,
          expires_at: eb.case().when('expires_at', '<', until).then(until).else(eb.ref('expires_at')).end(),
        }))
        .where('digest', '=', digestSecret(code))
        .execute()
    },
  }
}

function spendOutcome(
  spent: { expires_at: number; revoked_at: number | null },
  now: number,
): 'fresh' | 'expired' | 'revoked' {
  if (spent.expires_at <= now) return 'expired'
  return spent.revoked_at === null ? 'fresh' : 'revoked'
}

function describe(row: { grant_id: string; details: string }, outcome: SpentCode['outcome']): SpentCode {
  return { grantId: row.grant_id, details: JSON.parse(row.details), outcome }
}
