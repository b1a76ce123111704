/** Remote controllers: the programs of the operator that answer requests of streams over HTTP. */
import type { Clock, FeedClass, StepUpNeed } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { createDefinitions } from '../database/definitions.ts'
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

/** A caller that changes a definition also publishes `controllers-changed`, in the same transaction. */
export function createControllers(db: Kysely<Schema>, clock: Clock) {
  return createDefinitions<RemoteController>(db, clock, { table: 'controllers', key: 'name' })
}
