/**
 * Plans of long statements. Each is made in steps, between which other requests are served: callers take turns, and all of them together
 * get a quarter of the time in the long run. A caller who sends long statements waits for their plans; other callers do not.
 */
import { Refusal } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'
import type { Steps } from '../../lib/turns.ts'
import { type CachedPlan, isPlannedFor, type PlanRights } from './plan-caches.ts'

/** Statements with fewer characters are planned at once, which takes a millisecond at most. */
export const LONG_CHARACTERS = 4000

/** Thrown while the plan is still being made. The caller waits for `ready` and asks again: see `whenPlanned`. */
export class PlanPending extends Error {
  /** Also resolves if the statement is refused: then asking again throws the error. */
  readonly ready: Promise<void>

  constructor(ready: Promise<void>) {
    super('The plan is being made')
    this.ready = ready
  }
}

/** What `act` returns, once the plans that it asks for are made. It must have done nothing before it asks. */
export function whenPlanned<Result>(act: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    const result = act()
    return result instanceof Promise ? result.catch((error) => afterPlan(error, act)) : result
  } catch (error) {
    return afterPlan(error, act)
  }
}

async function afterPlan<Result>(error: unknown, act: () => Result | Promise<Result>): Promise<Result> {
  if (!(error instanceof PlanPending)) throw error
  await error.ready
  return whenPlanned(act)
}

/** Characters of statements whose plans are kept for a short time: from Parse to Bind, or for a statement that is repeated. */
const KEPT_CHARACTERS = 400_000
/** How long steps are done in one turn of the event loop; a single step can take longer. */
const TURN_MS = 1
/** What all may take without a pause, and which part of the time from then on. */
const BURST_MS = 100
const SHARE = 0.25

interface Made<Plan> {
  readonly scopes: ReadonlySet<string>
  readonly plan?: Plan
  readonly refusal?: Refusal
}

interface Job {
  /** Makes one step; true after the last one. */
  next(): boolean
}

export class LongPlans<Plan extends Pick<CachedPlan, 'scopes' | 'licensed'>> {
  readonly #made = new LruMap<Made<Plan>>(KEPT_CHARACTERS, (_made, key) => key.length)
  /** By caller, in the order of their turns. */
  readonly #jobs = new Map<string, Job[]>()
  #isScheduled = false
  /** Of the time that was taken, what is not made up for by the time since. */
  #debtMs = 0
  #at = 0

  /** Throws if the statement was refused. */
  find(key: string, rights: PlanRights): Plan | undefined {
    const made = this.#made.get(key)
    if (made === undefined || made.scopes !== rights.scopes) return undefined
    if (made.plan !== undefined) return isPlannedFor(made.plan, rights) ? made.plan : undefined
    throw made.refusal
  }

  /** Resolves when `find` finds the plan or the refusal. */
  make(owner: string, key: string, rights: PlanRights, steps: () => Steps<Plan>): Promise<void> {
    return new Promise((resolve, reject) => {
      let begun: Steps<Plan> | undefined
      const next = (): boolean => {
        try {
          // Another request may have brought it in the meantime.
          if (begun === undefined && this.#isMade(key, rights)) {
            resolve()
            return true
          }
          begun ??= steps()
          const step = begun.next()
          if (step.done !== true) return false
          this.#made.set(key, { scopes: rights.scopes, plan: step.value })
          resolve()
        } catch (error) {
          if (error instanceof PlanPending) {
            begun = undefined
            error.ready.then(resolve, reject)
          } else if (error instanceof Refusal) {
            this.#made.set(key, { scopes: rights.scopes, refusal: error })
            resolve()
          } else reject(error)
        }
        return true
      }
      const jobs = this.#jobs.get(owner)
      if (jobs === undefined) this.#jobs.set(owner, [{ next }])
      else jobs.push({ next })
      this.#schedule()
    })
  }

  clear(): void {
    this.#made.clear()
  }

  #isMade(key: string, rights: PlanRights): boolean {
    const made = this.#made.get(key)
    if (made === undefined || made.scopes !== rights.scopes) return false
    return made.plan === undefined || isPlannedFor(made.plan, rights)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const now = performance.now()
    this.#debtMs = Math.max(0, this.#debtMs - (now - this.#at) * SHARE)
    this.#at = now
    const pause = (this.#debtMs - BURST_MS) / SHARE
    const turn = (): void => this.#turn()
    if (pause > 0) setTimeout(turn, pause)
    // A request of another connection needs several turns, and should not wait in each of them.
    else setImmediate(() => setImmediate(turn))
  }

  #turn(): void {
    this.#isScheduled = false
    const began = performance.now()
    let spent = 0
    let isMade = false
    do {
      isMade = this.#step()
      spent = performance.now() - began
      // A caller that waits for a plan takes it before further ones replace it.
    } while (!isMade && this.#jobs.size > 0 && spent < TURN_MS)
    this.#debtMs += spent
    if (this.#jobs.size > 0) this.#schedule()
  }

  /** Makes one step for the first caller in the queue, who then goes to its end. Returns whether it was the last step of a plan. */
  #step(): boolean {
    const [first] = this.#jobs
    if (first === undefined) return false
    const [owner, jobs] = first
    this.#jobs.delete(owner)
    const isMade = jobs[0]?.next() === true
    if (isMade) jobs.shift()
    if (jobs.length > 0) this.#jobs.set(owner, jobs)
    return isMade
  }
}
