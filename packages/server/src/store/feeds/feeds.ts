/** The definitions of feeds. Their messages are elsewhere: see feeds/engine.ts. */
import { randomBytes } from 'node:crypto'
import type { Clock, FeedClass, StepUpRules } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'

/** A feed as it is declared: who may publish and subscribe, what is kept of its messages, and its bounds. */
export interface FeedDefinition {
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
  readonly history: FeedHistory | undefined
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

/** A feed, with what tells it from others that have had its name. */
export interface Feed extends FeedDefinition {
  /**
   * New for each declaration of a name that is not declared: what is stored of a feed belongs to its generation. Feeds that were declared
   * before there were generations have their name.
   */
  readonly generation: string
}

/** A feed that is no longer declared, and whose messages have not been dropped yet. */
export type DroppedFeed = Pick<Feed, 'name' | 'generation'>

/** The bounds of what is kept of one topic; both hold. */
export interface FeedHistory {
  readonly messages: number
  /** Milliseconds. */
  readonly time: number
}

export type Feeds = ReturnType<typeof createFeeds>

export interface FeedsOptions {
  readonly clock: Clock
  /** Whether nodes run that do not know generations. */
  readonly isUpgrading: () => Promise<boolean>
}

/** A caller that changes a definition also publishes `feeds-changed`, in the same transaction. */
export function createFeeds(db: Kysely<Schema>, { clock, isUpgrading }: FeedsOptions) {
  const rows = () => db.selectFrom('feeds').select(['name', 'generation', 'definition'])
  const nextGeneration = async (name: string): Promise<string> => {
    const isDropped = db.selectFrom('dropped_feeds').select('name').where('name', '=', name).executeTakeFirst()
    return (await isUpgrading()) && (await isDropped) === undefined ? '' : newGeneration()
  }
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

    /** In a transaction. A feed that is declared already keeps its generation. */
    async put({ name, ...rest }: FeedDefinition): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      const known = await rows().where('name', '=', name).executeTakeFirst()
      const generation = known?.generation ?? (await nextGeneration(name))
      await db
        .insertInto('feeds')
        .values({ name, generation, definition, created_at: now, updated_at: now })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ definition, updated_at: now }))
        .execute()
    },

    /** In a transaction: its messages are dropped afterwards, however long that takes. */
    async remove(name: string): Promise<void> {
      const row = await rows().where('name', '=', name).executeTakeFirst()
      if (row === undefined) return
      const { generation } = readRow(row)
      await db.deleteFrom('feeds').where('name', '=', name).execute()
      await db
        .insertInto('dropped_feeds')
        .values({ generation, name, created_at: clock() })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** Those whose messages are to be dropped. */
    listDropped(): Promise<DroppedFeed[]> {
      return db.selectFrom('dropped_feeds').select(['name', 'generation']).orderBy('created_at').execute()
    },

    /** The messages have been dropped. */
    async forgetDropped(generation: string): Promise<void> {
      await db.deleteFrom('dropped_feeds').where('generation', '=', generation).execute()
    },
  }
}

/** No feed has a dash in its name. */
function newGeneration(): string {
  return `g-${randomBytes(9).toString('hex')}`
}

type FeedRow = Pick<Schema['feeds'], 'name' | 'generation' | 'definition'>

/** JSON has no undefined members. */
function readRow({ name, generation, definition }: FeedRow): Feed {
  const members = { history: undefined, stateTime: undefined, natsSubject: undefined, ...JSON.parse(definition) }
  return { ...members, name, generation: generation || name }
}
