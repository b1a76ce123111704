/** Stores an object however long that takes, and looks whether it is kept. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Target, TargetFailed } from './target.ts'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** For one attempt: 16 MiB are sent in this time at 300 kB/s. */
const PUT_MS = 60_000
const MOST_FAILURES = 1_000

/** Until it is stored, or the signal ends it. */
export async function putPersistently(
  target: Target,
  name: string,
  sealed: Buffer,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted()
    try {
      // Only an attempt of ours, whose reply was lost, can have stored one of this name.
      await target.put(name, sealed, AbortSignal.any([signal, AbortSignal.timeout(PUT_MS)]))
      return
    } catch (error) {
      signal.throwIfAborted()
      if (failures >= MOST_FAILURES) throw error
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), undefined, { signal })
    }
  }
}

/** A target may say that it has stored something, and have nothing. */
export async function checkKept(target: Target, name: string, sealed: Buffer, signal: AbortSignal): Promise<void> {
  const kept = await target.get(name, signal)
  if (kept === undefined || !kept.equals(sealed))
    throw new TargetFailed(`${target.location} does not keep what is stored there`)
}
