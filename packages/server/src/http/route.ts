/** What a route is: a row of a table, served by the pipeline. Route groups share limits, headers and error replies. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Authenticate, Principal } from 'gatehouse-protocol'
import type { Context, HeaderFields } from './context.ts'
import type { CorsPolicy } from './cors.ts'
import type { LimitGroup } from './limits/rate-limits.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Route {
  readonly method: Method
  /** Case-insensitive; a segment that begins with a colon is a parameter, and the last one, if it ends in `*`, the rest of the path. */
  readonly path: string
  /** Absent where the route takes no body. */
  readonly body?: BodyRule
  /** Throws unless the caller may use the route; present where an access token is needed. */
  readonly access?: (principal: Principal, context: Context) => void
  /** Requested by machines every few seconds: successful requests are logged at debug. */
  readonly isProbe?: true
  /** Answers HEAD where `handle` would have effects; otherwise HEAD is GET without a body (RFC 9110 §9.3.2). */
  readonly head?: (context: Context) => void
  /** Replies, now or later; anything it throws becomes an error reply. */
  readonly handle: (context: Context) => void | Promise<void>
  /** Takes over the connection of a WebSocket upgrade (RFC 6455 §4.2); throws to refuse it. */
  readonly upgrade?: (context: Context, upgrade: Upgrade) => void | Promise<void>
}

export interface BodyRule {
  readonly limit: number
  /** Whether the handler reads the body itself, as it arrives. */
  readonly isStreamed?: (context: Context) => boolean
  /** Media types; absent where the handler itself decides. */
  readonly types?: readonly string[]
}

export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

export interface RouteGroup {
  /** Path prefixes of the group. Unmatched paths below them belong to it too. */
  readonly at: readonly string[]
  /** Whose rate limits requests are counted against; absent where they are not limited. */
  readonly limit?: LimitGroup
  /** On every reply of the group, errors included. */
  readonly headers?: HeaderFields
  readonly cors?: CorsPolicy
  /** A DPoP proof is accepted once on all nodes, instead of once on each. */
  readonly sharesProofs?: true
  /** Answered even while the server refuses other requests. */
  readonly isProbe?: true
  /** Reads tokens that are valid in this group only; the server's own way where absent. */
  readonly authenticate?: Authenticate
  /** Writes error replies; problem documents (RFC 9457) where absent. */
  readonly fail?: (context: Context, error: unknown) => void
  readonly routes: readonly Route[]
  /** Serves GET below the prefixes where no route matches; its path is only a label. */
  readonly fallback?: Route
}

/** Route groups that are loaded by the first request below their paths, so that no start waits for them. */
export interface LazyRouteGroups {
  readonly at: readonly string[]
  readonly limit?: LimitGroup
  readonly load: () => Promise<readonly RouteGroup[]>
}
