/** The definitions of APIs: programs of the operator that take access tokens of this server, and the scopes of each. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { createDefinitions } from '../database/definitions.ts'
import type { Schema } from '../database/schema.ts'

export interface Api {
  /** The `aud` of its tokens and the `resource` of requests (RFC 8707), compared by character; or `platform`, which gains these scopes. */
  readonly resource: string
  readonly name: string
  /** Seconds; undefined for the lifetime of the client or the server. */
  readonly accessTokenLifetime: number | undefined
  /** Claims about the user that its access tokens have besides those of RFC 9068. */
  readonly claims: readonly string[]
  readonly scopes: readonly ApiScope[]
}

export interface ApiScope {
  readonly name: string
  /** What the scope allows, by language, for the consent page. */
  readonly text: Readonly<Record<string, string>>
}

export type Apis = ReturnType<typeof createApis>

/** A caller that changes a definition also publishes `apis-changed`, in the same transaction. */
export function createApis(db: Kysely<Schema>, clock: Clock) {
  return createDefinitions<Api>(db, clock, {
    table: 'apis',
    key: 'resource',
    absent: { accessTokenLifetime: undefined },
  })
}
