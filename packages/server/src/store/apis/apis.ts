/** The definitions of APIs: programs of one's own that take access tokens of this server, and the scopes of each. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
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

export const MOST_APIS = 200
/** Of all APIs together. */
export const MOST_SCOPES = 1_000

export type Apis = ReturnType<typeof createApis>

/** Whoever changes a definition also publishes `apis-changed`, in the same transaction. */
export function createApis(db: Kysely<Schema>, clock: Clock) {
  const rows = () => db.selectFrom('apis').select(['resource', 'definition'])
  return {
    /** All, or one page; ordered by resource. */
    async list({ after, limit }: { after?: string; limit?: number } = {}): Promise<Api[]> {
      let query = rows().orderBy('resource')
      if (after !== undefined) query = query.where('resource', '>', after)
      if (limit !== undefined) query = query.limit(limit)
      return (await query.execute()).map(readRow)
    },

    async find(resource: string): Promise<Api | undefined> {
      const row = await rows().where('resource', '=', resource).executeTakeFirst()
      return row && readRow(row)
    },

    async put({ resource, ...rest }: Api): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      await db
        .insertInto('apis')
        .values({ resource, definition, created_at: now, updated_at: now })
        .onConflict((conflict) => conflict.column('resource').doUpdateSet({ definition, updated_at: now }))
        .execute()
    },

    async remove(resource: string): Promise<void> {
      await db.deleteFrom('apis').where('resource', '=', resource).execute()
    },
  }
}

/** JSON has no undefined members. */
function readRow({ resource, definition }: { readonly resource: string; readonly definition: string }): Api {
  return { resource, accessTokenLifetime: undefined, ...JSON.parse(definition) }
}
