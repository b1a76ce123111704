/** The definitions of feeds. Their messages are elsewhere: see feeds/engine.ts. */
import type { Clock, FeedClass, StepUpRules } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'

/** A feed as it is declared: who may publish and subscribe, what is kept of its messages, and its bounds. */
export interface Feed {
  /** Also the name of its controller on streams. */
  readonly name: string
  readonly description: string
  /** The class that clients of version 2 see. */
  readonly class: FeedClass
  /** Who may subscribe and read history: `identity` (any authenticated caller), or a scope. */
  readonly read: string
  /** The scope that publishing needs. */
  readonly write: string
  /** What the sign-in of subscribers and of publishers must be like; undefined: anything. */
  readonly stepUp?: StepUpRules | undefined
  /** `latest`: the newest message of a topic is its state. `all`: every message counts. */
  readonly keep: 'latest' | 'all'
  /** Undefined where no message is kept, or only the state of each topic. */
  readonly history: History | undefined
  /** Milliseconds after its newest message in which a topic still has its state; undefined without a limit. Only with `latest`. */
  readonly stateTime: number | undefined
  /** The longest `Data`. */
  readonly messageBytes: number
  /** How many topics may hold a state or history. */
  readonly topics: number
  /** The bytes of the `Data` of all its messages that are kept. */
  readonly bytes: number
  /** Messages that may be published in a second, by all publishers together. */
  readonly rate: number
  /** An existing subject of NATS that the feed offers, such as `md.prices.>`; undefined for one of its own. Only with that engine. */
  readonly natsSubject: string | undefined
}

/** The bounds of what is kept of one topic; both hold. */
export interface History {
  readonly messages: number
  /** Milliseconds. */
  readonly time: number
}

export type Feeds = ReturnType<typeof createFeeds>

/** Whoever changes a definition also publishes `feeds-changed`, in the same transaction. */
export function createFeeds(db: Kysely<Schema>, clock: Clock) {
  const rows = () => db.selectFrom('feeds').select(['name', 'definition'])
  return {
    /** All, or one page; ordered by name. */
    async list({ after, limit }: { after?: string; limit?: number } = {}): Promise<Feed[]> {
      let query = rows().orderBy('name')
      if (after !== undefined) query = query.where('name', '>', after)
      if (limit !== undefined) query = query.limit(limit)
      return (await query.execute()).map(readRow)
    },

    async find(name: string): Promise<Feed | undefined> {
      const row = await rows().where('name', '=', name).executeTakeFirst()
      return row && readRow(row)
    },

    async put({ name, ...rest }: Feed): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      await db
        .insertInto('feeds')
        .values({ name, definition, created_at: now, updated_at: now })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ definition, updated_at: now }))
        .execute()
    },

    async remove(name: string): Promise<void> {
      await db.deleteFrom('feeds').where('name', '=', name).execute()
    },
  }
}

/** JSON has no undefined members. */
function readRow({ name, definition }: { readonly name: string; readonly definition: string }): Feed {
  return { name, history: undefined, stateTime: undefined, natsSubject: undefined, ...JSON.parse(definition) }
}
