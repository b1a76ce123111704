/** Cuts long work into turns of the event loop, so that other requests are served in between. */

/** The longest run of work without a turn for others, beside what cannot be divided. */
const TURN_MS = 8

/** So many short steps, such as those of a row, are done between two pauses: each pause reads the clock. */
export const STEPS_PER_PAUSE = 32

/** Work that may pause at each `yield`. */
export type Steps<Result> = Generator<void, Result, void>

/** Short work is done at once, and its result returned; longer work continues in further turns, and its result is awaited. */
export function inTurns<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const step = nextTurn(steps)
  return step.done ? step.value : continueLater(steps)
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

function continueLater<Result>(steps: Steps<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const act = (): void => {
      try {
        const step = nextTurn(steps)
        if (step.done) resolve(step.value)
        else setImmediate(act)
      } catch (error) {
        reject(error)
      }
    }
    setImmediate(act)
  })
}

function nextTurn<Result>(steps: Steps<Result>): IteratorResult<void, Result> {
  const end = performance.now() + TURN_MS
  let step = steps.next()
  while (!step.done && performance.now() < end) step = steps.next()
  return step
}

/** Work that cannot be divided, of many callers: in the order in which it came, and of all of it only so much in one turn. */
export class TurnQueue {
  readonly #milliseconds: number
  #waiting: (() => void)[] = []
  #isScheduled = false

  constructor(milliseconds = TURN_MS) {
    this.#milliseconds = milliseconds
  }

  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#waiting.push(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    })
    this.#schedule()
    return promise
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#turn()
      this.#schedule()
    })
  }

  #turn(): void {
    const end = performance.now() + this.#milliseconds
    let done = 0
    do this.#waiting[done++]?.()
    while (done < this.#waiting.length && performance.now() < end)
    this.#waiting = this.#waiting.slice(done)
  }
}
