/** OpenID Connect Back-Channel Logout: sends logout tokens to the clients of an ended session, in parallel and with short timeouts. */
import { guardedRequest, type Resolve } from '../../../http/outgoing/guarded-request.ts'
import type { Client } from '../../../store/clients/client-metadata.ts'
import type { Issuer } from '../../tokens/issuer.ts'

export interface LogoutNotice {
  readonly sessionId: string
  readonly userId: string
  readonly clients: readonly Client[]
}

export interface BackchannelOptions {
  readonly issuer: Pick<Issuer, 'logoutToken'>
  /** Allows private and loopback addresses, and http to them. */
  readonly allowPrivate: boolean
  readonly onFailure: (clientId: string, reason: string) => void
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve
}

const MOST_ANSWER_BYTES = 16 * 1024
const AT_ONCE = 20

export function createBackchannel(options: BackchannelOptions) {
  const { issuer, allowPrivate, onFailure, resolve } = options
  const waiting: (() => Promise<void>)[] = []
  const running = new Set<Promise<void>>()

  function pump(): void {
    while (running.size < AT_ONCE) {
      const work = waiting.shift()
      if (work === undefined) return
      const run = work().finally(() => {
        running.delete(run)
        pump()
      })
      running.add(run)
    }
  }

  return {
    /** Returns at once: a client that does not answer does not delay the sign-out. */
    tell(ended: LogoutNotice): void {
      for (const client of ended.clients) waiting.push(() => tellOne(ended, client))
      pump()
    },
    /** Resolves when all deliveries are finished. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running)
    },
  }

  async function tellOne({ userId, sessionId }: LogoutNotice, client: Client): Promise<void> {
    if (client.backchannelLogoutUri === undefined || client.disabled) return
    try {
      await post(client.backchannelLogoutUri, await issuer.logoutToken(client, userId, sessionId))
    } catch (error) {
      onFailure(client.id, error instanceof Error ? error.message : String(error))
    }
  }

  async function post(uri: string, logoutToken: string): Promise<void> {
    const { status } = await guardedRequest(uri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `logout_token=${encodeURIComponent(logoutToken)}`,
      allowPrivate,
      mostBytes: MOST_ANSWER_BYTES,
      resolve,
    })
    if (status !== 200 && status !== 204) throw new Error(`The client answered ${status}`)
  }
}
