/** The registry of running queries: how many each caller may have, how to stop one. */

import type { Clock, Principal, Refusal } from 'gatehouse-protocol'
import type { Stoppable } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { callOwner } from './call.ts'

const MAX_SHOWN_LENGTH = 500

export interface RunningLimits {
  readonly perUser: number
  readonly milliseconds: number
  /** The time limit of a result that is sent row by row, from its first rows on. */
  readonly exportMilliseconds: number
}

/** A running query as operators see it. */
export interface QueryInfo {
  readonly requestId: string
  readonly subject: string
  readonly clientId: string
  readonly statement: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

export interface RunningQuery extends Stoppable {
  readonly requestId: string
  /** Those that it reads. */
  tables: readonly { readonly name: string }[]
  onRead: (() => void) | undefined
  /** Created on first use, together with the timer of the time limit. */
  readonly signal: AbortSignal
  /** Aborts for another reason than the time limit, such as a closed connection. */
  stop(reason: unknown): void
  /** Aborts because a time limit, which the text names, was reached. */
  reachLimit(text: string): void
  /** The first rows are sent, in a format for whole tables: from now on the time limit of exports counts. */
  beginExport(): void
  /** The rows of a bulk insert arrive, which may take as long as an export. */
  beginImport(): void
  /** Further calls do nothing. */
  end(): void
}

export class RunningQueries {
  readonly #limits: RunningLimits
  readonly #clock: Clock
  readonly #byUser = new Map<string, Map<string, Entry>>()

  constructor(limits: RunningLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    let size = 0
    for (const queries of this.#byUser.values()) size += queries.size
    return size
  }

  /** Refuses a query that may not begin. A query that is answered inline is only checked, since it ends before it could be listed or stopped. */
  check(principal: Principal, requestId: string): void {
    const queries = this.#byUser.size === 0 ? undefined : this.#byUser.get(callOwner(principal))
    if (queries?.has(requestId))
      throw refuse('Request.BadRequestId', `A query with the Request-Id ${requestId} is running`)
    const count = queries?.size ?? 0
    if (count < this.#limits.perUser) return
    throw refuse('Limit.Concurrency', `You have ${count} queries running, which is the limit`)
  }

  begin(principal: Principal, requestId: string, statement: string): RunningQuery {
    this.check(principal, requestId)
    const user = callOwner(principal)
    const queries: Map<string, Entry> = this.#byUser.get(user) ?? new Map()
    const { subject, clientId } = principal
    const startedAt = this.#clock()
    const shown = shownStatement(statement)
    const entry = new Entry({ requestId, subject, clientId, statement: shown, startedAt }, this.#limits, () => {
      queries.delete(requestId)
      if (queries.size === 0) this.#byUser.delete(user)
    })
    if (queries.size === 0) this.#byUser.set(user, queries)
    queries.set(requestId, entry)
    return entry
  }

  *list(): Generator<QueryInfo> {
    for (const queries of this.#byUser.values()) for (const { info } of queries.values()) yield info
  }

  /** Cancels the query of the owner (see `callOwner`), or of any owner; false if there is none. */
  cancel(requestId: string, owner: string | undefined): boolean {
    const users = owner === undefined ? [...this.#byUser.keys()] : [owner]
    const found = users.flatMap((user) => this.#byUser.get(user)?.get(requestId) ?? [])
    for (const entry of found) entry.stop(refuse('Limit.Cancelled', 'The query was cancelled'))
    return found.length > 0
  }

  /** Stops those that read any of the tables, which are named in lower case. */
  stopReading(tables: ReadonlySet<string>, reason: Refusal): void {
    for (const queries of this.#byUser.values())
      for (const entry of queries.values())
        if (entry.tables.some(({ name }) => tables.has(name.toLowerCase()))) entry.stop(reason)
  }

  stopAll(): void {
    for (const queries of this.#byUser.values()) {
      for (const entry of queries.values()) {
        entry.stop(refuse('Limit.Overload', 'The service is shutting down'))
      }
    }
  }
}

class Entry implements RunningQuery {
  readonly info: QueryInfo
  tables: RunningQuery['tables'] = []
  onRead: RunningQuery['onRead']
  readonly #limits: RunningLimits
  #forget: () => void
  #controller: AbortController | undefined
  #hasEnded = false
  /** The database still runs it. */
  #isOutlived = false
  #timer: NodeJS.Timeout | undefined
  #describe: () => string | undefined = nothing

  constructor(info: QueryInfo, limits: RunningLimits, forget: () => void) {
    this.info = info
    this.#limits = limits
    this.#forget = forget
  }

  get requestId(): string {
    return this.info.requestId
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#stopAfter(this.#limits.milliseconds, 'The query ran for', 'query_seconds')
    }
    return this.#controller.signal
  }

  restart(): void {
    if (this.#isStoppable) this.#stopAfter(this.#limits.milliseconds, 'The query ran for', 'query_seconds')
  }

  explainLimit(describe: () => string | undefined): void {
    this.#describe = describe
  }

  beginExport(): void {
    if (this.#isStoppable)
      this.#stopAfter(this.#limits.exportMilliseconds, 'The result was sent for', 'query_export_seconds')
  }

  beginImport(): void {
    void this.signal
    if (this.#isStoppable)
      this.#stopAfter(this.#limits.exportMilliseconds, 'The bulk insert ran for', 'query_export_seconds')
  }

  get #isStoppable(): boolean {
    return this.#controller?.signal.aborted === false
  }

  #stopAfter(milliseconds: number, what: string, setting: string): void {
    clearTimeout(this.#timer)
    const text = `${what} ${milliseconds / 1000} s, which is the limit (the setting ${setting})`
    this.#timer = setTimeout(() => this.reachLimit(text), milliseconds)
    this.#timer.unref()
  }

  reachLimit(text: string): void {
    const cause = this.#describe()
    this.stop(refuse('Limit.Time', cause === undefined ? text : `${text}. ${cause}`))
  }

  stop(reason: unknown): void {
    void this.signal
    this.#controller?.abort(reason)
  }

  get statement(): string {
    return this.info.statement
  }

  outlive(): () => void {
    this.#isOutlived = true
    return () => {
      this.#isOutlived = false
      if (this.#hasEnded) this.end()
    }
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#hasEnded = true
    if (this.#isOutlived) return
    this.#forget()
    // Only once, because the next query of the user may have the same id.
    this.#forget = nothing
  }
}

function nothing(): undefined {}

/** A statement as lists show it. */
export function shownStatement(statement: string): string {
  return statement.length > MAX_SHOWN_LENGTH ? `${statement.slice(0, MAX_SHOWN_LENGTH)}…` : statement
}
