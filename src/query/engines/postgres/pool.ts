/** Pools of connections with what the service sets on each, and how one is had, stopped and given back. */
import pg, { type Pool, type PoolClient } from 'pg'
import { refuse } from '../../errors.ts'
import { SCHEMA } from './representation.ts'
import { breakOff, cancelRunning, LONGEST_CANCEL_MS } from './wire.ts'

export interface PoolOptions {
  readonly url: string
  readonly milliseconds: number
  readonly max: number
  /** Further settings of its connections. */
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

export function createPool({ url, milliseconds, max, settings = {} }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    options: Object.entries({ ...SETTINGS, ...settings })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    connectionTimeoutMillis: milliseconds,
    idleTimeoutMillis: 60_000,
    // A server that is gone without a word is noticed by its silence.
    keepAlive: true,
    application_name: 'gatehouse query',
  })
  // An idle connection that breaks is replaced at its next use, and one that is used fails its statement: without a listener
  // either would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  return pool
}

export type Take = (signal: AbortSignal) => Promise<PoolClient>

/** Takes from the pool while no more than so many wait for it. */
export function takeFrom(pool: Pool, waiting: number): Take {
  return async (signal) => {
    if (pool.waitingCount >= waiting)
      throw refuse('Limit.Overload', 'Too many queries are waiting', { headers: { 'Retry-After': '1' } })
    return connectUnless(pool, signal)
  }
}

/** A query that is stopped while it waits leaves at once; the connection that it would have had goes back. */
function connectUnless(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    pool.connect().then((client) => {
      signal.removeEventListener('abort', leave)
      if (signal.aborted) client.release()
      else resolve(client)
    }, reject)
  })
}

const CANCEL_AGAIN_MS = 200

export interface Borrowed {
  readonly client: PoolClient
  giveBack(isBroken?: boolean): Promise<void>
}

/** A connection whose statement is cancelled when the signal says so. */
export async function borrow(take: Take, signal: AbortSignal): Promise<Borrowed> {
  signal.throwIfAborted()
  const client = await take(signal)
  let cancelled: Promise<void> | undefined
  let again: NodeJS.Timeout | undefined
  let giveUp: NodeJS.Timeout | undefined
  let isBack = false
  /** One that comes before its statement has begun goes unheard, so it is said until the connection is given back. */
  const cancel = (): void => {
    cancelled = cancelRunning(client).then(() => {
      if (!isBack) again = setTimeout(cancel, CANCEL_AGAIN_MS)
    })
  }
  const stop = (): void => {
    cancel()
    // A server that does not hear of it, or does not heed it, would be waited for in vain.
    giveUp = setTimeout(() => breakOff(client), LONGEST_CANCEL_MS)
  }
  signal.addEventListener('abort', stop, { once: true })
  return {
    client,
    async giveBack(isBroken = false) {
      isBack = true
      signal.removeEventListener('abort', stop)
      clearTimeout(again)
      await cancelled
      clearTimeout(giveUp)
      client.release(isBroken)
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
