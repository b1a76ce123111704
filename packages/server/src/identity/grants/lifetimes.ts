/** How long tokens and grants live. */
import type { ApiRegistry } from '../apis/registry.ts'
import { isForAgents } from '../apis/targets.ts'

export interface TokenLifetimes {
  readonly accessTokenMs: number
  /** Lifetime of a grant with offline access, however often it is refreshed. */
  readonly refreshMs: number
  /** How long an unused refresh token lives. */
  readonly idleMs: number
  /** How long after its rotation a refresh token may be sent again. */
  readonly graceMs: number
}

/** How long an agent that is not used stays connected. */
export const AGENT_IDLE_MS = 14 * 24 * 60 * 60_000

export interface LifetimesEnv {
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly lifetimes: TokenLifetimes
}

/** The lifetimes of a grant for these audiences. */
export function chooseLifetimes(
  audiences: readonly string[] | undefined,
  { apis, lifetimes }: LifetimesEnv,
): TokenLifetimes {
  const known = apis.known()
  if (known.agents === undefined || !isForAgents(audiences, known)) return lifetimes
  return { ...lifetimes, refreshMs: known.agents.grantMs, idleMs: AGENT_IDLE_MS }
}
