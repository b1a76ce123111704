/** A fixed number of slots with a bounded queue, which its owners share fairly. */

export interface FairQueueLimits {
  readonly slots: number
  readonly waiting: number
}

interface Owner {
  readonly name: string
  held: number
  readonly waiting: Claim[]
}

interface Claim {
  readonly owner: Owner
  /** True: it has a slot. False: the queue is full. */
  readonly settle: (granted: boolean) => void
}

/**
 * Three rules:
 *
 * 1. An owner that holds a slot cannot take the last free one. So with two slots or more, one owner never holds them all, and the first
 *    request of any other owner starts at once.
 * 2. A slot goes to the waiting owner that holds the fewest, and among equals to the one that came, or was served, longest ago.
 * 3. In a full queue, the place of the newest request of the owner with the most goes to an owner with fewer.
 */
export class FairQueue {
  #limits: FairQueueLimits
  /** The owners that hold a slot or wait for one; the last is the one that came, or was served, most recently. */
  readonly #owners = new Map<string, Owner>()
  #held = 0
  #waiting = 0

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  get held(): number {
    return this.#held
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Slots that are held above a lower limit stay so until they are released. */
  setLimits(limits: FairQueueLimits): void {
    this.#limits = limits
    this.#grant()
  }

  /** Resolves with a function that releases the slot, or with `full`, or with `aborted` if the signal was faster. */
  async acquire(name: string, signal: AbortSignal): Promise<(() => void) | 'full' | 'aborted'> {
    if (signal.aborted) return 'aborted'
    const owner = this.#owners.get(name) ?? { name, held: 0, waiting: [] }
    this.#owners.set(name, owner)
    if (owner.waiting.length === 0 && this.#mayTake(owner)) return this.#take(owner)
    if (this.#waiting >= this.#limits.waiting && !this.#makeRoomFor(owner)) {
      this.#forgetIfIdle(owner)
      return 'full'
    }
    const settled = Promise.withResolvers<boolean>()
    const claim = { owner, settle: settled.resolve }
    owner.waiting.push(claim)
    this.#waiting++
    const onAbort = (): void => {
      if (this.#withdraw(claim)) settled.resolve(false)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const granted = await settled.promise
    signal.removeEventListener('abort', onAbort)
    if (granted) return this.#release(owner)
    return signal.aborted ? 'aborted' : 'full'
  }

  /** Rule 1. */
  #mayTake({ held }: Owner): boolean {
    const { slots } = this.#limits
    const free = slots - this.#held
    return free > 0 && (held === 0 || free > 1 || slots === 1)
  }

  #take(owner: Owner): () => void {
    this.#hold(owner)
    return this.#release(owner)
  }

  #hold(owner: Owner): void {
    owner.held++
    this.#held++
    this.#moveToEnd(owner)
  }

  #release(owner: Owner): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      owner.held--
      this.#held--
      this.#moveToEnd(owner)
      this.#grant()
      this.#forgetIfIdle(owner)
    }
  }

  /** Rule 2. */
  #grant(): void {
    for (;;) {
      let next: Owner | undefined
      for (const owner of this.#owners.values())
        if (owner.waiting.length > 0 && this.#mayTake(owner) && (next === undefined || owner.held < next.held))
          next = owner
      const claim = next?.waiting.shift()
      if (next === undefined || claim === undefined) return
      this.#waiting--
      this.#hold(next)
      claim.settle(true)
    }
  }

  /** Rule 3. */
  #makeRoomFor(owner: Owner): boolean {
    let most = owner
    for (const other of this.#owners.values()) if (other.waiting.length > most.waiting.length + 1) most = other
    const claim = most === owner ? undefined : most.waiting.pop()
    if (claim === undefined) return false
    this.#waiting--
    this.#forgetIfIdle(most)
    claim.settle(false)
    return true
  }

  #withdraw(claim: Claim): boolean {
    const { owner } = claim
    const index = owner.waiting.indexOf(claim)
    if (index < 0) return false
    owner.waiting.splice(index, 1)
    this.#waiting--
    this.#forgetIfIdle(owner)
    return true
  }

  #moveToEnd(owner: Owner): void {
    this.#owners.delete(owner.name)
    this.#owners.set(owner.name, owner)
  }

  #forgetIfIdle(owner: Owner): void {
    if (owner.held === 0 && owner.waiting.length === 0) this.#owners.delete(owner.name)
  }
}
