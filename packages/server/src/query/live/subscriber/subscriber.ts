/** One subscriber of a live result: what it has been sent, and what it is sent next. */

import type { Principal, Refusal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import type { TurnQueue } from '../../../lib/turns.ts'
import { callOwner } from '../../run/call.ts'
import type { LiveMessage, LiveRequest, ResetReason } from '../contract.ts'
import type { LiveCounts } from '../counts.ts'
import { failed } from '../limits.ts'
import type { Follower, LiveResult, Step } from '../results/live-result.ts'
import type { MemoryBudget, MemoryUser } from '../results/memory-budget.ts'
import { type LiveMessages, NO_MESSAGES, RESETS } from '../results/messages.ts'
import type { Start } from '../resume.ts'
import { UnsentMessages } from './unsent-messages.ts'

export interface SubscriberEnv {
  readonly counts: LiveCounts
  /** Called when the result is no longer followed. */
  readonly release: (result: LiveResult, subscriber: Subscriber) => void
  /** Plans the statement again for a caller whose rights may have changed. */
  readonly replan: (subscriber: Subscriber, principal: Principal) => void
  readonly hasEnded: (subscriber: Subscriber) => void
  /** Undefined: it is known what the caller may see. Otherwise resolves when it is, and until then nothing is sent. */
  readonly catchUp: (subscriber: Subscriber) => Promise<void> | undefined
  readonly turns: TurnQueue
  /** Counts messages that wait to be sent. */
  readonly budget: Pick<MemoryBudget, 'hold' | 'letGo'>
  readonly onError: (error: unknown) => void
}

/** A timer may be early by a fraction of a millisecond. */
const TOLERANCE_MS = 1

/**
 * A fault ends this statement with an error, and no other: its methods do not throw.
 *
 * It has five states that are independent of each other:
 *
 *   caller   not started → started; paused or not; from any of these → closed, by `close`, or by `end` with a reason
 *   result   none → followed, by `follow` → none, by `leave` when rights or tables have changed → another
 *   client   version 0: a snapshot is next → the version of each step that is taken; back to 0 by a Reset
 *   queue    empty → preparing, if the step is not ready at once → messages, which are sent one by one → empty; a Reset replaces the
 *            messages and makes the preparation void
 *   resume   nothing; or `#answers` how → its answer is queued (`#isAnswerQueued`) → answered when the first message is sent. A Reset
 *            before that makes it `not recovered`: the snapshot answers it
 *
 * `#pump` sends what it can, and is called at each transition that can make it possible. Nothing is sent while the caller has not started,
 * has paused or closed, or while a step is prepared or the node catches up (`#isHeld`), and no step is taken without a result.
 */
export class Subscriber implements RunningSubscription, Follower, MemoryUser {
  readonly request: LiveRequest
  readonly owner: string
  readonly startedAt: number
  principal: Principal
  readonly #sink: SubscriberSink<LiveMessage>
  readonly #env: SubscriberEnv
  /** Undefined while another result is read. */
  #result: LiveResult | undefined
  /** The version that the client holds once the queue is sent; 0: a snapshot must come first. */
  #version = 0
  readonly #queue: UnsentMessages
  /** The next message answers a resume: a Change with `Recovered` true, or a snapshot with `Recovered` false. */
  #answers: 'nothing' | 'recovered' | 'not recovered' = 'nothing'
  /** The queue is that message. */
  #isAnswerQueued = false
  /** The step that is encoded, or the turn or the knowledge that is waited for. A Reset may overtake it. */
  #preparing: symbol | undefined
  /** The caller is ready to be sent messages. */
  #isStarted = false
  #isPaused = false
  #isClosed = false
  /** `subscribe` has succeeded, or is about to. */
  #hasFollowed = false
  #endedBy: Refusal | undefined
  #lastChangeAt = Number.NEGATIVE_INFINITY
  #lastMessageAt = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(request: LiveRequest, sink: SubscriberSink<LiveMessage>, env: SubscriberEnv, startedAt: number) {
    this.request = request
    this.owner = callOwner(request.principal)
    this.principal = request.principal
    this.startedAt = startedAt
    this.#sink = sink
    this.#env = env
    this.#queue = new UnsentMessages(this, env.budget)
  }

  get result(): LiveResult | undefined {
    return this.#result
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The reason if it ended before it followed a result. */
  get endedBy(): Refusal | undefined {
    return this.#endedBy
  }

  /** Follows a result, and releases it later in place of the caller. */
  follow(result: LiveResult, start: Start | undefined): void {
    this.#hasFollowed = true
    this.#result = result
    result.followers.add(this)
    result.evaluator?.addRate(this.request.maxRate)
    if (start?.kind === 'version') {
      this.#version = start.version
      this.#answers = 'recovered'
    } else if (start?.kind === 'step') {
      this.#answers = 'recovered'
      this.#take(start.step)
    } else if (start?.kind === 'expired') {
      this.#answers = 'not recovered'
      this.reset('Expired')
    }
    this.#pump()
  }

  /** The rows that the client holds are void. A snapshot follows when there is a result. */
  reset(reason: ResetReason): void {
    this.#startAnew(reason)
    this.#pump()
  }

  /** Sends nothing now: the memory budget is in the middle of its pass. */
  overflow(): void {
    this.#startAnew('Overflow')
    this.#env.turns.add(() => this.#pump())
  }

  #startAnew(reason: ResetReason): void {
    this.#env.counts.resets[reason]++
    // If a position has not been answered yet, the snapshot does it.
    const isAnswered = this.#answers === 'nothing' && !(this.#isAnswerQueued && !this.#queue.isBegun)
    if (!isAnswered) this.#answers = 'not recovered'
    this.#preparing = undefined
    this.#version = 0
    this.#setQueue(RESETS[reason])
  }

  /** Leaves its result. Only the queue is sent until it follows another. */
  leave(): void {
    const result = this.#result
    if (result === undefined) return
    this.#result = undefined
    clearTimeout(this.#timer)
    result.followers.delete(this)
    result.evaluator?.removeRate(this.request.maxRate)
    this.#env.release(result, this)
  }

  start(): void {
    this.#isStarted = true
    this.#pump()
  }

  resultChanged(): void {
    this.#pump()
  }

  drained(): void {
    this.#pump()
  }

  /** Nothing happens if the statement still means the same; a Reset follows if not; it ends if the caller may not run it any more. */
  setPrincipal(principal: Principal): void {
    if (!this.#isClosed) this.#guard(() => this.#env.replan(this, principal))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(principal: Principal): void {
    this.#isPaused = false
    this.setPrincipal(principal)
    this.#pump()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#setQueue(NO_MESSAGES)
    this.leave()
    this.#env.hasEnded(this)
  }

  end(reason: Refusal): void {
    if (this.#isClosed) return
    this.close()
    this.#endedBy = reason
    // Before it follows anything, the caller of `subscribe` is refused; until it starts, the caller may not be ready.
    if (this.#isStarted) this.#tellEnd(reason)
    else if (this.#hasFollowed) setImmediate(() => this.#tellEnd(reason))
  }

  #tellEnd(reason: Refusal): void {
    try {
      this.#sink.end(reason)
    } catch (error) {
      this.#env.onError(error)
    }
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#env.onError(error)
    this.end(failed())
  }

  /** Sends the position if there has been no message for a while. */
  tellProgress(now: number, afterMs: number): void {
    const result = this.#result
    if (result === undefined || this.#version !== result.version || !this.#queue.isEmpty) return
    if (this.#isHeld || result.evaluator?.isFailing === true || now - this.#lastMessageAt < afterMs) return
    this.#guard(() => {
      if (this.#sink.maySend) this.#send(result.progress())
    })
  }

  /** Nothing is sent, whether or not the sink may send. */
  get #isHeld(): boolean {
    return this.#isClosed || !this.#isStarted || this.#isPaused || this.#preparing !== undefined
  }

  /** Sends everything that can be sent now. */
  #pump(isTurn = false): void {
    try {
      this.#sendAll(isTurn)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Checks the sink only once for each message, because the check is the most expensive step. `isTurn`: a message may be encoded now. */
  #sendAll(isTurn: boolean): void {
    let maySend = false
    while (!this.#isHeld && this.#hasMore) {
      maySend ||= this.#sink.maySend
      if (!maySend || this.#mustCatchUp()) break
      if (!this.#queue.isEmpty) {
        if (!this.#queue.isEncoded && !isTurn) {
          this.#waitForTurn()
          break
        }
        this.#send(this.#queue.take())
        maySend = false
        isTurn = false
        continue
      }
      this.#setQueue(NO_MESSAGES)
      const step = this.#nextStep()
      if (step === undefined) return
      if (step instanceof Promise) this.#prepare(step)
      else this.#take(step)
    }
    if (this.#queue.isEmpty) this.#setQueue(NO_MESSAGES)
    else if (!this.#isClosed) this.#queue.hold()
  }

  /** This node does not know what others have changed: what the caller may see, either. */
  #mustCatchUp(): boolean {
    const catchingUp = this.#env.catchUp(this)
    if (catchingUp === undefined) return false
    const waiting = Symbol('catching up')
    this.#preparing = waiting
    catchingUp.then(() => {
      if (this.#preparing !== waiting) return
      this.#preparing = undefined
      this.#pump()
    }, this.#env.onError)
    return true
  }

  /** Subscribers take turns to encode messages, so that the event loop is not held. */
  #waitForTurn(): void {
    const turn = Symbol('turn')
    this.#preparing = turn
    this.#env.turns.add(() => {
      if (this.#preparing !== turn) return
      this.#preparing = undefined
      this.#pump(true)
    })
  }

  #setQueue(messages: LiveMessages): void {
    this.#queue.replace(messages)
    this.#isAnswerQueued = false
  }

  /** Messages are waiting, or there is a version that it has not been sent. */
  get #hasMore(): boolean {
    if (!this.#queue.isEmpty) return true
    const result = this.#result
    return result !== undefined && (this.#version !== result.version || this.#answers !== 'nothing')
  }

  #send(message: LiveMessage): void {
    this.#lastMessageAt = performance.now()
    this.#sink.send(message)
  }

  #prepare(step: Promise<Step>): void {
    const encoding = Symbol('encoding')
    this.#preparing = encoding
    step.then(
      (ready) => {
        if (this.#preparing !== encoding) return
        this.#preparing = undefined
        this.#take(ready)
        this.#pump()
      },
      (error: unknown) => {
        if (this.#preparing === encoding) this.#fail(error)
        else this.#env.onError(error)
      },
    )
  }

  #take({ version, messages, isEmpty }: Step): void {
    this.#version = version
    const isAnswer = this.#answers !== 'nothing'
    this.#setQueue(isEmpty && !isAnswer ? NO_MESSAGES : messages)
    this.#isAnswerQueued = isAnswer
    this.#answers = 'nothing'
  }

  #nextStep(): Step | Promise<Step> | undefined {
    const result = this.#result
    if (result === undefined) return undefined
    if (this.#version === 0) return result.snapshot(this.#answers === 'not recovered', this.request.mostRows)
    const isAnswer = this.#answers === 'recovered'
    if (this.#version === result.version && !isAnswer) return undefined
    if (!result.covers(this.#version)) {
      this.reset(isAnswer ? 'Expired' : result.resetReason(this.#version))
      return undefined
    }
    if (!isAnswer && !this.#isDue(result)) return undefined
    return result.stepFrom(this.#version, isAnswer)
  }

  /** The rate limits the time between the evaluations that two changes come from; how long these take does not count. */
  #isDue({ changedAt }: LiveResult): boolean {
    const now = performance.now()
    const dueAt = this.#lastChangeAt + 1000 / this.request.maxRate - TOLERANCE_MS
    if (changedAt >= dueAt) this.#lastChangeAt = changedAt
    else if (now >= dueAt) this.#lastChangeAt = now
    else {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#pump(), dueAt - now)
      this.#timer.unref()
      return false
    }
    return true
  }
}
