/** The memory of live statements: charged to their owners, and reclaimed in one pass when there is not enough. */
import type { Refusal } from 'gatehouse-protocol'
import { type LiveLimits, ownerShare, tooManyBytes, tooManyOwnBytes } from '../limits.ts'
import type { LiveMessages } from './messages.ts'

/** A subscriber, as far as memory is concerned. None of its methods throws. */
export interface MemoryUser {
  readonly owner: string
  /** Its statement ends. */
  end(reason: Refusal): void
  /** Drops what waits for it; it starts over when it reads again. Until then it needs no memory. */
  overflow(): void
}

/** What memory is used for. */
export interface Reclaimable {
  /**
   * For a result: forgets the recent changes, all of them or all but the last. Subscribers that are behind, and clients that reconnect,
   * then need a snapshot. Returns the bytes that are left.
   */
  shorten?(kept: 'last' | 'none'): number
  /** Called when there are no users left. */
  drop(): void
}

export interface BudgetEnv {
  readonly limits: LiveLimits
  /** Drops the result that has had no followers for longest; false if there is none. */
  readonly dropIdle: () => boolean
}

/** The memory that an owner is charged for: its parts of these charges. */
interface Account {
  bytes: number
  readonly charges: Set<Charge>
}

/** The unit of what an owner is charged. */
const ROUNDING = 1024
/** Frees more than needed, so that not every change starts another pass. */
const LOW_WATER = 0.9

export class MemoryBudget {
  readonly #env: BudgetEnv
  readonly #results = new Set<Charge>()
  /** Messages that slow readers have not been sent yet. Subscribers at the same version share them. */
  readonly #unsent = new Map<LiveMessages, Charge>()
  readonly #accounts = new Map<string, Account>()
  /** The owners with more than their share. */
  readonly #beyondShare = new Set<string>()
  #bytes = 0
  #isReclaiming = false

  constructor(env: BudgetEnv) {
    this.#env = env
  }

  get #limit(): number {
    return this.#env.limits.bytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** For a result that has no users yet. */
  chargeFor(result: Reclaimable): Charge {
    const charge = new Charge(this, result)
    this.#results.add(charge)
    return charge
  }

  /** For a result that is no longer kept. */
  remove(charge: Charge): void {
    charge.clear()
    this.#results.delete(charge)
  }

  /** Counts messages that a subscriber has not been sent. A Reset and the current state of the result take no additional memory. */
  hold(messages: LiveMessages, user: MemoryUser): void {
    const { bytes } = messages
    let charge = this.#unsent.get(messages)
    if (charge === undefined) {
      if (bytes === 0) return
      charge = new Charge(this, { drop: () => this.#forget(messages) })
      this.#unsent.set(messages, charge)
    }
    charge.add(user)
    charge.resize(bytes)
  }

  letGo(messages: LiveMessages, user: MemoryUser): void {
    const charge = this.#unsent.get(messages)
    if (charge?.delete(user) === true && charge.size === 0) this.#forget(messages)
  }

  #forget(messages: LiveMessages): void {
    this.#unsent.get(messages)?.clear()
    this.#unsent.delete(messages)
  }

  /** Called by charges: memory has been taken or freed. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Called by charges: the part of an owner has changed. */
  setPart(owner: string, charge: Charge, before: number, after: number): void {
    const account: Account = this.#accounts.get(owner) ?? { bytes: 0, charges: new Set() }
    account.bytes += after - before
    if (charge.hasOwner(owner)) account.charges.add(charge)
    else account.charges.delete(charge)
    if (account.charges.size === 0) this.#accounts.delete(owner)
    else this.#accounts.set(owner, account)
    if (account.bytes > ownerShare(this.#env.limits)) this.#beyondShare.add(owner)
    else this.#beyondShare.delete(owner)
  }

  /**
   * Frees memory until everything is within its limits. Subscribers that end or are reset during the pass only change the counts: the
   * pass alone decides what to remove next. Each step removes something and none adds any, so the pass terminates.
   */
  reclaim(): void {
    if (this.#isReclaiming || (this.#bytes <= this.#limit && this.#beyondShare.size === 0)) return
    this.#isReclaiming = true
    try {
      for (const owner of this.#beyondShare) this.#reclaimShare(owner)
      if (this.#bytes > this.#limit) this.#reclaimAll()
    } finally {
      this.#isReclaiming = false
    }
  }

  #reclaimShare(owner: string): void {
    const isBeyond = (): boolean => this.#beyondShare.has(owner)
    for (const charge of this.#accounts.get(owner)?.charges ?? []) if (isBeyond()) charge.shorten('last')
    while (isBeyond() && this.#takeFrom(owner, tooManyOwnBytes()));
  }

  /** Results without followers go first, then recent changes. Statements end last: those of the owner with the most memory. */
  #reclaimAll(): void {
    while (this.#bytes > this.#limit && this.#env.dropIdle());
    if (this.#bytes > this.#limit)
      for (const charge of this.#results) if (this.#bytes > LOW_WATER * this.#limit) charge.shorten('last')
    while (this.#bytes > this.#limit) {
      const owner = this.#heaviest()
      if (owner === undefined || !this.#takeFrom(owner, tooManyBytes())) return
    }
  }

  #heaviest(): string | undefined {
    let [heaviest, most]: [string | undefined, number] = [undefined, 0]
    for (const [owner, { bytes }] of this.#accounts) if (bytes > most) [heaviest, most] = [owner, bytes]
    return heaviest
  }

  /**
   * The recent changes of a result; if there are none, what has waited longest for a slow reader of the owner; if nothing waits, the
   * largest result. False if there is nothing.
   */
  #takeFrom(owner: string, reason: Refusal): boolean {
    const charges = [...(this.#accounts.get(owner)?.charges ?? [])]
    if (charges.some((charge) => charge.shorten('none'))) return true
    const unsent = charges.find(({ isResult }) => !isResult)
    const taken = unsent ?? charges.reduce<Charge | undefined>((a, b) => (b.part > (a?.part ?? 0) ? b : a), undefined)
    if (taken === undefined) return false
    const users = taken.release(owner)
    if (taken.size === 0) taken.drop()
    for (const user of users) {
      if (taken === unsent) user.overflow()
      else user.end(reason)
    }
    return true
  }
}

/** The memory of a result or of unsent messages, charged in equal parts to the owners of its users. */
export class Charge {
  readonly #budget: MemoryBudget
  readonly #thing: Reclaimable
  readonly #users = new Set<MemoryUser>()
  /** How many of the users each owner has. */
  readonly #owners = new Map<string, number>()
  #bytes = 0
  #part = 0

  constructor(budget: MemoryBudget, thing: Reclaimable) {
    this.#budget = budget
    this.#thing = thing
  }

  /** It is a result, not messages. */
  get isResult(): boolean {
    return this.#thing.shorten !== undefined
  }

  get size(): number {
    return this.#users.size
  }

  /** The bytes that each owner is charged. */
  get part(): number {
    return this.#part
  }

  has(user: MemoryUser): boolean {
    return this.#users.has(user)
  }

  hasOwner(owner: string): boolean {
    return this.#owners.has(owner)
  }

  add(user: MemoryUser): void {
    if (this.#users.has(user)) return
    this.#users.add(user)
    const count = this.#owners.get(user.owner) ?? 0
    this.#owners.set(user.owner, count + 1)
    if (count === 0) this.#divide(user.owner)
    this.#budget.reclaim()
  }

  /** False if it was not a user. */
  delete(user: MemoryUser): boolean {
    if (!this.#users.delete(user)) return false
    const count = this.#owners.get(user.owner) ?? 0
    if (count > 1) this.#owners.set(user.owner, count - 1)
    else {
      this.#owners.delete(user.owner)
      this.#budget.setPart(user.owner, this, this.#part, 0)
      this.#divide()
      this.#budget.reclaim()
    }
    return true
  }

  resize(bytes: number): void {
    this.#setBytes(bytes)
    this.#budget.reclaim()
  }

  /** False if there was nothing to forget. */
  shorten(kept: 'last' | 'none'): boolean {
    const before = this.#bytes
    if (this.#thing.shorten !== undefined) this.#setBytes(this.#thing.shorten(kept))
    return this.#bytes < before
  }

  drop(): void {
    this.#thing.drop()
  }

  /** Takes it from an owner, and returns the users of this owner. */
  release(owner: string): readonly MemoryUser[] {
    const users = [...this.#users].filter((user) => user.owner === owner)
    for (const user of users) this.#users.delete(user)
    this.#owners.delete(owner)
    this.#budget.setPart(owner, this, this.#part, 0)
    this.#divide()
    return users
  }

  clear(): void {
    this.#setBytes(0)
    for (const owner of [...this.#owners.keys()]) this.release(owner)
  }

  #setBytes(bytes: number): void {
    this.#budget.count(bytes - this.#bytes)
    this.#bytes = bytes
    this.#divide()
  }

  /** Parts are rounded, so that one more owner among many, or a small change, rarely requires recounting all parts. */
  #divide(added?: string): void {
    const before = this.#part
    const owners = this.#owners.size
    this.#part = owners === 0 ? 0 : Math.ceil(this.#bytes / owners / ROUNDING) * ROUNDING
    if (added !== undefined) this.#budget.setPart(added, this, 0, this.#part)
    if (this.#part === before) return
    for (const owner of this.#owners.keys()) if (owner !== added) this.#budget.setPart(owner, this, before, this.#part)
  }
}
