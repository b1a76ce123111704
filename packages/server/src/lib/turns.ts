/** Shares the event loop: long work is cut into turns, and many callers take turns, so that other requests are served in between. */

/** How long work runs in one turn of the event loop, apart from steps that cannot be divided, and how many turns it waits before the next. */
export interface TurnShare {
  readonly milliseconds: number
  readonly turnsBetween: number
}

/** For work that a request waits for. */
const FOREGROUND: TurnShare = { milliseconds: 8, turnsBetween: 1 }

/** For work that no request waits for. A request needs several turns of the event loop and should not wait in each of them. */
export const BACKGROUND: TurnShare = { milliseconds: 2, turnsBetween: 2 }

/** How many short steps (such as one row) run between two pauses. A pause reads the clock, so pausing after each step would be slow. */
export const STEPS_PER_PAUSE = 32

/** Work that may pause at each `yield`. */
export type Steps<Result> = Generator<void, Result, void>

/** Short work is done at once, and its result returned; longer work continues in further turns, and its result is awaited. */
export function inTurns<Result>(steps: Steps<Result>, share = FOREGROUND): Result | Promise<Result> {
  const step = nextTurn(steps, share)
  return step.done ? step.value : continueLater(steps, share)
}

/** Without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/** Calls `then` with the result: at once if it can. */
export function afterTurns<Result, Then>(
  steps: Steps<Result>,
  then: (result: Result) => Then,
): Then | Promise<Awaited<Then>>
export function afterTurns<Result, Then>(steps: Steps<Result>, then: (result: Result) => Then) {
  const result = inTurns(steps)
  return result instanceof Promise ? result.then(then) : then(result)
}

function continueLater<Result>(steps: Steps<Result>, share: TurnShare): Promise<Result> {
  return new Promise((resolve, reject) => {
    const act = (): void => {
      try {
        const step = nextTurn(steps, share)
        if (step.done) resolve(step.value)
        else afterTurnsOfOthers(share.turnsBetween, act)
      } catch (error) {
        reject(error)
      }
    }
    afterTurnsOfOthers(share.turnsBetween, act)
  })
}

function afterTurnsOfOthers(turns: number, act: () => void): void {
  setImmediate(turns > 1 ? () => afterTurnsOfOthers(turns - 1, act) : act)
}

function nextTurn<Result>(steps: Steps<Result>, { milliseconds }: TurnShare): IteratorResult<void, Result> {
  const end = performance.now() + milliseconds
  let step = steps.next()
  while (!step.done && performance.now() < end) step = steps.next()
  return step
}

/**
 * Work of many callers, each piece of which cannot be divided: done in order of arrival, for a limited time in each turn of the event
 * loop. Work added during a turn waits for the next one, so that a caller who adds more goes to the end of the queue.
 */
export class TurnQueue {
  readonly #milliseconds: number
  #waiting: (() => void)[] = []
  #isScheduled = false

  constructor(milliseconds = FOREGROUND.milliseconds) {
    this.#milliseconds = milliseconds
  }

  add(work: () => void): void {
    this.#waiting.push(work)
    this.#schedule()
  }

  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.add(() => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    const end = performance.now() + this.#milliseconds
    const due = this.#waiting
    let next = 0
    this.#isScheduled = false
    this.#waiting = []
    try {
      do due[next++]?.()
      while (next < due.length && performance.now() < end)
    } finally {
      // An error must not deprive the others of their turn.
      if (next < due.length) this.#waiting = [...due.slice(next), ...this.#waiting]
      if (this.#waiting.length > 0) this.#schedule()
    }
  }
}

let turn = 1
let isTurnEnding = false

/** The number of the turn of the event loop: everything that is read from sockets before `setImmediate` runs is in one turn. */
export function currentTurn(): number {
  if (!isTurnEnding) {
    isTurnEnding = true
    setImmediate(endTurn)
  }
  return turn
}

function endTurn(): void {
  isTurnEnding = false
  turn++
}
