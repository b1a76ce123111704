/** Whether the database serves: one report when it stops and one when it serves again, not one for each statement that fails. */
import { concernsWrites, unavailableReason } from './unavailable.ts'

export type AvailabilityChange =
  | { readonly isAvailable: false; readonly reason: string; readonly error: unknown }
  | { readonly isAvailable: true; readonly seconds: number }

interface Outage {
  readonly since: number
  lastFailureAt: number
  /** A full disk or a read-only database still answers reads. */
  readonly concernsWrites: boolean
}

/** Some statements may succeed during an outage, for example while the last connection is used up. */
const SETTLED_AFTER_MS = 1000

export class Availability {
  readonly #report: (change: AvailabilityChange) => void
  #outage: Outage | undefined

  constructor(report: (change: AvailabilityChange) => void) {
    this.#report = report
  }

  failed(error: unknown): void {
    const reason = unavailableReason(error)
    if (reason === undefined) return
    const now = performance.now()
    if (this.#outage !== undefined) {
      this.#outage.lastFailureAt = now
      return
    }
    this.#outage = { since: now, lastFailureAt: now, concernsWrites: concernsWrites(error) }
    this.#report({ isAvailable: false, reason, error })
  }

  succeeded(isWrite: boolean): void {
    const outage = this.#outage
    if (outage === undefined || (outage.concernsWrites && !isWrite)) return
    const now = performance.now()
    if (now - outage.lastFailureAt < SETTLED_AFTER_MS) return
    this.#outage = undefined
    this.#report({ isAvailable: true, seconds: Math.round((now - outage.since) / 1000) })
  }
}

export interface AvailabilityLog {
  error(fields: object, message: string): void
  info(fields: object, message: string): void
}

/** `database` is identity or query. */
export function logAvailability(logger: AvailabilityLog, database: string): (change: AvailabilityChange) => void {
  return (change) => {
    if (change.isAvailable) logger.info({ database, seconds: change.seconds }, 'the database is available again')
    else
      logger.error(
        { database, reason: change.reason, cause: errorMessage(change.error) },
        'the database is not available',
      )
  }
}

/** Without the stack, which shows only which statement failed first. */
function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
