/** A fixed number of slots, such as reader processes or connections, that the owners of queries share fairly. */
import { refuse } from '../errors.ts'

export interface Slot {
  /** The owner held no other slot when it got this one. */
  readonly isFirst: boolean
  /** Further calls do nothing. */
  release(): void
}

interface Owner {
  held: number
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly grant: () => void
  readonly refuse: (error: unknown) => void
}

interface Served {
  readonly name: string | undefined
  readonly at: number
}

const NOBODY: Served = { name: undefined, at: Number.NEGATIVE_INFINITY }

interface BackgroundWaiting extends Waiting {
  readonly since: number
}

/** Work in the background that has waited so long goes before everybody else. */
const BACKGROUND_WAIT_MS = 1000
/** Owners are expected to come back within this time. */
const RECENT_MS = 10_000

export interface FairSlotsOptions {
  /** What runs in one slot slows down the others: rule 4 holds. */
  readonly isHalfForOthers?: boolean
}

/**
 * Four rules:
 *
 * 1. An owner that holds a slot cannot take the last free one. So with two slots or more, one owner never holds them all, and the
 *    first query of any other owner starts at once.
 * 2. A slot goes to the owner that holds the fewest of those who wait, and among equals to the one that was served longest ago.
 *    So an owner without a slot gets the next one that is released, however many queries of others wait.
 * 3. Work in the background gets a slot when nobody waits, and leaves the last free one to others. If it has waited too long, it
 *    goes before all others, one at a time.
 * 4. As an option: an owner gets at most half of the slots while others have some, wait, or were served in the last ten seconds.
 */
export class FairSlots {
  readonly #slots: number
  readonly #maxWaiting: number
  readonly #isHalfForOthers: boolean
  /** Those that hold a slot or wait for one; the owner that was served last is last. */
  readonly #owners = new Map<string, Owner>()
  readonly #background: BackgroundWaiting[] = []
  #held = 0
  #heldInBackground = 0
  #waiting = 0
  /** The owner that was served last, and the last one before it that is another. */
  #lastServed: Served = NOBODY
  #servedBefore: Served = NOBODY

  constructor(slots: number, maxWaiting: number, { isHalfForOthers = false }: FairSlotsOptions = {}) {
    this.#slots = slots
    this.#maxWaiting = maxWaiting
    this.#isHalfForOthers = isHalfForOthers
  }

  get waiting(): number {
    return this.#waiting + this.#background.length
  }

  /** Whether somebody other than the owner waits. */
  isWantedBeside(owner: string): boolean {
    return this.#waiting > (this.#owners.get(owner)?.waiting.length ?? 0)
  }

  /** Whether others than the owner have a slot, wait for one, or were served in the last ten seconds. */
  isUsedBeside(owner: string): boolean {
    if (this.#owners.size > (this.#owners.has(owner) ? 1 : 0)) return true
    const { at } = this.#lastServed.name === owner ? this.#servedBefore : this.#lastServed
    return at > performance.now() - RECENT_MS
  }

  /** Throws the signal's reason when it aborts the wait. */
  acquire(name: string, signal: AbortSignal): Promise<Slot> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const owner = this.#owners.get(name) ?? { held: 0, waiting: [] }
      if (this.#waiting >= this.#maxWaiting && !this.#isGrantable(name, owner)) this.#makeRoom(owner)
      const stopListening = (): void => signal.removeEventListener('abort', abort)
      const waiting: Waiting = {
        grant: () => {
          stopListening()
          resolve(this.#createSlot(name, owner))
        },
        refuse: (error) => {
          stopListening()
          reject(error)
        },
      }
      const abort = (): void => {
        owner.waiting.splice(owner.waiting.indexOf(waiting), 1)
        this.#waiting--
        this.#forgetIfIdle(name, owner)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort, { once: true })
      owner.waiting.push(waiting)
      this.#waiting++
      if (!this.#owners.has(name)) this.#owners.set(name, owner)
      this.#grantFree()
    })
  }

  /** For work that nobody waits for. The queue has no limit: the caller bounds how much of it there is. */
  acquireInBackground(signal: AbortSignal): Promise<Slot> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const stopListening = (): void => signal.removeEventListener('abort', abort)
      const release = once(() => {
        this.#heldInBackground--
        this.#release()
      })
      const waiting: BackgroundWaiting = {
        since: performance.now(),
        grant: () => {
          stopListening()
          resolve({ isFirst: false, release })
        },
        refuse: (error) => {
          stopListening()
          reject(error)
        },
      }
      const abort = (): void => {
        this.#background.splice(this.#background.indexOf(waiting), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#background.push(waiting)
      this.#grantFree()
    })
  }

  /** Refuses everything that waits. */
  close(error: unknown): void {
    for (const { refuse: fail } of this.#background.splice(0)) fail(error)
    for (const [name, owner] of [...this.#owners]) {
      for (const { refuse: fail } of owner.waiting.splice(0)) fail(error)
      this.#forgetIfIdle(name, owner)
    }
    this.#waiting = 0
  }

  #isGrantable(name: string, { held }: Owner): boolean {
    const free = this.#slots - this.#held
    if (held === 0) return free > 0
    return free > 1 && (held < Math.floor(this.#slots / 2) || !this.#isWantedByOthers(name))
  }

  #isWantedByOthers(name: string): boolean {
    return this.#isHalfForOthers && this.isUsedBeside(name)
  }

  #grantFree(): void {
    const { since = Number.POSITIVE_INFINITY } = this.#background[0] ?? {}
    const isOverdue = since <= performance.now() - BACKGROUND_WAIT_MS
    if (isOverdue && this.#heldInBackground === 0 && this.#held < this.#slots) this.#grantInBackground()
    this.#grantToOwners()
    const reserved = this.#slots > 1 ? 1 : 0
    while (this.#waiting === 0 && this.#background.length > 0 && this.#slots - this.#held > reserved)
      this.#grantInBackground()
  }

  #grantInBackground(): void {
    this.#held++
    this.#heldInBackground++
    this.#background.shift()?.grant()
  }

  #grantToOwners(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [name, owner] = next
      const first = owner.waiting.shift()
      if (first === undefined) return
      this.#waiting--
      this.#held++
      owner.held++
      this.#moveToEnd(name, owner)
      if (this.#lastServed.name !== name) this.#servedBefore = this.#lastServed
      this.#lastServed = { name, at: performance.now() }
      first.grant()
    }
  }

  #next(): [string, Owner] | undefined {
    if (this.#waiting === 0 || this.#held >= this.#slots) return undefined
    let found: [string, Owner] | undefined
    for (const entry of this.#owners) {
      const [, owner] = entry
      if (owner.waiting.length > 0 && owner.held < (found?.[1].held ?? Number.POSITIVE_INFINITY)) found = entry
    }
    return found !== undefined && this.#isGrantable(...found) ? found : undefined
  }

  #createSlot(name: string, owner: Owner): Slot {
    return {
      isFirst: owner.held === 1,
      release: once(() => {
        owner.held--
        this.#moveToEnd(name, owner)
        this.#forgetIfIdle(name, owner)
        this.#release()
      }),
    }
  }

  #release(): void {
    this.#held--
    this.#grantFree()
  }

  /** A full queue takes a query of an owner with fewer waiting ones in place of the newest of the owner with the most. */
  #makeRoom(owner: Owner): void {
    const most = [...this.#owners.values()].reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), owner)
    const error = refuse('Limit.Overload', 'Too many queries are waiting', { headers: { 'Retry-After': '1' } })
    if (most.waiting.length <= owner.waiting.length + 1) throw error
    most.waiting.pop()?.refuse(error)
    this.#waiting--
  }

  #moveToEnd(name: string, owner: Owner): void {
    this.#owners.delete(name)
    this.#owners.set(name, owner)
  }

  #forgetIfIdle(name: string, owner: Owner): void {
    if (owner.held === 0 && owner.waiting.length === 0) this.#owners.delete(name)
  }
}

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
