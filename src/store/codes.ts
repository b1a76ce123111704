/** Authorization codes: kept as digests, spent once (RFC 6749 §4.1.2). */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import type { ChallengeMethod } from './client-metadata.ts'
import { digestOf, newSecret } from './opaque.ts'
import { prepare } from './prepared.ts'
import type { Schema } from './schema.ts'

/** What a code is bound to beside its grant. */
export interface CodeDetails {
  readonly redirectUri: string
  readonly nonce?: string | undefined
  readonly challenge?: { readonly method: ChallengeMethod; readonly value: string } | undefined
}

export type SpentCode = { readonly grantId: string; readonly details: CodeDetails } & (
  | { readonly outcome: 'fresh' }
  | { readonly outcome: 'expired' }
  /** Its grant had been revoked before. */
  | { readonly outcome: 'revoked' }
  /** It was spent before: whoever presents it now, or did then, stole it. */
  | { readonly outcome: 'reused' }
)

export type Codes = ReturnType<typeof createCodes>

export function createCodes(db: Kysely<Schema>, clock: Clock) {
  // With the state of the grant at that very moment: whoever spends the code again revokes it, and is not to undo that another was first.
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
    /** Returns the code itself, which is stored nowhere. */
    async issue(grantId: string, details: CodeDetails, lifetimeMs: number): Promise<string> {
      const code = newSecret()
      await db
        .insertInto('codes')
        .values({
          digest: digestOf(code),
          grant_id: grantId,
          details: JSON.stringify(details),
          expires_at: clock() + lifetimeMs,
          spent_at: null,
        })
        .execute()
      return code
    },

    /** Undefined for a code that was never issued, or so long ago that it is forgotten. */
    async spend(code: string): Promise<SpentCode | undefined> {
      const digest = digestOf(code)
      const now = clock()
      const [spent] = await spendOnce({ digest, now })
      if (spent !== undefined) return describe(spent, outcomeOf(spent, now))
      const known = await db.selectFrom('codes').selectAll().where('digest', '=', digest).executeTakeFirst()
      return known === undefined ? undefined : describe(known, 'reused')
    },

    /** For who spent it and got nothing for it: good once more, at least until then. */
    async giveBack(code: string, until: number): Promise<void> {
      await db
        .updateTable('codes')
        .set((eb) => ({
          spent_at: null,
          expires_at: eb.case().when('expires_at', '<', until).then(until).else(eb.ref('expires_at')).end(),
        }))
        .where('digest', '=', digestOf(code))
        .execute()
    },
  }
}

function outcomeOf(
  spent: { expires_at: number; revoked_at: number | null },
  now: number,
): 'fresh' | 'expired' | 'revoked' {
  if (spent.expires_at <= now) return 'expired'
  return spent.revoked_at === null ? 'fresh' : 'revoked'
}

function describe(row: { grant_id: string; details: string }, outcome: SpentCode['outcome']): SpentCode {
  return { grantId: row.grant_id, details: JSON.parse(row.details), outcome }
}
