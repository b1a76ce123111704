/** Remote controllers: the programs of the operator that answer requests of streams over HTTP. */
import type { Clock, FeedClass, StepUpNeed } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'

export interface RemoteController {
  readonly name: string
  readonly feedClass: FeedClass
  /** Where requests are posted, and the audience of their tokens. */
  readonly url: string
  readonly topics: readonly RemoteTopic[]
  readonly timeoutMs: number
  /** Requests at once, of each node. */
  readonly concurrency: number
}

export interface RemoteTopic {
  readonly name: string
  /** `identity` or a scope. */
  readonly needs: string
  /** What the sign-in of the caller must be like; undefined: anything. */
  readonly stepUp?: StepUpNeed | undefined
}

export type RemoteControllers = ReturnType<typeof createControllers>

export function createControllers(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Ordered by name. */
    async list(): Promise<RemoteController[]> {
      const rows = await db.selectFrom('controllers').select(['name', 'definition']).orderBy('name').execute()
      return rows.map(readRow)
    },

    async find(name: string): Promise<RemoteController | undefined> {
      const row = await db
        .selectFrom('controllers')
        .select(['name', 'definition'])
        .where('name', '=', name)
        .executeTakeFirst()
      return row && readRow(row)
    },

    async put({ name, ...rest }: RemoteController): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      await db
        .insertInto('controllers')
        .values({ name, definition, created_at: now, updated_at: now })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ definition, updated_at: now }))
        .execute()
    },

    async remove(name: string): Promise<void> {
      await db.deleteFrom('controllers').where('name', '=', name).execute()
    },
  }
}

function readRow({ name, definition }: { readonly name: string; readonly definition: string }): RemoteController {
  return { name, ...JSON.parse(definition) }
}
