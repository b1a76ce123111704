/** A fixed number of slots, such as reader processes or connections, that the owners of queries share fairly. */
import { refuse } from '../../errors.ts'
import type { Stoppable } from '../engine.ts'
import { Expectations, type OwnTime } from './expectations.ts'
import { missedTurn } from './missed-turn.ts'

export interface SlotRequest {
  readonly owner: string
  /** The text under which the slots remember whether it was long; without one it is expected to be short. */
  readonly statement?: string | undefined
  /** It will run for long, or has done so. */
  readonly isLong?: boolean | undefined
}

export interface Slot {
  /** The owner held no other slot when it got this one. */
  readonly isFirst: boolean
  /** The work must stop and wait again, as long work: the slots for long work are taken. */
  readonly isPreempted: boolean
  /** The work starts now, or again. After half a second it is long, and `stop` is called if it is preempted then. */
  begin(stop: () => void, ownTime?: OwnTime): void
  /** Whether the work may take long. */
  becomeLong(): boolean
  preempt(): void
  /** Further calls do nothing. */
  release(): void
}

interface Owner {
  readonly name: string
  held: number
  /** How many of these slots have long work. */
  long: number
  readonly waiting: Claim[]
}

/** A request that waits for a slot, and then holds one. */
interface Claim {
  readonly request: SlotRequest
  /** The statement together with its owner. */
  readonly key: string | undefined
  /** Undefined for work in the background. */
  readonly owner: Owner | undefined
  readonly since: number
  /** It holds one of the slots for long work. */
  isLong: boolean
  readonly grant: () => void
  readonly refuse: (error: unknown) => void
}

interface Served {
  readonly name: string | undefined
  readonly at: number
}

const NONE_SERVED: Served = { name: undefined, at: Number.NEGATIVE_INFINITY }

/** Work that runs longer is long. */
export const LONG_MS = 500
/** How much elapsed time the first half second of the work's own time may take on a busy machine, if no short work waits. */
const MAX_SHORT_MS = 5000
const CHECK_MS = 100
/** After this wait, background work and long work go before all other work. */
const OVERDUE_MS = 1000
/** Owners are expected to send again within this time. */
const RECENT_MS = 10_000

export interface FairSlotsOptions {
  /** The slots for long work: rule 3 holds. By default all. */
  readonly long?: number
  /** What runs in one slot slows down the others: rule 5 holds. */
  readonly isHalfForOthers?: boolean
}

/**
 * Five rules:
 *
 * 1. An owner that holds a slot cannot take the last free one, nor the last for long work if it has such work. So with two slots or
 *    more, one owner never holds them all, and the first query of any other owner starts at once.
 * 2. A slot goes to the waiting owner that holds the fewest, and among equals to the one that was served longest ago.
 *    So an owner without a slot gets the next one that is released, however many queries of others wait.
 * 3. Long work has a number of slots, and never takes the others: short work of any owner does not wait for it. Which work is long is
 *    not known beforehand. Work that turns out to be long while these slots are taken is preempted: it is stopped, and waits for one of
 *    them. While an owner has long work, and for ten seconds after some was preempted, its other work is expected to be long too, unless
 *    it was short in the last ten seconds. Short work goes first, unless no long work runs and some has waited too long.
 * 4. Work in the background gets a slot when nothing else waits, and leaves the last free one to others. If it has waited too long, it
 *    goes before all others, one at a time in addition to long work.
 * 5. As an option: an owner gets at most half of the slots while others have some, wait, or were served in the last ten seconds.
 */
export class FairSlots {
  readonly #slots: number
  readonly #maxLong: number
  readonly #maxWaiting: number
  readonly #isHalfForOthers: boolean
  /** The owners that hold a slot or wait for one; the most recently served is last. */
  readonly #owners = new Map<string, Owner>()
  readonly #background: Claim[] = []
  readonly #expected = new Expectations()
  #held = 0
  #heldLong = 0
  /** Slots with work in the background that is not long. */
  #shortInBackground = 0
  #waiting = 0
  /** The owner that was served last, and the last different owner before it. */
  #lastServed: Served = NONE_SERVED
  #servedBefore: Served = NONE_SERVED

  constructor(slots: number, maxWaiting: number, { long = slots, isHalfForOthers = false }: FairSlotsOptions = {}) {
    this.#slots = slots
    this.#maxLong = long
    this.#maxWaiting = maxWaiting
    this.#isHalfForOthers = isHalfForOthers
  }

  get waiting(): number {
    return this.#waiting + this.#background.length
  }

  /** Whether another owner is waiting. */
  isWantedByOthers(owner: string): boolean {
    return this.#waiting > (this.#owners.get(owner)?.waiting.length ?? 0)
  }

  /** Whether others than the owner have a slot, wait for one, or were served in the last ten seconds. */
  isUsedByOthers(owner: string): boolean {
    if (this.#owners.size > (this.#owners.has(owner) ? 1 : 0)) return true
    const { at } = this.#lastServed.name === owner ? this.#servedBefore : this.#lastServed
    return at > performance.now() - RECENT_MS
  }

  /** If the signal aborts the wait, throws its reason, or `missedTurn` if the reason is the time limit. */
  acquire(request: SlotRequest, running: Stoppable): Promise<Slot> {
    const { owner: name } = request
    const owner = this.#owners.get(name) ?? { name, held: 0, long: 0, waiting: [] }
    return this.#claim(request, owner, running)
  }

  /** For work in the background. The queue has no limit: the caller bounds how much of it there is. */
  acquireInBackground(request: SlotRequest, running: Stoppable): Promise<Slot> {
    return this.#claim(request, undefined, running)
  }

  #claim(request: SlotRequest, owner: Owner | undefined, running: Stoppable): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const { signal } = running
      signal.throwIfAborted()
      const queue = owner?.waiting ?? this.#background
      let hasWaited = false
      let overdue: NodeJS.Timeout | undefined
      const stopListening = (): void => {
        signal.removeEventListener('abort', abort)
        clearTimeout(overdue)
      }
      const claim: Claim = {
        request,
        key: request.statement === undefined ? undefined : `${request.owner} ${request.statement}`,
        owner,
        since: performance.now(),
        isLong: false,
        grant: () => {
          stopListening()
          if (hasWaited) running.restart?.()
          resolve(this.#createSlot(claim))
        },
        refuse: (error) => {
          stopListening()
          reject(error)
        },
      }
      const abort = (): void => {
        clearTimeout(overdue)
        queue.splice(queue.indexOf(claim), 1)
        if (owner !== undefined) this.#countWaiting(owner, -1)
        reject(missedTurn(signal.reason))
      }
      signal.addEventListener('abort', abort, { once: true })
      queue.push(claim)
      if (owner !== undefined) {
        this.#owners.set(owner.name, owner)
        this.#waiting++
      }
      this.#grantFree()
      hasWaited = true
      if (owner === undefined && queue.includes(claim))
        overdue = setTimeout(() => this.#grantFree(), OVERDUE_MS + 1).unref()
      if (owner !== undefined && this.#waiting > this.#maxWaiting) this.#refuseNewest(owner)
    })
  }

  /** Refuses everything that waits. */
  close(error: unknown): void {
    for (const claim of this.#background.splice(0)) claim.refuse(error)
    for (const owner of [...this.#owners.values()]) {
      for (const claim of owner.waiting.splice(0)) {
        this.#countWaiting(owner, -1)
        claim.refuse(error)
      }
    }
  }

  #grantFree(): void {
    if (this.#shortInBackground === 0 && this.#held < this.#slots) {
      const overdue = this.#background.find((claim) => isOverdue(claim) && this.#isGrantableInBackground(claim))
      if (overdue !== undefined) this.#grantInBackground(overdue)
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#grantToOwner(next)
    const reserved = this.#slots > 1 ? 1 : 0
    while (this.#waiting === 0 && this.#slots - this.#held > reserved) {
      const next = this.#background.find((claim) => this.#isGrantableInBackground(claim))
      if (next === undefined) break
      this.#grantInBackground(next)
    }
  }

  #isGrantableInBackground(claim: Claim): boolean {
    return !this.#isExpectedLong(claim) || this.#heldLong < this.#maxLong
  }

  #grantInBackground(claim: Claim): void {
    this.#held++
    this.#shortInBackground++
    if (this.#isExpectedLong(claim)) this.#takeLong(claim)
    this.#background.splice(this.#background.indexOf(claim), 1)
    claim.grant()
  }

  #grantToOwner({ owner, claim }: Candidate): void {
    owner.waiting.splice(owner.waiting.indexOf(claim), 1)
    this.#waiting--
    this.#held++
    owner.held++
    if (this.#isExpectedLong(claim)) this.#takeLong(claim)
    this.#moveToEnd(owner)
    if (this.#lastServed.name !== owner.name) this.#servedBefore = this.#lastServed
    this.#lastServed = { name: owner.name, at: performance.now() }
    claim.grant()
  }

  #next(): Candidate | undefined {
    if (this.#waiting === 0 || this.#held >= this.#slots) return undefined
    const short = this.#first(false)
    const long = this.#heldLong < this.#maxLong ? this.#first(true) : undefined
    const isLongFirst = long !== undefined && this.#heldLong === 0 && isOverdue(long.claim)
    return (isLongFirst ? [long, short] : [short, long]).find(
      (candidate) => candidate !== undefined && this.#isGrantable(candidate),
    )
  }

  get #isShortWorkWaiting(): boolean {
    return this.#first(false) !== undefined || this.#background.some(isOverdue)
  }

  /** Of the owner that has the fewest slots, or the fewest with long work. */
  #first(isLong: boolean): Candidate | undefined {
    const countSlots = ({ long, held }: Owner): number => (isLong ? long : held)
    let found: Candidate | undefined
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length === 0 || (found !== undefined && countSlots(owner) >= countSlots(found.owner))) continue
      const claim = owner.waiting.find((waiting) => this.#isExpectedLong(waiting) === isLong)
      if (claim !== undefined) found = { owner, claim, isLong }
    }
    return found
  }

  #isGrantable({ owner, isLong }: Candidate): boolean {
    return this.#mayTake(owner, owner.held, this.#held, this.#slots) && (!isLong || this.#mayTakeLong(owner))
  }

  #mayTakeLong(owner: Owner): boolean {
    return this.#mayTake(owner, owner.long, this.#heldLong, this.#maxLong)
  }

  /** Whether an owner that has `own` of the slots may have one more. */
  #mayTake({ name }: Owner, own: number, held: number, slots: number): boolean {
    if (own === 0) return held < slots
    const isHalf = this.#isHalfForOthers && own >= Math.floor(slots / 2)
    return held < slots - 1 && !(isHalf && this.isUsedByOthers(name))
  }

  #isExpectedLong(claim: Claim): boolean {
    return claim.request.isLong === true || this.#expected.isLong(claim)
  }

  /** False if there is no slot for long work. */
  #takeLong(claim: Claim): boolean {
    const { owner } = claim
    if (claim.isLong) return true
    if (owner === undefined ? this.#heldLong >= this.#maxLong : !this.#mayTakeLong(owner)) return false
    claim.isLong = true
    this.#heldLong++
    if (owner === undefined) this.#shortInBackground--
    else owner.long++
    return true
  }

  #createSlot(claim: Claim): Slot {
    const { owner } = claim
    let state: 'granted' | 'begun' | 'long' | 'released' = 'granted'
    let timer: NodeJS.Timeout | undefined
    const slot = {
      isFirst: owner?.held === 1,
      isPreempted: false,
      begin: (stop: () => void, ownTime: OwnTime = () => undefined): void => {
        clearTimeout(timer)
        state = 'begun'
        const end = performance.now() + MAX_SHORT_MS
        const check = (): void => {
          if ((ownTime() ?? LONG_MS) < LONG_MS && performance.now() < end && !this.#isShortWorkWaiting) {
            timer = setTimeout(check, CHECK_MS).unref()
            return
          }
          state = 'long'
          if (this.#takeLong(claim)) return
          slot.preempt()
          stop()
        }
        timer = setTimeout(check, LONG_MS).unref()
      },
      becomeLong: () => this.#takeLong(claim),
      preempt: (): void => {
        state = 'long'
        slot.isPreempted = true
        this.#expected.wasPreempted(claim)
      },
      release: (): void => {
        if (state === 'released') return
        clearTimeout(timer)
        if (state === 'begun') this.#expected.wasShort(claim)
        state = 'released'
        this.#release(claim)
      },
    }
    return slot
  }

  #release({ owner, isLong }: Claim): void {
    this.#held--
    if (isLong) this.#heldLong--
    if (owner === undefined) {
      if (!isLong) this.#shortInBackground--
    } else {
      owner.held--
      if (isLong) owner.long--
      this.#moveToEnd(owner)
      this.#forgetIfIdle(owner)
    }
    this.#grantFree()
  }

  /** If the queue is full, a query of an owner with fewer waiting ones replaces the newest query of the owner with the most. */
  #refuseNewest(owner: Owner): void {
    const most = [...this.#owners.values()].reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), owner)
    const newest = most.waiting.pop()
    this.#countWaiting(most, -1)
    newest?.refuse(refuse('Limit.Overload', 'Too many queries are waiting'))
  }

  #countWaiting(owner: Owner, change: number): void {
    this.#waiting += change
    this.#forgetIfIdle(owner)
  }

  #moveToEnd(owner: Owner): void {
    this.#owners.delete(owner.name)
    this.#owners.set(owner.name, owner)
  }

  #forgetIfIdle(owner: Owner): void {
    if (owner.held === 0 && owner.waiting.length === 0) this.#owners.delete(owner.name)
  }
}

interface Candidate {
  readonly owner: Owner
  readonly claim: Claim
  readonly isLong: boolean
}

function isOverdue({ since }: Claim): boolean {
  return since <= performance.now() - OVERDUE_MS
}
