/** Connection pools with the session settings of the service; how a connection is borrowed, cancelled and given back. */
import type { Pool, PoolClient } from 'pg'
import { abortable } from '../../../lib/abortable.ts'
import type { Availability } from '../../../lib/availability.ts'
import { BRIEF_TRANSACTIONS } from '../../../store/database/servers/client.ts'
import { destroyConnection } from '../../../store/database/servers/pool-client.ts'
import type { Responsiveness } from '../../../store/database/servers/responsiveness.ts'
import type { DatabaseServers } from '../../../store/database/servers/servers.ts'
import type { Stoppable } from '../engine.ts'
import type { Background } from '../live-source.ts'
import type { FairSlots, Slot, SlotRequest } from '../slots/fair-slots.ts'
import { cancelRunning, MAX_CANCEL_MS } from './protocol/protocol.ts'
import { SCHEMA } from './representation.ts'
import type { StuckBackends } from './stuck-backends.ts'

export interface PoolOptions {
  readonly servers: DatabaseServers
  /** The longest wait for a connection. */
  readonly connectMs: number
  readonly max: number
  /** Is informed when a connection breaks, is opened, or was used without breaking. */
  readonly availability: Availability
  readonly responsiveness: Responsiveness
  /** Further session settings. */
  readonly settings?: Readonly<Record<string, string | number>>
}

const SETTINGS = {
  search_path: SCHEMA,
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
}

export function createPool({
  servers,
  connectMs,
  max,
  availability,
  responsiveness,
  settings = {},
}: PoolOptions): Pool {
  const pool = servers.createPool({
    max,
    settings: { ...SETTINGS, ...BRIEF_TRANSACTIONS, ...settings },
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    application_name: 'gatehouse query',
  })
  // A broken idle connection is replaced at its next use, and a broken busy one fails its statement. Without a listener either
  // event would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    availability.succeeded(false)
    client.on('error', (error) => availability.failed(error))
  })
  pool.on('release', (isBroken: unknown) => {
    if (!isBroken) availability.succeeded(false)
  })
  responsiveness.watch(pool)
  return pool
}

export type Acquire = (request: SlotRequest, running: Stoppable, background?: Background) => Promise<Acquired>

interface Acquired {
  readonly client: PoolClient
  readonly slot: Slot
  release(isBroken: boolean): void
  /** Its connection is closed, but the database may continue the statement. */
  abandon(): void
}

/** Acquires from a pool with one connection per slot, so that nothing waits in the pool itself. */
export function acquireFrom(pool: Pool, slots: FairSlots, stuck?: StuckBackends): Acquire {
  return async (request, running, background) => {
    const slot = await (background === undefined
      ? slots.acquire(request, running)
      : slots.acquireInBackground(request, running))
    background?.onStart()
    try {
      const client = await connectUnlessAborted(pool, running.signal)
      return {
        client,
        slot,
        release(isBroken) {
          client.release(isBroken)
          slot.release()
        },
        abandon() {
          client.release(true)
          if (stuck === undefined) slot.release()
          else stuck.watch(client, request, running, () => slot.release())
        },
      }
    } catch (error) {
      slot.release()
      throw error
    }
  }
}

/** A query that is cancelled while it waits fails immediately; the connection it would have got goes back to the pool. */
async function connectUnlessAborted(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  signal.throwIfAborted()
  const connected = pool.connect()
  try {
    return await abortable(connected, signal)
  } catch (error) {
    connected.then((client) => client.release(), ignore)
    throw error
  }
}

function ignore(): void {}

const CANCEL_AGAIN_MS = 200

export interface Borrowed {
  readonly client: PoolClient
  /** If the slot is preempted, the statement is cancelled too. */
  readonly slot: Slot
  giveBack(isBroken?: boolean): Promise<void>
}

/** A connection whose statement is cancelled when the signal aborts. */
export async function borrow(
  acquire: Acquire,
  request: SlotRequest,
  running: Stoppable,
  background?: Background,
): Promise<Borrowed> {
  const { signal } = running
  signal.throwIfAborted()
  const { client, slot, release, abandon } = await acquire(request, running, background)
  if (signal.aborted) {
    release(false)
    throw signal.reason
  }
  let cancelled: Promise<void> | undefined
  let again: NodeJS.Timeout | undefined
  let giveUp: NodeJS.Timeout | undefined
  let isGivenBack = false
  let isGivenUp = false
  /** The server ignores a request that arrives before the statement has started, so it is repeated until the connection is back. */
  const cancel = (): void => {
    cancelled = cancelRunning(client).then(() => {
      if (!isGivenBack) again = setTimeout(cancel, CANCEL_AGAIN_MS)
    })
  }
  const stop = (): void => {
    cancel()
    // A server that cannot be reached, or ignores the request, would never answer.
    giveUp = setTimeout(() => {
      isGivenUp = true
      destroyConnection(client, MAX_CANCEL_MS)
    }, MAX_CANCEL_MS)
  }
  signal.addEventListener('abort', stop, { once: true })
  slot.begin(stop)
  return {
    client,
    slot,
    async giveBack(isBroken = false) {
      isGivenBack = true
      signal.removeEventListener('abort', stop)
      clearTimeout(again)
      await cancelled
      clearTimeout(giveUp)
      if (isGivenUp) abandon()
      else release(isBroken)
    },
  }
}

export async function withClient<T>(pool: Pool, task: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    return await task(client)
  } finally {
    client.release()
  }
}
