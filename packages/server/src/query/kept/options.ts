/** What materialized views are kept with. */
import type { Semaphore } from '../../lib/semaphore.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { ChangeStep, Engine } from '../engines/engine.ts'
import type { KeeperTerm } from '../engines/keeper-lease.ts'
import type { KeptEngine } from '../engines/kept-engine.ts'
import type { Keeper } from '../keeper/keeper.ts'
import type { TableWatches } from '../live/evaluate/table-watches.ts'
import type { KeptCounts } from './counts.ts'

/** The catalogue of this node. */
export interface KeptCatalogue {
  readonly snapshot: CatalogueSnapshot
  onChange(listener: () => void): () => void
  refresh(): Promise<void>
  /** Has all nodes load the states of views. */
  announce(): Promise<void>
  change(changes: readonly ChangeStep[]): Promise<unknown>
}

export interface KeptViewsOptions {
  readonly engine: Engine
  readonly catalogue: KeptCatalogue
  readonly keeper: Keeper
  /** The longest evaluation. */
  readonly milliseconds: number
  readonly onError: (error: unknown) => void
}

export interface MaintenanceOptions extends Omit<KeptViewsOptions, 'keeper'> {
  readonly kept: KeptEngine
  readonly term: KeeperTerm
  readonly counts: KeptCounts
}

export interface ViewMaintenanceOptions extends MaintenanceOptions {
  readonly watches: TableWatches
  readonly turns: Semaphore
  readonly builds: Semaphore
}
