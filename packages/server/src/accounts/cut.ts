/** The end of a user's sessions and tokens, in the transaction that is the reason for it. */
import type { Inside } from './inside.ts'

/** Ends these sessions with their tokens; their clients are notified. Those that have ended already are left out. */
export async function endSessions(
  ids: readonly string[],
  reason: string,
  { stores, author, record, revocations }: Inside,
): Promise<void> {
  for (const id of ids) {
    const session = await stores.sessions.end(id)
    if (session === undefined) continue
    await revocations.revokeSession(id)
    recordEnd(id, session.userId, reason, { author, record })
  }
}

/** For a user who is disabled or deleted, or has a new password: ends every session, and revokes every grant and token. */
export async function cutUser(
  userId: string,
  reason: string,
  { stores, author, record, revocations, revokeTokens }: Inside,
): Promise<void> {
  for (const { id } of await stores.sessions.endAllForUser(userId)) {
    await revocations.revokeSession(id)
    recordEnd(id, userId, reason, { author, record })
  }
  revokeTokens(userId)
}

function recordEnd(
  session: string,
  userId: string,
  reason: string,
  { author: { actor }, record }: Pick<Inside, 'author' | 'record'>,
): void {
  const target = actor === userId ? {} : { target: userId }
  record({ event: 'session.ended', ...target, details: { session, reason } })
}
