/** Ends browser sessions, with the event that revokes their tokens on every node and notifies clients. */
import type { RevocationsInside } from '../../../store/authorizations/revocations.ts'
import type { Session } from '../../../store/authorizations/sessions.ts'
import type { Stores } from '../../../store/stores.ts'
import type { BrowserEnv } from '../env.ts'

export type EndSessionEnv = Pick<BrowserEnv, 'sessions' | 'revocations' | 'audit'>

export interface EndedSession {
  readonly session: Session
  /** The clients used in the session. */
  readonly clientIds: readonly string[]
}

/** Undefined when it had already ended. `by` is the user who ended it; absent if no user did, or it is not known who. */
export async function endSession(
  id: string,
  reason: string,
  env: EndSessionEnv,
  by?: string,
): Promise<EndedSession | undefined> {
  const ended = await env.revocations.inTransaction((revocations, stores) => endInside(id, revocations, stores))
  if (ended !== undefined) recordEnd(ended, reason, env, by)
  return ended
}

/** As a part of a transaction. The caller records it once that is committed. */
export async function endInside(
  id: string,
  revocations: RevocationsInside,
  { sessions }: Pick<Stores, 'sessions'>,
): Promise<EndedSession | undefined> {
  const session = await sessions.end(id)
  if (session === undefined) return undefined
  const clientIds = await sessions.listClients(id)
  await revocations.revokeSession(id)
  return { session, clientIds }
}

export function recordEnd(
  ended: EndedSession,
  reason: string,
  env: Pick<EndSessionEnv, 'audit'>,
  by?: string | undefined,
): void {
  const { id, userId } = ended.session
  const details = { session: id, reason }
  if (reason === 'signed out')
    env.audit.record({ event: 'signout.succeeded', actor: userId, details: { session: id, clients: ended.clientIds } })
  else if (by === userId) env.audit.record({ event: 'session.ended', actor: userId, details })
  else env.audit.record({ event: 'session.ended', actor: by, target: userId, details })
}

/** By the user. */
export async function endUserSessions(
  userId: string,
  reason: string,
  env: EndSessionEnv,
  which: (session: Session) => boolean = () => true,
): Promise<void> {
  for (const session of await env.sessions.listOfUser(userId)) {
    if (which(session)) await endSession(session.id, reason, env, userId)
  }
}

const BATCH = 500
const AT_ONCE = 20
/** The most batches in one pass, so that many expired sessions do not block the server. */
const MOST_BATCHES = 40

/** Ends expired sessions; their clients are notified. */
export async function endExpiredSessions(
  env: EndSessionEnv,
  isClosing: () => boolean = () => false,
  batchSize = BATCH,
): Promise<void> {
  for (let count = 0; count < MOST_BATCHES; count++) {
    const batch = await env.sessions.listExpired(batchSize)
    for (let from = 0; from < batch.length; from += AT_ONCE) {
      if (isClosing()) return
      await Promise.all(batch.slice(from, from + AT_ONCE).map(({ id }) => endSession(id, 'expired', env)))
    }
    if (batch.length < batchSize) return
  }
}
