/** Runs a write on a separate connection, and again after a serialization failure or a deadlock. */
import type { PoolClient } from 'pg'
import { isUnreplicated } from '../../../store/database/servers/client.ts'
import { refuse } from '../../errors.ts'
import type { Stoppable } from '../engine.ts'
import { asRefusal, isOutdated, isTransient, mayBeCommitted, toFailure } from './failure.ts'
import { type Acquire, borrow } from './pool.ts'

const MAX_ATTEMPTS = 5

export interface RetryOptions {
  readonly owner: string | undefined
  readonly running: Stoppable
  /** It is not known to be short. */
  readonly isLong: boolean
  /** Without a transaction there is nothing to roll back. */
  readonly inTransaction: boolean
}

export async function withRetries<T>(
  acquire: Acquire,
  { owner = '', running, inTransaction, ...options }: RetryOptions,
  run: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const { signal } = running
  let { isLong } = options
  for (let attempt = 1; ; attempt++) {
    const { client, slot, giveBack } = await borrow(acquire, { owner, isLong }, running)
    let isBroken = false
    try {
      return await run(client)
    } catch (error) {
      if (inTransaction)
        await client.query('ROLLBACK').catch(() => {
          isBroken = true
        })
      // Neither repeated nor answered as stopped.
      if (mayBeCommitted(error)) throw asRefusal(error) ?? error
      isLong ||= slot.isPreempted
      const canRetry = slot.isPreempted || isTransient(error) || isOutdated(error)
      if (canRetry && attempt < MAX_ATTEMPTS && !signal.aborted) continue
      throw canRetry && !signal.aborted ? stillInConflict(error) : toFailure(error, signal)
    } finally {
      // Its next commits would look as if they were not replicated either.
      await giveBack(isBroken || isUnreplicated(client))
    }
  }
}

function stillInConflict(cause: unknown): Error {
  return refuse(
    'Limit.Overload',
    'Other writes to the same rows or tables kept getting ahead of this one; nothing was changed',
    { cause },
  )
}
