/** Ends browser sessions: the row, and the event by which tokens die on every node and applications are told. */
import type { Session } from '../../store/sessions.ts'
import type { BrowserEnv } from './env.ts'

export type EndSessionEnv = Pick<BrowserEnv, 'sessions' | 'takeBack' | 'audit'>

export interface EndedSession {
  readonly session: Session
  /** The clients that the person used in it. */
  readonly clientIds: readonly string[]
}

/** Undefined when it had ended before. */
export async function endSession(id: string, reason: string, env: EndSessionEnv): Promise<EndedSession | undefined> {
  const session = await env.sessions.end(id)
  if (session === undefined) return undefined
  const clientIds = await env.sessions.listClients(id)
  await env.takeBack.session(id)
  const actor = session.userId
  if (reason === 'signed out')
    env.audit.record({ event: 'signout.succeeded', actor, details: { session: id, clients: clientIds } })
  else env.audit.record({ event: 'session.ended', actor, details: { session: id, reason } })
  return { session, clientIds }
}

export async function endSessionsOf(
  userId: string,
  reason: string,
  env: EndSessionEnv,
  which: (session: Session) => boolean = () => true,
): Promise<void> {
  for (const session of await env.sessions.listOfUser(userId)) {
    if (which(session)) await endSession(session.id, reason, env)
  }
}

/** Sessions end by themselves too, and their applications hear of it. */
export async function endExpiredSessions(env: EndSessionEnv): Promise<void> {
  for (const { id } of await env.sessions.listExpired()) await endSession(id, 'expired', env)
}
