/** The work of the keeper on materialized views: one `ViewMaintenance` for each, after the commits that concern it. */
import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts'
import { TableWatches } from '../live/evaluate/table-watches.ts'
import type { MaintenanceOptions } from './options.ts'
import { ViewMaintenance } from './view-maintenance.ts'

/** Views that are evaluated at once; one more is built. */
const AT_ONCE = 2

export class Maintenance {
  readonly #options: MaintenanceOptions
  readonly #watches: TableWatches
  readonly #turns: Semaphore = createSemaphore(AT_ONCE, Number.POSITIVE_INFINITY)
  readonly #builds: Semaphore = createSemaphore(1, Number.POSITIVE_INFINITY)
  readonly #views = new Map<string, ViewMaintenance>()
  readonly #unsubscribe: () => void

  constructor(options: MaintenanceOptions) {
    this.#options = options
    this.#watches = new TableWatches(options.engine.live, options.onError)
    this.#unsubscribe = options.catalogue.onChange(() => this.#follow())
    this.#follow()
  }

  /** A change of the catalogue may be a view more or less, or that one is asked to be built anew. */
  #follow(): void {
    const { snapshot } = this.#options.catalogue
    const wanted = new Set<string>()
    for (const { name, kept, created } of snapshot.definitions) {
      if (kept === undefined) continue
      const key = `${name} ${created}`
      wanted.add(key)
      const known = this.#views.get(key)
      if (known !== undefined) known.look()
      else
        this.#views.set(
          key,
          new ViewMaintenance(name, kept.uses[0], {
            ...this.#options,
            watches: this.#watches,
            turns: this.#turns,
            builds: this.#builds,
          }),
        )
    }
    for (const [key, view] of this.#views) {
      if (wanted.has(key)) continue
      this.#views.delete(key)
      void view.close()
    }
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.#watches.close()
    await Promise.all([...this.#views.values()].map((view) => view.close()))
  }
}
