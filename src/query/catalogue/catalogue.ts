/** The catalogue of this node: loaded from the database, changed through it, and told to every node when it changes. */
import type { Bus } from '../../events/bus.ts'
import type { ChangeRequest, Engine, PreparedChange, WriteReply } from '../engines/engine.ts'
import { readDefinition } from './definition.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'

export class Catalogue {
  readonly #engine: Engine
  readonly #bus: Bus
  #snapshot: Snapshot = createSnapshot([])
  #loading: Promise<void> | undefined
  #isStale = false
  readonly #unsubscribe: () => void

  private constructor(engine: Engine, bus: Bus, onError: (error: unknown) => void) {
    this.#engine = engine
    this.#bus = bus
    this.#unsubscribe = bus.subscribe((event) => {
      if (event.kind === 'catalogue-changed') this.refresh().catch(onError)
    })
  }

  static async open(engine: Engine, bus: Bus, onError: (error: unknown) => void): Promise<Catalogue> {
    const catalogue = new Catalogue(engine, bus, onError)
    await catalogue.refresh()
    return catalogue
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Changes that arrive while one load runs are seen by the one that follows it. */
  async refresh(): Promise<void> {
    if (this.#loading !== undefined) {
      this.#isStale = true
      return this.#loading
    }
    this.#loading = this.#load()
    try {
      await this.#loading
    } finally {
      this.#loading = undefined
    }
  }

  /** All changes or none; when it resolves this node knows them, and the others have been told. */
  async change(
    changes: readonly PreparedChange[],
    options: Pick<ChangeRequest, 'signal' | 'record'> = {},
  ): Promise<WriteReply | undefined> {
    const reply = await this.#engine.change({ changes, ...options })
    await this.refresh()
    await this.#bus.publish({ kind: 'catalogue-changed' })
    return reply
  }

  close(): void {
    this.#unsubscribe()
  }

  async #load(): Promise<void> {
    do {
      this.#isStale = false
      const rows = await this.#engine.loadCatalogue()
      this.#snapshot = createSnapshot(rows.map(readDefinition))
    } while (this.#isStale)
  }
}
