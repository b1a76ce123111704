/**
 * Uncaught errors. Most never come here, because they end where the damage is known: see docs/hardening.md#faults.
 *
 * | in | ends |
 * |---|---|
 * | a request or an upgrade, its error reply included | the request: `http/pipeline.ts` `fail` |
 * | a stream: its socket, turn, operations, subscriptions | the connection or the subscription: `streaming/connection/connection.ts` |
 * | a listener of the event bus | its handling of that event: `events/durable-bus.ts` `deliver` |
 * | a background job | its run: each reports its errors, and runs again |
 * | the log | its line: `telemetry/log.ts` |
 * | a custom controller, its timers and promises included | its own work: `streaming/controllers/scope.ts`, counted here |
 *
 * Any other error may have left work half done: the server stops in order (`cli/serve/faults.ts`).
 */
import { currentController } from '../streaming/controllers/scope.ts'
import { atMostEvery, type Logger } from '../telemetry/log.ts'

const REPORT_EVERY_MS = 1_000

export class LocalFaults {
  readonly #logger: Logger
  readonly #counts = new Map<string, number>()
  #error: unknown
  readonly #report: () => void

  constructor(logger: Logger) {
    this.#logger = logger
    this.#report = atMostEvery(REPORT_EVERY_MS, (faults) =>
      this.#logger.error(
        { err: this.#error, controller: currentController(), faults },
        'uncaught error of a controller',
      ),
    )
  }

  /** By controller. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Whether the error harms only the part that it comes from; then it is logged and counted. Call it in the context of the error. */
  take(error: unknown): boolean {
    const controller = currentController()
    if (controller === undefined) return false
    this.#counts.set(controller, (this.#counts.get(controller) ?? 0) + 1)
    this.#error = error
    this.#report()
    return true
  }
}
