/** One alert on the keeper: the result of its statement is watched, and what comes of it is written and sent. */
import { isDeepStrictEqual } from 'node:util'
import { type Principal, Refusal } from 'gatehouse-protocol'
import {
  type AlertRun,
  type AlertState,
  type AlertWrite,
  type LiveDescription,
  type LiveQueries,
  refuse,
} from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import { buildNotice, type NoticeParts } from '../build-notice.ts'
import type { Lanes, NewDeliveries } from '../deliver/lanes.ts'
import type { Silences } from '../states/due-notice.ts'
import type { Now } from '../states/instance.ts'
import { compileProgram, digestBasis } from './alert-program.ts'
import { EventWatch } from './event-watch.ts'
import { FollowedResult, isLostRight, isPassing, isUnready } from './followed-result.ts'
import type { OwnerNow } from './owners.ts'
import type { ResultChange } from './result-sink.ts'
import { StateWatch } from './state-watch.ts'
import { type Settled, TooManyInstances, type Watch } from './watch.ts'

export interface RunningEnv {
  readonly live: Pick<LiveQueries, 'describe' | 'subscribe'>
  readonly commit: (write: AlertWrite) => Promise<boolean>
  readonly lanes: Lanes
  readonly now: () => Now
  readonly mostInstances: number
  /** Where people see the alert. */
  readonly url: (alert: Alert) => string
  readonly onError: (error: unknown) => void
}

export interface StoredAlert {
  readonly run: AlertRun | undefined
  readonly states: readonly AlertState[]
}

const LONGEST_TIMER_MS = 3_600_000

export class RunningAlert {
  readonly alert: Alert
  readonly #env: RunningEnv
  readonly #result: FollowedResult
  #run: AlertRun
  #stored: readonly AlertState[]
  #isReset: boolean
  silences: Silences
  #watch: Watch | undefined
  #isLoss = false
  /** Of the statement as it is read now. What the owner may see is stored with the first result that is read so. */
  #description: LiveDescription | undefined
  /** Whether a result is known that follows the rights of the owner. */
  #isFollowed = false
  /** A time as of which delayed rows are. */
  #asOf: string | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(alert: Alert, { run, states }: StoredAlert, silences: Silences, env: RunningEnv) {
    this.alert = alert
    this.#env = env
    this.silences = silences
    this.#result = new FollowedResult(alert, {
      live: env.live,
      onDescribed: (description) => this.#prepare(description),
      onReset: (reason) => this.#reset(reason),
      onDescribedAgain: (description) => this.#prepareAgain(description),
      onChange: (change) => this.#accept(change),
      onFailure: (error) => this.#fail(error),
    })
    const basis = digestBasis(alert.definition)
    // With another statement, condition or time nothing that is stored holds any more.
    this.#isReset = run !== undefined && run.basis !== basis
    const isKept = run !== undefined && run.basis === basis
    this.#stored = isKept ? states : []
    // What the owner could not see when the term before ended is taken away.
    this.#isLoss = isKept && run.state === 'suspended'
    this.#run = {
      alert: alert.id,
      owner: alert.owner,
      name: alert.name,
      scopes: alert.rights.scopes === undefined ? (run?.scopes ?? '[]') : JSON.stringify(alert.rights.scopes),
      version: alert.version,
      basis,
      rights: isKept ? run.rights : '',
      state: isKept ? run.state : 'ok',
      error: isKept ? run.error : null,
      watched: isKept && run.version === alert.version ? run.watched : null,
      position: isKept ? run.position : null,
      events: run?.events ?? 0,
      sequences: run?.sequences ?? '{}',
    }
  }

  get state(): string {
    return this.#run.state
  }

  /** Begins, goes on, or stands still, as the rights of its owner have it. */
  setOwner(owner: OwnerNow): void {
    if (this.#isClosed) return
    if (owner.kind === 'present') {
      // Also for the next attempt, and for what waits while nothing is followed.
      this.#result.setPrincipal(owner.principal)
      this.#takeScopes(owner.principal)
    }
    if (this.alert.definition.paused) this.#stand('paused', null)
    else if (owner.kind !== 'present') {
      this.#isLoss = true
      this.#stand('suspended', owner.kind === 'suspended' ? owner.reason : 'The owner is gone')
    } else this.#result.follow()
  }

  /** An alert of the declarative file has all rights of its owner: who reads its rows needs them too. */
  #takeScopes({ scopes }: Principal): void {
    if (this.alert.rights.scopes !== undefined) return
    const before = this.#run
    this.#update({ scopes: JSON.stringify([...scopes].sort()) })
    // What was never evaluated is written with its first result.
    if (this.#run !== before && before.watched !== null) this.#commit({ ...this.#takeCleared(), runs: [this.#run] })
  }

  /** Nothing is evaluated: states stay as they are. */
  #stand(state: 'paused' | 'suspended', reason: string | null): void {
    this.#leave()
    if (this.#run.state === state && this.#run.error === reason && this.#run.watched !== null) return
    this.#update({ state, error: reason, watched: this.#run.watched ?? this.#env.now().wall })
    const clearing = this.#takeCleared()
    if (state === 'suspended') this.#env.lanes.drop(this.alert.id)
    this.#commit({ ...clearing, runs: [this.#run] })
  }

  close(): void {
    this.#isClosed = true
    this.#leave()
    this.#result.close()
  }

  /** What may be sent has changed. */
  look(): void {
    this.#settle()
  }

  /**
   * Whether the owner may see the rows of notices. A result that is followed says when that changes; without one, as at the start or
   * while the statement fails, it is asked. Undefined: it cannot be known now.
   */
  async hasRights(): Promise<boolean | undefined> {
    if (this.#isFollowed) return true
    try {
      const description = await this.#result.describe()
      if (description === undefined) return undefined
      if (description.needsSignIn) return false
      // With another statement than before there is nothing to compare with.
      return this.#run.rights === '' || this.#run.rights === description.visibility
    } catch (error) {
      if (!(error instanceof Refusal) || isPassing(error) || isUnready(error)) return undefined
      // What does not bind any more, such as a statement on a dropped table, says nothing of rights.
      return !isLostRight(error)
    }
  }

  #leave(): void {
    this.#isFollowed = false
    clearTimeout(this.#timer)
    this.#result.leave()
  }

  /** Returns the position to go on from. */
  #prepare(description: LiveDescription): string | undefined {
    if (description.needsSignIn)
      throw refuse(
        'Alert.NotAllowed',
        'A table of the statement demands something of a sign-in, and nobody signs in for an alert',
      )
    if (description.keyNames === null)
      throw refuse('Alert.Invalid', 'The rows of the statement have no key: it cannot be watched')
    const program = compileProgram(this.alert.definition, description)
    const { rights } = this.#run
    // With the rights of before it goes on from its position, and nothing is taken away.
    if (rights !== '' && rights !== description.visibility) this.#lose()
    else if (this.#run.position !== null) this.#isLoss = false
    this.#description = description
    const now = this.#env.now()
    const position = this.#run.position ?? undefined
    this.#watch?.use(program)
    this.#watch ??=
      this.alert.definition.mode === 'state'
        ? new StateWatch(this.alert, program, this.#stored, { most: this.#env.mostInstances, now })
        : new EventWatch(this.alert, program, this.#stored, { position, now })
    this.#stored = []
    return position
  }

  /** What the owner saw before is void. */
  #lose(): void {
    this.#isLoss = true
    this.#env.lanes.drop(this.alert.id)
    // It is of another result.
    this.#update({ position: null })
  }

  /** Until the next result it is not known what the owner sees. */
  #reset(reason: 'Rights' | 'Definition'): void {
    this.#isFollowed = false
    if (reason === 'Rights') this.#lose()
  }

  /** The conditions are bound anew before the changes that follow are judged. */
  #prepareAgain(description: LiveDescription): void {
    const before = this.#description
    if (!isDeepStrictEqual(before?.columns, description.columns))
      this.#watch?.use(compileProgram(this.alert.definition, description))
    // One change of the catalogue may be of columns and of the row filter.
    if (before?.visibility !== description.visibility) this.#lose()
    this.#description = description
  }

  #accept(change: ResultChange): void {
    // It went on from a position, with other rights than those of before.
    if (this.#isLoss && !change.isWhole) {
      this.#leave()
      this.#result.follow()
      return
    }
    const now = this.#env.now()
    try {
      this.#watch?.accept(change, this.#isLoss, now)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#isLoss = false
    this.#isFollowed = true
    this.#asOf = change.asOf
    this.#settle(true)
  }

  /** Writes and sends what has become due, while the result is known. `isEvaluated`: it has just changed. */
  #settle(isEvaluated = false): void {
    if (this.#watch === undefined || this.#isClosed || !this.#isFollowed) return
    const now = this.#env.now()
    const before = this.#run
    const settled = this.#watch.settle(this.silences, now)
    clearTimeout(this.#timer)
    if (settled.waitMs !== undefined)
      this.#timer = setTimeout(() => this.#settle(), Math.min(settled.waitMs, LONGEST_TIMER_MS)).unref()
    if (isEvaluated) {
      if (before.state === 'error') this.#recover(now)
      // The next start must not take what the owner sees from now on for a loss.
      const rights = this.#description?.visibility ?? before.rights
      this.#update({ state: settled.worst, error: null, watched: before.watched ?? now.wall, rights })
    } else if (before.state !== 'error') this.#update({ state: settled.worst })
    if (settled.position !== undefined) this.#update({ position: settled.position })
    this.#write(settled, before, now)
  }

  #write({ states, removed, events, notice }: Settled, before: AlertRun, now: Now): void {
    const { id: alert } = this.alert
    const numbered = events.map(({ type, key, row }, index) => ({
      ...{ alert, type, key, row, at: now.wall },
      seq: this.#run.events + index + 1,
    }))
    if (numbered.length > 0) this.#update({ events: this.#run.events + numbered.length })
    const made = notice === undefined ? undefined : this.#prepareDeliveries({ ...notice, now: now.wall })
    const isSame = this.#run === before && states.length === 0 && removed.length === 0
    const clearing = this.#takeCleared()
    if (isSame && clearing.clearedStates === undefined) return
    this.#commit(
      {
        ...clearing,
        runs: [this.#run],
        states: states.map((state) => ({ alert, ...state })),
        removedStates: removed.map((key) => ({ alert, key })),
        events: numbered,
        deliveries: made?.deliveries ?? [],
      },
      made,
    )
  }

  #prepareDeliveries(parts: Omit<NoticeParts, 'url' | 'asOf'>): NewDeliveries {
    const notice = buildNotice(this.alert, { ...parts, asOf: this.#asOf, url: this.#env.url(this.alert) })
    const made = this.#env.lanes.prepare(this.alert, notice, JSON.parse(this.#run.sequences))
    this.#update({ sequences: JSON.stringify(made.sequences) })
    return made
  }

  /** States of an earlier definition are forgotten with the first commit of this one. */
  #takeCleared(): Pick<AlertWrite, 'clearedStates'> {
    if (!this.#isReset) return {}
    this.#isReset = false
    return { clearedStates: [this.alert.id] }
  }

  #commit(write: AlertWrite, made?: NewDeliveries): void {
    this.#env
      .commit(write)
      .then((isDurable) => {
        if (isDurable && made !== undefined) this.#env.lanes.add(made)
      })
      .catch(this.#env.onError)
  }

  #update(changes: Partial<AlertRun>): void {
    const same = Object.entries(changes).every(([name, value]) => Reflect.get(this.#run, name) === value)
    if (!same) this.#run = { ...this.#run, ...changes }
  }

  #recover(now: Now): void {
    this.#tellAbout('alert.recovered', 'The statement can be evaluated again.', now)
  }

  /** The statement cannot be evaluated now: it is tried again. */
  #fail(error: unknown): void {
    this.#leave()
    const now = this.#env.now()
    const refusal = error instanceof Refusal ? error : undefined
    const isTooMany = error instanceof TooManyInstances
    if (refusal === undefined && !isTooMany) this.#env.onError(error)
    const text =
      refusal?.message ?? (isTooMany ? error.message : 'It could not be evaluated: the log of the server says why')
    if (isLostRight(error)) {
      this.#isLoss = true
      this.#stand('suspended', text)
    } else if (!isPassing(error)) {
      if (this.#run.state !== 'error') this.#tellAbout('alert.error', text, now)
      this.#update({ state: 'error', error: text, watched: this.#run.watched ?? now.wall })
      this.#commit({ ...this.#takeCleared(), runs: [this.#run] })
    }
    this.#result.tryAgain()
  }

  #tellAbout(type: 'alert.error' | 'alert.recovered', error: string, now: Now): void {
    const { id: alert } = this.alert
    this.#update({ events: this.#run.events + 1 })
    const made = this.#prepareDeliveries({ type, instances: [], now: now.wall, error })
    const event = { alert, seq: this.#run.events, at: now.wall, type: type.slice('alert.'.length), key: null }
    this.#commit(
      { runs: [this.#run], events: [{ ...event, row: JSON.stringify({ error }) }], deliveries: made.deliveries },
      made,
    )
  }
}
