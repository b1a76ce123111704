/** A transaction that records events: they are durable together with its changes, and delivered once it has committed. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, GateEvent } from 'gatehouse-protocol'
import type { Transaction } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { transact } from '../database/transaction.ts'
import { createStores, type Stores } from '../stores.ts'
import { createEvents, type RecordedEvent } from './events.ts'

export interface EventTransactionEnv {
  readonly database: Database
  readonly clock: Clock
  /** Delivers an event to this node once it has been committed. */
  receive(recorded: RecordedEvent): void
}

/** Records an event, or many with few statements, in the transaction. */
export type PublishInside = (event: GateEvent | readonly GateEvent[]) => Promise<void>

type Cut = Extract<GateEvent, { kind: 'subject-cut' | 'subjects-cut' | 'client-cut' }>

/** Without the events, a crash after the commit would leave the removed rights in effect until the tokens expire. */
export async function transactWithEvents<T>(
  { database, clock, receive }: EventTransactionEnv,
  work: (stores: Stores, publish: PublishInside, tx: Transaction<Schema>) => Promise<T>,
): Promise<T> {
  const { result, recorded } = await transact(database.db, async (tx) => {
    const stores = createStores({ ...database, db: tx }, clock)
    const events: RecordedEvent[] = []
    const publish: PublishInside = async (event) => {
      if (isList(event)) events.push(...(await stores.events.appendAll(event)))
      else events.push({ seq: await stores.events.append(event), event })
    }
    return { result: await work(stores, publish, tx), recorded: events }
  })
  for (const each of recorded) receive(each)
  await repeatCuts(recorded)
  return result

  /**
   * A cut concerns tokens issued up to its time, and a request that read before the commit may have issued one since: the cut is
   * recorded again with the present time. Tokens carry their time of issue in milliseconds, so that the next one begins before this
   * resolves: what is issued from then on is valid.
   */
  async function repeatCuts(recorded: readonly RecordedEvent[]): Promise<void> {
    const cuts = recorded.flatMap(({ event }) => (isCut(event) ? [event] : []))
    if (cuts.length === 0) return
    const events = createEvents(database.db, database.engine, clock)
    const at = clock()
    for (const cut of cuts) {
      const event = { ...cut, at, expiresAt: cut.expiresAt + at - cut.at }
      receive({ seq: await events.append(event), event })
    }
    if (clock() <= at) await sleep(1)
  }
}

function isList(event: GateEvent | readonly GateEvent[]): event is readonly GateEvent[] {
  return Array.isArray(event)
}

function isCut(event: GateEvent): event is Cut {
  return event.kind === 'subject-cut' || event.kind === 'subjects-cut' || event.kind === 'client-cut'
}
