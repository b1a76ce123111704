/** The values of the attributes that live statements use, read again when those of their callers change. */
import type { Bus, GateEvent } from '../../events/bus.ts'
import type { AttributeValues } from '../../store/accounts/user.ts'
import type { AttributeSource, Caller } from '../catalogue/attributes.ts'

export interface AttributeWatchOptions<Reader> {
  readonly source: AttributeSource
  readonly bus: Pick<Bus, 'subscribe'>
  /** Called when the values of a reader's caller have been read again. */
  readonly onChanged: (reader: Reader) => void
  readonly onError: (error: unknown) => void
}

interface Watched<Reader> {
  readonly caller: Caller
  readonly readers: Set<Reader>
  /** Undefined until they have been read. */
  values: AttributeValues | undefined
  /** Counts the changes: values that were read before one are outdated. */
  changes: number
}

const RETRY_MS = 500

/** Knows only the callers of statements whose filters use attributes. */
export class AttributeWatch<Reader extends object> {
  readonly #options: AttributeWatchOptions<Reader>
  /** By the kind of the caller and its id. */
  readonly #callers = new Map<string, Watched<Reader>>()
  readonly #byReader = new Map<Reader, Watched<Reader>>()
  readonly #unsubscribe: () => void
  #isClosed = false

  constructor(options: AttributeWatchOptions<Reader>) {
    this.#options = options
    this.#unsubscribe = options.bus.subscribe((event) => this.#onEvent(event))
  }

  /** The values as far as they have been read; undefined if the reader is not followed yet. */
  knownValues(reader: Reader): AttributeValues | undefined {
    return this.#byReader.get(reader)?.values
  }

  has(reader: Reader): boolean {
    return this.#byReader.has(reader)
  }

  /** Reads the current values; from now on `onChanged` is called for the reader until it is forgotten. */
  async follow(reader: Reader, caller: Caller): Promise<void> {
    const key = callerKey(caller)
    const watched = this.#callers.get(key) ?? { caller, readers: new Set(), values: undefined, changes: 0 }
    this.#callers.set(key, watched)
    watched.readers.add(reader)
    this.#byReader.set(reader, watched)
    if (watched.values === undefined) await this.#read(watched)
  }

  forget(reader: Reader): void {
    const watched = this.#byReader.get(reader)
    if (watched === undefined) return
    this.#byReader.delete(reader)
    watched.readers.delete(reader)
    if (watched.readers.size === 0) this.#callers.delete(callerKey(watched.caller))
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
  }

  #onEvent(event: GateEvent): void {
    if (this.#callers.size === 0) return
    for (const watched of this.#concernedBy(event)) {
      watched.changes++
      // Other listeners, such as the cache of users, must have received the event before the values are read.
      setImmediate(() => void this.#readAgain(watched))
    }
  }

  #concernedBy(event: GateEvent): readonly Watched<Reader>[] {
    switch (event.kind) {
      case 'user-changed':
        return this.#watchedCaller({ kind: 'user', subject: event.subject, clientId: '' })
      case 'clients-changed':
        if (event.clientId === undefined)
          return [...this.#callers.values()].filter(({ caller }) => caller.kind === 'client')
        return this.#watchedCaller({ kind: 'client', subject: event.clientId, clientId: event.clientId })
      // The values of a removed attribute are gone, also if one of the same name is declared later.
      case 'attributes-changed':
        return [...this.#callers.values()]
      default:
        return []
    }
  }

  #watchedCaller(caller: Caller): readonly Watched<Reader>[] {
    const watched = this.#callers.get(callerKey(caller))
    return watched === undefined ? [] : [watched]
  }

  async #readAgain(watched: Watched<Reader>): Promise<void> {
    const { onChanged, onError } = this.#options
    if (this.#isClosed || watched.readers.size === 0) return
    try {
      await this.#read(watched)
    } catch (error) {
      onError(error)
      // It is unknown what the caller may see now: nothing, until it is known again.
      watched.values = {}
      setTimeout(() => void this.#readAgain(watched), RETRY_MS).unref()
    }
    for (const reader of [...watched.readers]) onChanged(reader)
  }

  /** Again, if they change meanwhile. */
  async #read(watched: Watched<Reader>): Promise<void> {
    for (;;) {
      const { changes } = watched
      const values = await this.#options.source.currentValues(watched.caller)
      if (watched.changes !== changes) continue
      watched.values = values
      return
    }
  }
}

function callerKey({ kind, subject }: Caller): string {
  return `${kind}:${subject}`
}
