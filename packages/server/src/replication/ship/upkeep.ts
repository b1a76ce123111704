/** What keeps a generation small: merging, and deleting what is too old. Segments and bases never wait for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BadObject } from '../objects/seal.ts'
import { Catalogue } from '../restore/catalogue.ts'
import type { SpoolState } from '../spool/state.ts'
import type { Target } from '../target/target.ts'
import { mergeNext } from './merge.ts'
import { removeAbandonedParts, removeOld } from './retention.ts'

export interface UpkeepTiming {
  /** The periods of which segments are merged. */
  readonly periods: readonly [minute: number, hour: number]
  /** How long segments are kept as they were sent, and by the minute. */
  readonly ages: readonly [seconds: number, minutes: number]
  /** How often it looks for something to merge, and to delete. */
  readonly mergeEveryMs: number
  readonly removeEveryMs: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const DEFAULT_TIMING: UpkeepTiming = {
  periods: [MINUTE, HOUR],
  ages: [DAY, 7 * DAY],
  mergeEveryMs: 5_000,
  removeEveryMs: 10 * MINUTE,
}

export interface UpkeepOptions {
  readonly state: SpoolState
  readonly target: Target
  readonly key: Buffer
  readonly generation: string
  readonly rate: number
  /** Undefined where nothing is deleted. */
  readonly keepMs: number | undefined
  readonly timing: Partial<UpkeepTiming> | undefined
  /** What was stored is not there, or not as it was. */
  onBroken(reason: string): void
  onError(error: unknown): void
}

/** Until the signal ends it. */
export async function keepUp(options: UpkeepOptions, signal: AbortSignal): Promise<void> {
  const { state, target, key, generation, rate, keepMs } = options
  const timing = { ...DEFAULT_TIMING, ...options.timing }
  const merging = {
    ...{ generation, key, rate, signal, stored: state.stored, periods: timing.periods },
    catalogue: new Catalogue(target, key),
  }
  const retention = keepMs === undefined ? undefined : { state, target, generation, keepMs, signal, ages: timing.ages }
  let [removeAt, hasTidied] = [performance.now() + timing.removeEveryMs, false]
  while (!signal.aborted) {
    try {
      for (const level of [1, 2] as const) while (await mergeNext(merging, level));
      if (retention !== undefined && performance.now() >= removeAt) {
        removeAt = performance.now() + timing.removeEveryMs
        await removeOld(retention)
        if (!hasTidied) await removeAbandonedParts(retention)
        hasTidied = true
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof BadObject) return options.onBroken(error.message)
      options.onError(error)
    }
    await sleep(timing.mergeEveryMs, undefined, { signal }).catch(() => {})
  }
}
