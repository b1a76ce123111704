/** The catalogue of this node: loaded from the database and reloaded when any node of the cluster changes it. */
import type { Bus } from '../../events/bus.ts'
import { type AttributeSource, attributeViews, NO_ATTRIBUTES } from '../catalogue/attributes.ts'
import { type CatalogueChange, readDefinition } from '../catalogue/definition.ts'
import { NO_LICENCES, type TableLicences } from '../catalogue/licences.ts'
import { concernsRetention } from '../catalogue/retention.ts'
import { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { ChangeRequest, ChangeStep, Engine, WriteReply } from '../engines/engine.ts'
import { refuse } from '../errors.ts'

export interface NodeCatalogueOptions {
  readonly engine: Engine
  readonly bus: Bus
  readonly onError: (error: unknown) => void
  readonly attributes?: AttributeSource | undefined
  /** Waits until the other nodes have loaded what was published, for a second at most. */
  readonly settle?: (() => Promise<void>) | undefined
  /** Throws while nodes of an earlier version run. */
  readonly requireUpgraded?: (() => Promise<void>) | undefined
  readonly licences?: Pick<TableLicences, 'covers' | 'delays'> | undefined
}

/**
 * How often it looks for changes without an event: the node that made them was killed before it could publish one, or lost its database at
 * the commit; or this node could not load them.
 */
const LOOK_MS = 1_000
/** Of many tables it reads a lot: a look waits for PAUSE × the duration of the last one, but not longer than this. */
const LONGEST_LOOK_MS = 10_000
const PAUSE = 50

export class NodeCatalogue {
  readonly #engine: Engine
  readonly #bus: Bus
  readonly #attributes: AttributeSource
  readonly #settle: () => Promise<void>
  readonly #requireUpgraded: () => Promise<void>
  readonly #licences: Pick<TableLicences, 'covers' | 'delays'>
  /** Immutable. Each load replaces it. */
  snapshot = new CatalogueSnapshot([])
  #loading: Promise<void> | undefined
  #isStale = false
  /** The last load has failed. */
  #isBehind = false
  readonly #onError: (error: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  readonly #unsubscribe: () => void
  readonly #listeners = new Set<() => void>()

  private constructor({
    engine,
    bus,
    onError,
    attributes = NO_ATTRIBUTES,
    settle,
    requireUpgraded,
    licences = NO_LICENCES,
  }: NodeCatalogueOptions) {
    this.#licences = licences
    this.#engine = engine
    this.#attributes = attributes
    this.#bus = bus
    this.#settle = settle ?? (async () => {})
    this.#requireUpgraded = requireUpgraded ?? (async () => {})
    this.#onError = onError
    this.#unsubscribe = bus.subscribe(({ kind }) =>
      kind === 'catalogue-changed' || kind === 'attributes-changed' ? this.refresh().catch(onError) : undefined,
    )
  }

  static async open(options: NodeCatalogueOptions): Promise<NodeCatalogue> {
    const catalogue = new NodeCatalogue(options)
    await catalogue.refresh()
    catalogue.#lookLater()
    return catalogue
  }

  /** Calls the listener after each load. Returns the function that ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A change that arrives during a load is picked up by another load right after it. */
  async refresh(): Promise<void> {
    if (this.#loading !== undefined) {
      this.#isStale = true
      return this.#loading
    }
    this.#loading = this.#load()
    try {
      await this.#loading
      this.#isBehind = false
    } catch (error) {
      this.#isBehind = true
      throw error
    } finally {
      this.#loading = undefined
    }
  }

  #lookLater(milliseconds = LOOK_MS): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#look(), milliseconds).unref()
  }

  async #look(): Promise<void> {
    const began = performance.now()
    try {
      if (this.#isBehind || (await this.#engine.isCatalogueOutdated())) await this.refresh()
    } catch (error) {
      if (!this.#isClosed) this.#onError(error)
    }
    const pause = PAUSE * (performance.now() - began)
    this.#lookLater(Math.min(Math.max(LOOK_MS, pause), LONGEST_LOOK_MS))
  }

  /** Makes all changes or none. When it resolves, this node has loaded them, and so have the others unless they do not answer. */
  async change(
    changes: readonly ChangeStep[],
    options: Pick<ChangeRequest, 'owner' | 'running' | 'response' | 'kept'> = {},
  ): Promise<WriteReply | undefined> {
    for (const { change } of changes) refuseCoveringColumn(change, this.#licences)
    if (changes.some(({ change }) => concernsRetention(change))) await this.#requireUpgraded()
    const reply = await this.#engine.change({ changes: changes.map((step) => this.#withDelays(step)), ...options })
    await this.refresh()
    await this.#bus.publish({ kind: 'catalogue-changed' })
    await this.#settle()
    return reply
  }

  /** The state of a materialized view has changed: loads it, and has the other nodes load it. */
  async announce(): Promise<void> {
    await this.refresh()
    await this.#bus.publish({ kind: 'catalogue-changed' })
  }

  /** A new table that a product covers has its copies from the beginning. */
  #withDelays(step: ChangeStep): ChangeStep {
    const { change } = step
    if (change.kind !== 'create') return step
    const { view, kept, isLive, primaryKey, name } = change.table
    const delays = this.#licences.delays(name.toLowerCase()) ?? []
    const canHave = view === undefined && kept === undefined && isLive && primaryKey.length > 0
    return canHave && delays.length > 0 ? { ...step, change: { ...change, table: { ...change.table, delays } } } : step
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#unsubscribe()
  }

  async #load(): Promise<void> {
    do {
      this.#isStale = false
      const rows = await this.#engine.loadCatalogue()
      // After the tables: an attribute is declared before a filter uses it.
      const attributes = attributeViews(await this.#attributes.definitions())
      this.snapshot = new CatalogueSnapshot(rows.map(readDefinition), attributes)
      for (const listener of this.#listeners) listener()
    } while (this.#isStale)
  }
}

/** The column that says which product covers a row stays what it is, and the changes of a delayed table are logged. */
function refuseCoveringColumn(change: CatalogueChange, licences: Pick<TableLicences, 'covers'>): void {
  if (change.kind !== 'alter') return
  const { step, name, from, table } = change
  const { column, products = [] } = licences.covers(name.toLowerCase()) ?? {}
  const members = { Products: [...products].sort() }
  if (from.isLive && !table.isLive && (from.delays ?? []).length > 0)
    throw refuse('Data.InUse', `Products cover ${name} with a delay, which needs its changes`, { members })
  if (step.kind !== 'drop-column' && step.kind !== 'rename-column') return
  if (column?.toLowerCase() !== step.column.toLowerCase()) return
  throw refuse('Data.InUse', `Products cover the rows of ${name} by the column ${step.column}`, { members })
}
