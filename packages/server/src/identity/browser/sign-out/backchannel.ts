/** OpenID Connect Back-Channel Logout: sends logout tokens to the clients of an ended session, in parallel and with short timeouts. */
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { nodeHttp, nodeHttps } from '../../../http/node-http.ts'
import type { ClientDirectory } from '../../clients/client-directory.ts'
import type { Issuer } from '../../tokens/issuer.ts'
import { isPublicAddress } from '../public-address.ts'

export interface LogoutNotice {
  readonly sessionId: string
  readonly userId: string
  readonly clientIds: readonly string[]
}

export interface BackchannelOptions {
  readonly clients: Pick<ClientDirectory, 'find'>
  readonly issuer: Pick<Issuer, 'logoutToken'>
  /** Allows private and loopback addresses, and http to them. */
  readonly allowPrivate: boolean
  readonly onFailure: (clientId: string, reason: string) => void
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve
}

/** All addresses of a host name, as node:dns returns them. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const TIMEOUT_MS = 5000
const MOST_ANSWER_BYTES = 16 * 1024
const AT_ONCE = 20

export function createBackchannel(options: BackchannelOptions) {
  const { clients, issuer, allowPrivate, onFailure, resolve = lookup } = options
  const lookUp = lookupBy(resolve, allowPrivate ? () => true : isPublicAddress)
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
      for (const clientId of ended.clientIds) waiting.push(() => tellOne(ended, clientId))
      pump()
    },
    /** Resolves when all deliveries are finished. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running)
    },
  }

  async function tellOne({ userId, sessionId }: LogoutNotice, clientId: string): Promise<void> {
    try {
      const client = await clients.find(clientId)
      if (client?.backchannelLogoutUri === undefined || client.disabled) return
      await post(client.backchannelLogoutUri, await issuer.logoutToken(client, userId, sessionId))
    } catch (error) {
      onFailure(clientId, error instanceof Error ? error.message : String(error))
    }
  }

  function post(uri: string, logoutToken: string): Promise<void> {
    const url = new URL(uri)
    if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
      throw new Error('The address is not https')
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host)) throw new Error('The address is private')
    const body = `logout_token=${encodeURIComponent(logoutToken)}`
    return new Promise((done, reject) => {
      const request = (url.protocol === 'https:' ? nodeHttps : nodeHttp).request(url, {
        method: 'POST',
        agent: false,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        lookup: lookUp,
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) },
      })
      request.once('error', reject)
      request.once('response', (response) => {
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MOST_ANSWER_BYTES) response.destroy(new Error('The answer is too long'))
        })
        response.once('error', reject)
        response.once('close', () => {
          const { statusCode = 0 } = response
          // Redirects are not followed.
          if (statusCode === 200 || statusCode === 204) done()
          else reject(new Error(`The client answered ${statusCode}`))
        })
      })
      request.end(body)
    })
  }
}

/** Checks the address of the connection itself, which defeats DNS rebinding. */
function lookupBy(resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 4)
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address)))
        return callback(new Error(`${hostname} has a private address`), '', 4)
      if (options.all === true) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}
