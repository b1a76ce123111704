/** Ends a browser session everywhere: its row, its tokens on every node, and the applications that want to be told. */
import type { Session } from '../../store/sessions.ts'
import type { BrowserEnv } from './env.ts'

export type EndSessionEnv = Pick<BrowserEnv, 'sessions' | 'takeBack' | 'audit' | 'logouts'>

export interface EndedSession {
  readonly session: Session
  /** The clients that the person used in it. */
  readonly clientIds: readonly string[]
}

/** Undefined when it had ended before. */
export async function endSession(id: string, reason: string, env: EndSessionEnv): Promise<EndedSession | undefined> {
  const session = await env.sessions.end(id)
  if (session === undefined) return undefined
  await env.takeBack.session(id)
  const clientIds = await env.sessions.listClients(id)
  env.logouts.tell(session, clientIds)
  const actor = session.userId
  if (reason === 'signed out')
    env.audit.record({ event: 'signout.succeeded', actor, details: { session: id, clients: clientIds } })
  else env.audit.record({ event: 'session.ended', actor, details: { session: id, reason } })
  return { session, clientIds }
}

/** For a changed password or a user who was disabled: every session but the one that is kept. */
export async function endSessionsOf(
  userId: string,
  keptId: string | undefined,
  reason: string,
  env: EndSessionEnv,
): Promise<void> {
  for (const { id } of await env.sessions.listOfUser(userId)) {
    if (id !== keptId) await endSession(id, reason, env)
  }
}

/** Sessions end by themselves too, and their applications hear of it. */
export async function endExpiredSessions(env: EndSessionEnv): Promise<void> {
  for (const { id } of await env.sessions.listExpired()) await endSession(id, 'expired', env)
}
