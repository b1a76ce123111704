/** Live queries: callers subscribe to statements and are kept up to date. */

import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Principal,
  Refusal,
  type RunningSubscription,
  type StepUpNeed,
  type SubscriberSink,
  sameNeed,
} from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { BACKGROUND, inTurns, type Steps, TurnQueue } from '../../lib/turns.ts'
import type { StepUp } from '../../step-up/step-up.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AttributeSource } from '../catalogue/attributes.ts'
import type { TableLicences } from '../catalogue/licences.ts'
import { viewFor } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'
import { PlanPending, whenPlanned } from '../plan/long-plans.ts'
import { callOwner } from '../run/call.ts'
import { refuseUnready, refuseUnreadyFirst } from '../run/licensed.ts'
import type { NodeCatalogue } from '../run/node-catalogue.ts'
import type { Observe } from '../run/observe.ts'
import { shownStatement } from '../run/running.ts'
import { asUnavailable } from '../unavailable.ts'
import { AttributeWatch } from './attribute-watch.ts'
import {
  type LiveDescription,
  type LiveListing,
  type LiveMessage,
  type LiveQueries,
  type LiveRequest,
  MAX_RATE,
  MIN_RATE,
} from './contract.ts'
import { LiveCounts } from './counts.ts'
import { describeLive, missingScope } from './describe.ts'
import { isTransient } from './evaluate/evaluator.ts'
import { LiveReader, type ReaderOptions } from './evaluate/reader.ts'
import { LicenceWatch } from './licence-watch.ts'
import { failed, type LiveLimits, StatementCounts, shuttingDown } from './limits.ts'
import { type DeriveKey, isPosition, PositionSeal } from './position.ts'
import { ResultCache } from './result-cache.ts'
import type { LiveResult } from './results/live-result.ts'
import { Resumes } from './resume.ts'
import { Subscriber, type SubscriberEnv } from './subscriber/subscriber.ts'
import { type LiveTarget, planTarget, type TargetEnv } from './target.ts'

export interface LiveServiceOptions extends TargetEnv, Omit<ReaderOptions, 'source'> {
  readonly catalogue: NodeCatalogue
  readonly limits: LiveLimits
  readonly deriveKey: DeriveKey
  readonly observe: Observe
  /** What row filters know of callers besides their tokens. */
  readonly attributes: AttributeSource
  readonly licences: TableLicences
  readonly bus: Pick<Bus, 'subscribe'>
  readonly stepUp: StepUp
  readonly onError: (error: unknown) => void
}

const SWEEP_MS = 500
const RETRY_MS = 1000

export class LiveService implements LiveQueries {
  readonly #options: LiveServiceOptions
  readonly #reader: LiveReader
  readonly #results: ResultCache
  readonly #resumes: Resumes
  readonly #counts = new LiveCounts()
  readonly #statements: StatementCounts
  /** By owner and request id. */
  readonly #subscribers = new Map<string, Subscriber>()
  readonly #targets = new Map<Subscriber, LiveTarget>()
  /** What was demanded when each was judged last. A target with the same result may have been planned before that. */
  readonly #needs = new WeakMap<Subscriber, StepUpNeed | undefined>()
  /** The targets of subscribers that have no result yet. */
  readonly #starting = new Map<Subscriber, LiveTarget>()
  /** Subscribers that wait for the result of another target. Aborted when the target has changed again. */
  readonly #changing = new Map<Subscriber, AbortController>()
  readonly #attributes: AttributeWatch<Subscriber>
  readonly #licences: LicenceWatch<Subscriber>
  /** Of whose licences it is not known what they are now. */
  readonly #unknown = new Set<Subscriber>()
  readonly #subscriberEnv: SubscriberEnv
  readonly #sweep: NodeJS.Timeout
  readonly #stopWatching: () => void
  #isClosed = false

  constructor(options: LiveServiceOptions) {
    const { engine, limits, onError, catalogue } = options
    const counts = this.#counts
    this.#options = options
    this.#reader = new LiveReader({ ...options, source: engine.live })
    const seal = new PositionSeal(options.deriveKey, options.clock)
    this.#results = new ResultCache({ reader: this.#reader, seal, counts, onError })
    this.#resumes = new Resumes(this.#reader, seal)
    this.#statements = new StatementCounts(limits)
    this.#attributes = new AttributeWatch({
      ...{ source: options.attributes, bus: options.bus, onError },
      onChanged: (subscriber) => this.#replan(subscriber, subscriber.principal),
    })
    this.#licences = new LicenceWatch({
      licences: options.licences,
      onChanged: (subscriber) => this.#replan(subscriber, subscriber.principal),
    })
    options.licences.onChanged(() => this.replanAll())
    this.#subscriberEnv = {
      counts,
      onError,
      release: (result, subscriber) => this.#results.release(result, subscriber),
      replan: (subscriber, principal) => this.#replan(subscriber, principal),
      hasEnded: (subscriber) => this.#forget(subscriber),
      catchUp: (subscriber) => this.#licences.catchUp(subscriber),
      budget: this.#results.budget,
      turns: new TurnQueue(),
    }
    this.#sweep = setInterval(() => this.#tick(), Math.min(SWEEP_MS, limits.progressMs / 2))
    this.#sweep.unref()
    this.#stopWatching = catalogue.onChange(() => this.replanAll())
  }

  describe(request: Parameters<LiveQueries['describe']>[0]): Promise<LiveDescription> {
    return describeLive(request, this.#options)
  }

  async subscribe(request: LiveRequest, sink: SubscriberSink<LiveMessage>): Promise<RunningSubscription> {
    checkRequest(request)
    if (this.#isClosed) throw shuttingDown()
    const key = requestKey(request)
    if (this.#subscribers.has(key))
      throw refuse('Request.BadRequestId', `A live statement with the Request-Id ${request.requestId} is running`)
    this.#statements.add(request.connectionId, callOwner(request.principal))
    const subscriber = new Subscriber(request, sink, this.#subscriberEnv, this.#options.clock())
    this.#subscribers.set(key, subscriber)
    try {
      await this.#begin(subscriber)
    } catch (error) {
      subscriber.close()
      throw subscriber.endedBy ?? error
    } finally {
      this.#starting.delete(subscriber)
    }
    setImmediate(() => subscriber.start())
    return subscriber
  }

  async #begin(subscriber: Subscriber): Promise<void> {
    const { request } = subscriber
    for (let target = await this.#planFirstTarget(subscriber); ; ) {
      this.#requireStepUp(subscriber, request.principal, target)
      target = await this.#holdLicences(subscriber, target)
      this.#requireLicences(subscriber, target)
      this.#starting.set(subscriber, target)
      const result = await this.#results.acquire(target, subscriber, request.signal)
      try {
        const start = request.resume === undefined ? undefined : await this.#resumes.startAt(request.resume, result)
        if (subscriber.isClosed) throw subscriber.endedBy ?? shuttingDown()
        if (result.endedBy !== undefined) throw result.endedBy
        const now = await whenPlanned(() => this.#planTarget(subscriber, request.principal))
        if (now.identity === target.identity) {
          // Another demand may have been made of the tables while the result was read.
          if (!sameNeed(now.stepUp, target.stepUp)) this.#requireStepUp(subscriber, request.principal, now)
          this.#requireLicences(subscriber, now)
          this.#targets.set(subscriber, target)
          this.#needs.set(subscriber, now.stepUp)
          this.#followAttributes(subscriber, target)
          if (start !== undefined) this.#counts.resumes[start.kind === 'expired' ? 'reset' : 'recovered']++
          subscriber.follow(result, start)
          return
        }
        // A table was redefined while the result was read.
        target = now
      } catch (error) {
        this.#results.release(result, subscriber)
        throw error
      }
      this.#results.release(result, subscriber)
    }
  }

  *list(): Generator<LiveListing> {
    for (const subscriber of this.#subscribers.values()) {
      const { request, principal, startedAt, result } = subscriber
      const target = result?.target ?? this.#starting.get(subscriber)
      if (target === undefined) continue
      const { requestId, connectionId, statement } = request
      const { subject, clientId } = principal
      const { method } = target
      const rows = result?.rowCount ?? 0
      yield {
        requestId,
        connectionId,
        subject,
        clientId,
        statement: shownStatement(statement),
        method,
        rows,
        startedAt,
      }
    }
  }

  end(requestId: string, owner: string | undefined): boolean {
    const found = [...this.#subscribers.values()].filter(
      ({ request, principal }) =>
        request.requestId === requestId && (owner ?? callOwner(principal)) === callOwner(principal),
    )
    for (const subscriber of found) subscriber.end(refuse('Limit.Cancelled', 'The query was cancelled'))
    return found.length > 0
  }

  get size(): number {
    return this.#subscribers.size
  }

  /** Statements that are running or waiting for a reader. They count as queries. */
  get load(): { readonly running: number; readonly waiting: number } {
    return this.#reader
  }

  watch(metrics: Metrics): void {
    this.#counts.watch(metrics)
    metrics.watch('gatehouse_live_families', () => [[{}, this.#results.families]])
    metrics.watch('gatehouse_live_rows', () => [[{}, this.#results.rows]])
    metrics.watch('gatehouse_live_bytes', () => [[{}, this.#results.budget.bytes]])
    metrics.watch('gatehouse_live_log_changes', () => {
      const { logged } = this.#reader.source
      return [
        [{ of: 'all' }, logged.reduce((sum, changes) => sum + changes, 0)],
        [{ of: 'largest' }, Math.max(0, ...logged)],
      ]
    })
    metrics.watch('gatehouse_live_statements', () => {
      const counts = { keys: 0, rerun: 0, clock: 0 }
      for (const { method } of this.#targets.values()) counts[method]++
      return Object.entries(counts).map(([method, count]) => [{ method }, count])
    })
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#sweep)
    this.#stopWatching()
    for (const subscriber of [...this.#subscribers.values()]) subscriber.end(shuttingDown())
    this.#attributes.close()
    this.#results.close()
    this.#reader.close()
  }

  /** Without values of attributes that have not been read, as if there were none. */
  #planTarget(subscriber: Subscriber, principal: Principal): LiveTarget {
    const { snapshot } = this.#options.catalogue
    const values = this.#attributes.knownValues(subscriber)
    return planTarget(subscriber.request, principal, snapshot, this.#options, values, this.#licences.rights(subscriber))
  }

  async #planFirstTarget(subscriber: Subscriber): Promise<LiveTarget> {
    const { principal, request } = subscriber
    const { planner, catalogue } = this.#options
    const rights = { scopes: principal.scopes, tables: this.#licences.rights(subscriber) }
    const planned = planner.planAhead(callOwner(principal), rights, catalogue.snapshot, request.statement)
    if (planned instanceof Promise) await planned
    const plan = () => whenPlanned(() => this.#planTarget(subscriber, subscriber.principal))
    const target = await plan()
    if (!target.usesAttributes) return target
    await this.#attributes.follow(subscriber, subscriber.principal)
    return plan()
  }

  #replan(subscriber: Subscriber, principal: Principal): void {
    const before = this.#targets.get(subscriber)
    if (before === undefined) return
    if (principal !== subscriber.principal) this.#licences.setPrincipal(subscriber, principal)
    let target: LiveTarget
    try {
      target = this.#planTarget(subscriber, principal)
      // Not in between: only a new token, or another demand, is judged.
      const isRenewed = principal.tokenId !== subscriber.principal.tokenId
      const isOther = !sameNeed(target.stepUp, this.#needs.get(subscriber))
      if (isRenewed || isOther) this.#requireStepUp(subscriber, principal, target)
      const pending = this.#takePlaces(subscriber, target)
      if (pending !== undefined) throw new PlanPending(pending)
      this.#requireLicences(subscriber, target)
    } catch (error) {
      if (error instanceof PlanPending) this.#replanLater(subscriber, principal, error)
      else {
        if (!(error instanceof Refusal)) this.#options.onError(error)
        subscriber.end(this.#whyUnbound(before, principal, error))
      }
      return
    }
    subscriber.principal = principal
    this.#needs.set(subscriber, target.stepUp)
    this.#followAttributes(subscriber, target)
    const wasUnknown = this.#unknown.delete(subscriber)
    if (target.identity === before.identity && !wasUnknown) return
    this.#targets.set(subscriber, target)
    // Messages of the old result may contain rows that the caller may no longer see.
    subscriber.leave()
    subscriber.reset(targetShape(before) === targetShape(target) ? 'Rights' : 'Definition')
    this.#follow(subscriber).catch((error: unknown) => {
      this.#changing.delete(subscriber)
      if (!(error instanceof Refusal)) this.#options.onError(error)
      subscriber.end(error instanceof Refusal ? error : failed())
    })
  }

  /** What the caller has of a table is not known yet. Until it is, nothing is sent. */
  #replanLater(subscriber: Subscriber, principal: Principal, { ready }: PlanPending): void {
    subscriber.leave()
    this.#unknown.add(subscriber)
    ready.then(
      () => this.#replan(subscriber, principal),
      (error: unknown) => {
        if (!(error instanceof Refusal)) this.#options.onError(error)
        subscriber.end(error instanceof Refusal ? error : failed())
      },
    )
  }

  /** The target as it is with the places that it takes. */
  async #holdLicences(subscriber: Subscriber, planned: LiveTarget): Promise<LiveTarget> {
    let target = planned
    for (;;) {
      const pending = this.#takePlaces(subscriber, target)
      if (pending === undefined) return target
      await pending
      target = await whenPlanned(() => this.#planTarget(subscriber, subscriber.principal))
    }
  }

  #takePlaces(subscriber: Subscriber, { needs, plan }: LiveTarget): Promise<void> | undefined {
    if (needs.length > 0) refuseUnreadyFirst(plan.tables)
    return this.#licences.hold(subscriber, needs)
  }

  #requireLicences(subscriber: Subscriber, { needs, plan }: LiveTarget): void {
    if (needs.length === 0) return
    const refusal = this.#licences.refusalFor(subscriber, needs)
    if (refusal !== undefined) throw refusal
    refuseUnready(plan.tables)
  }

  #requireStepUp({ request }: Subscriber, principal: Principal, { stepUp, plan }: LiveTarget): void {
    if (stepUp === undefined) return
    const resource = plan.tables.map(({ name }) => name).join(' ')
    this.#options.stepUp.require(principal, stepUp, { ...request, resource })
  }

  /** After a table was redefined, its filter may be the first that uses attributes. */
  #followAttributes(subscriber: Subscriber, { usesAttributes }: LiveTarget): void {
    if (!usesAttributes || this.#attributes.has(subscriber)) return
    this.#attributes.follow(subscriber, subscriber.principal).then(
      () => this.#replan(subscriber, subscriber.principal),
      (error: unknown) => subscriber.end(asUnavailable(error) ?? failed()),
    )
  }

  /**
   * Follows the result of its target. It waits for one result at a time, since a result does not count how often one user asked for it:
   * released for a target that is no longer wanted, it would be lost for the next one that is the same.
   */
  async #follow(subscriber: Subscriber): Promise<void> {
    const running = this.#changing.get(subscriber)
    if (running !== undefined) return running.abort()
    for (let target = this.#targets.get(subscriber); target !== undefined; target = this.#targets.get(subscriber)) {
      const waiting = new AbortController()
      this.#changing.set(subscriber, waiting)
      const result = await this.#acquireWhenPossible(subscriber, target, waiting.signal)
      if (result === undefined) continue
      if (!waiting.signal.aborted && result.endedBy === undefined) {
        this.#changing.delete(subscriber)
        return subscriber.follow(result, undefined)
      }
      this.#results.release(result, subscriber)
      if (!waiting.signal.aborted && result.endedBy !== undefined) throw result.endedBy
    }
  }

  /** Retries while the database is unavailable. Undefined if the subscriber has another target by then. */
  async #acquireWhenPossible(
    subscriber: Subscriber,
    target: LiveTarget,
    signal: AbortSignal,
  ): Promise<LiveResult | undefined> {
    while (!signal.aborted) {
      try {
        return await this.#results.acquire(target, subscriber, signal)
      } catch (error) {
        if (signal.aborted) return undefined
        const refusal = asUnavailable(error) ?? (error instanceof Refusal ? error : undefined)
        if (refusal === undefined || !isTransient(refusal)) throw error
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
    return undefined
  }

  /** If a table still exists, but not for this caller, the reason is a lost right. */
  #whyUnbound({ plan }: LiveTarget, { scopes }: Principal, error: unknown): Refusal {
    const { snapshot } = this.#options.catalogue
    const view = viewFor(snapshot, scopes)
    if (error instanceof Refusal && (error.code === 'Auth.StepUp' || error.code === 'Auth.UserNeeded')) return error
    const isHidden = [...plan.tables, ...plan.views].some(
      ({ name }) => view.lookup(name) === undefined && snapshot.table(name) !== undefined,
    )
    if (isHidden) return missingScope()
    return error instanceof Refusal ? error : failed()
  }

  /** What plans are made with has changed. */
  replanAll(): void {
    this.#replanAll().catch(this.#options.onError)
  }

  async #replanAll(): Promise<void> {
    this.#results.catalogueChanged()
    await inTurns(this.#replanEach(), BACKGROUND)
  }

  *#replanEach(): Steps<void> {
    for (const subscriber of [...this.#targets.keys()]) {
      yield
      subscriber.setPrincipal(subscriber.principal)
    }
  }

  #forget(subscriber: Subscriber): void {
    const { request } = subscriber
    if (!this.#subscribers.delete(requestKey(request))) return
    this.#targets.delete(subscriber)
    this.#changing.get(subscriber)?.abort()
    this.#changing.delete(subscriber)
    this.#attributes.forget(subscriber)
    this.#licences.forget(subscriber)
    this.#unknown.delete(subscriber)
    this.#statements.remove(request.connectionId, callOwner(request.principal))
  }

  #tick(): void {
    const now = performance.now()
    for (const subscriber of this.#subscribers.values()) subscriber.tellProgress(now, this.#options.limits.progressMs)
    this.#results.dropExpired()
  }
}

function checkRequest({ maxRate, resume }: LiveRequest): void {
  if (!Number.isInteger(maxRate) || maxRate < MIN_RATE || maxRate > MAX_RATE)
    throw refuse('Request.BadParameter', `MaxRate is an integer from ${MIN_RATE} to ${MAX_RATE}`)
  if (resume !== undefined && !isPosition(resume))
    throw refuse('Request.BadPosition', 'The position to resume at is malformed')
}

function requestKey({ principal, requestId }: LiveRequest): string {
  return `${callOwner(principal)}\n${requestId}`
}

/** The columns and keys of the tables and views, as far as the caller sees them. */
function targetShape({ plan }: LiveTarget): string {
  const tables = plan.tables.map(({ columns, primaryKey }) => [columns, primaryKey])
  return JSON.stringify([tables, plan.views.map(({ columns, view }) => [columns, view?.text])])
}
