/**
 * Whether a node knows what others have changed, such as who may see what. After it was cut off it does not, although it may be sent data
 * again: until it has asked, this data waits.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, pauseAfter } from '../lib/retry.ts'
import type { Bus } from './bus.ts'

export interface Freshness {
  /** Undefined: it knows all until less than a second ago. Otherwise resolves when it does, or when this is closed. */
  catchUp(): Promise<void> | undefined
  close(): void
}

export interface FreshnessEnv {
  readonly bus: Pick<Bus, 'lag' | 'catchUp'>
  /** Whether several nodes share the database: a process that has its database to itself misses nothing. */
  readonly isShared: boolean
}

/** What has changed holds on all nodes within a second. A node that hears nothing asks twice in this time by itself. */
const MOST_LAG_MS = 900
const RETRY: Backoff = { firstMs: 50, longestMs: 500 }
/** A question on a connection that is dead may never be answered. */
const ANSWER_MS = 2_000

export function openFreshness({ bus, isShared }: FreshnessEnv): Freshness {
  let catchingUp: Promise<void> | undefined
  let isClosed = false

  async function catchUp(): Promise<void> {
    for (let failures = 0; !isClosed && bus.lag() > MOST_LAG_MS; ) {
      const isAnswered = await Promise.race([
        bus.catchUp().then(
          () => true,
          () => false,
        ),
        sleep(ANSWER_MS, false, { ref: false }),
      ])
      if (!isAnswered) await sleep(pauseAfter(++failures, RETRY), undefined, { ref: false })
    }
  }

  return {
    catchUp() {
      if (!isShared || bus.lag() <= MOST_LAG_MS || isClosed) return undefined
      catchingUp ??= catchUp().finally(() => {
        catchingUp = undefined
      })
      return catchingUp
    },
    close() {
      isClosed = true
    },
  }
}
