/** One HTTP request to an address that somebody registered: https and public addresses only, no redirects, bounded in time and size. */
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from '../../lib/public-address.ts'
import { nodeHttp, nodeHttps } from '../node-http.ts'

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Allows private and loopback addresses, and http. */
  readonly allowPrivate: boolean
  /** The longest body of a reply. */
  readonly mostBytes: number
  /** For the whole exchange: name look-up, connection, reply and its body. */
  readonly timeoutMs?: number
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve | undefined
}

/** A whole reply. Redirects are replies like any other: nothing here follows them. */
export interface GuardedReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** All addresses of a host name, as node:dns returns them. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const TIMEOUT_MS = 5000

/** Rejects if there is no whole reply, for whatever reason; the message says why. */
export async function guardedRequest(uri: string, options: GuardedRequest): Promise<GuardedReply> {
  const { method = 'GET', body, allowPrivate, mostBytes, timeoutMs = TIMEOUT_MS, resolve = lookup } = options
  const url = new URL(uri)
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    throw new Error('The address is not https')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host)) throw new Error('The address is private')
  return new Promise((done, reject) => {
    const request = (url.protocol === 'https:' ? nodeHttps : nodeHttp).request(url, {
      method,
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      lookup: lookupBy(resolve, allowPrivate ? () => true : isPublicAddress),
      headers: {
        'accept-encoding': 'identity',
        ...options.headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
    })
    const fail = (error: Error): void => reject(error.name === 'AbortError' ? new Error('No answer in time') : error)
    // Not once: a later error without a listener would end the process.
    request.on('error', fail)
    // For example after an upgrade that was not asked for.
    request.once('close', () => reject(new Error('The connection was closed before the end of an answer')))
    request.once('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > mostBytes) response.destroy(new Error('The answer is too long'))
        else chunks.push(chunk)
      })
      response.on('error', fail)
      response.once('end', () =>
        done({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    request.end(body)
  })
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
