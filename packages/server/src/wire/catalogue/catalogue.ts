/**
 * The entry: statements on pg_catalog and information_schema, run on SQLite in memory in processes of their own. See DESIGN.md.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FairQueue } from '../../lib/fair-queue.ts'
import { viewFor } from '../../query/index.ts'
import { CatalogueError } from './catalogue-error.ts'
import type { Catalogue, CatalogueCaller, CatalogueDescription, CatalogueResult } from './contract.ts'
import { type VisibleTable, visibleTable } from './database/objects.ts'
import { CatalogueProcess, type ProcessSettings } from './process/catalogue-process.ts'
import type { StatementJob } from './process/jobs.ts'

export interface CatalogueEnv extends ProcessSettings {
  readonly idleMilliseconds?: number
}

const IDLE_MS = 60_000
/** Statements that wait, of all callers. */
const MAX_WAITING = 100
/** A second process is used if the first one is busy with another caller's statement for this long. */
const PATIENCE_MS = 200
/** Two: so one caller's long statement does not stop the others. */
const PROCESSES = 2
const TABLES_PER_PART = 200

export function openCatalogue(env: CatalogueEnv): Catalogue {
  return new ProcessCatalogue(env)
}

interface Place {
  process: CatalogueProcess | undefined
  isBusy: boolean
  idleTimer: NodeJS.Timeout | undefined
}

class ProcessCatalogue implements Catalogue {
  readonly #env: CatalogueEnv
  readonly #queue = new FairQueue({ slots: PROCESSES, waiting: MAX_WAITING })
  readonly #places: readonly Place[] = Array.from({ length: PROCESSES }, () => ({
    process: undefined,
    isBusy: false,
    idleTimer: undefined,
  }))
  readonly #closing = new AbortController()
  #wake: (() => void) | undefined

  constructor(env: CatalogueEnv) {
    this.#env = env
  }

  async describe(
    text: string,
    types: readonly number[],
    caller: CatalogueCaller,
    signal = NEVER,
  ): Promise<CatalogueDescription> {
    const { columns, parameters } = await this.#statement('describe', text, [], types, caller, signal)
    return { columns, parameters }
  }

  async run(
    text: string,
    parameters: readonly (string | null)[],
    caller: CatalogueCaller,
    signal: AbortSignal,
    types: readonly number[] = [],
  ): Promise<CatalogueResult> {
    const { cancels, ...result } = await this.#statement('run', text, parameters, types, caller, signal)
    if (cancels.length === 0) return result
    const cancelled = await Promise.all(cancels.map(async (id) => [id, await caller.cancelBackend(id)] as const))
    // Its own statement may have been among them.
    signal.throwIfAborted()
    return await this.#statement('run', text, parameters, types, caller, signal, cancelled)
  }

  async close(): Promise<void> {
    this.#closing.abort(new CatalogueError('unavailable', 'The service is shutting down'))
    const running = this.#places.flatMap(({ process, idleTimer }) => {
      clearTimeout(idleTimer)
      process?.kill()
      return process === undefined ? [] : [process.exited]
    })
    await Promise.all(running)
  }

  async #statement(
    kind: StatementJob['kind'],
    text: string,
    parameters: readonly (string | null)[],
    types: readonly number[],
    caller: CatalogueCaller,
    cancel: AbortSignal,
    cancelled: StatementJob['cancelled'] = [],
  ) {
    const signal = AbortSignal.any([cancel, this.#closing.signal])
    const release = await this.#queue.acquire(caller.owner, signal)
    if (release === 'aborted') throw signal.reason
    if (release === 'full')
      throw new CatalogueError('busy', 'Too many statements on the catalogue are waiting; try again')
    try {
      const place = await this.#takePlace()
      try {
        const process = place.process?.isAlive ? place.process : new CatalogueProcess(this.#env)
        place.process = process
        const { user, processId } = caller
        const job = { kind, key: catalogueKey(caller), text, parameters, types, user, processId, cancelled }
        return await process.run(job, () => visibleTables(caller), signal)
      } finally {
        this.#leave(place)
      }
    } finally {
      release()
    }
  }

  /** The first place if it becomes free soon, so that a second process is started only when it is needed. */
  async #takePlace(): Promise<Place> {
    for (const end = performance.now() + PATIENCE_MS; ; ) {
      const free =
        this.#places.find(({ isBusy, process }) => !isBusy && process?.isAlive) ??
        this.#places.find(({ isBusy }) => !isBusy)
      const left = end - performance.now()
      const isReady = free?.process?.isAlive === true || this.#places.every(({ isBusy }) => !isBusy) || left <= 0
      if (free !== undefined && isReady) {
        free.isBusy = true
        clearTimeout(free.idleTimer)
        return free
      }
      const released = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await Promise.race([released, sleep(Math.max(left, 10))])
    }
  }

  #leave(place: Place): void {
    place.isBusy = false
    place.idleTimer = setTimeout(() => place.process?.kill(), this.#env.idleMilliseconds ?? IDLE_MS).unref()
    this.#wake?.()
  }
}

const NEVER = new AbortController().signal

/** A database holds what one set of scopes sees of one version of the catalogue. */
function catalogueKey({ snapshot, scopes }: CatalogueCaller): string {
  return `${snapshot.version} ${[...scopes].sort().join(' ')}`
}

/** Without what the caller may not read, in parts. */
function* visibleTables({ snapshot, scopes }: CatalogueCaller): Generator<readonly VisibleTable[]> {
  const view = viewFor(snapshot, scopes)
  let part: VisibleTable[] = []
  for (const definition of snapshot.definitions) {
    const table = view.lookup(definition.name)
    if (table === undefined) continue
    part.push(visibleTable(definition, table.isWritable && view.missingWriteScope(table) === undefined))
    if (part.length < TABLES_PER_PART) continue
    yield part
    part = []
  }
  yield part
}
