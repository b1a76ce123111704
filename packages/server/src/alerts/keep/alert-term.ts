/** The alerts of one term of the keeper: all are loaded, follow what changes, and deliver. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { GateEvent } from 'gatehouse-protocol'
import type { AlertRows, AlertRun, AlertState, KeeperTerm } from '../../query/index.ts'
import { isAddress } from '../../resources/alert-shape.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import { type AttemptEnv, attemptDelivery, deliveryHost } from '../deliver/attempt.ts'
import { allChannels, BUILT_IN } from '../deliver/built-in.ts'
import { Lanes } from '../deliver/lanes.ts'
import type { OwnWebhooks } from '../deliver/own-webhooks.ts'
import { NO_SILENCES, type Silences } from '../states/due-notice.ts'
import type { PostEnv } from '../webhook/post.ts'
import { digestBasis } from './alert-program.ts'
import { Commits } from './commits.ts'
import type { OwnerNow, Owners } from './owners.ts'
import { RunningAlert, type RunningEnv, type StoredAlert } from './running-alert.ts'

export interface AlertTermEnv
  extends PostEnv,
    Pick<RunningEnv, 'live' | 'now' | 'mostInstances' | 'url' | 'onError'>,
    Pick<AttemptEnv, 'isKeeper' | 'disable' | 'mail' | 'publish' | 'push'> {
  readonly rows: AlertRows
  readonly definitions: {
    listAll(page: { readonly after: string; readonly limit: number }): Promise<readonly Alert[]>
    find(id: string): Promise<Alert | undefined>
  }
  readonly channels: { list(): Promise<readonly Channel[]> }
  readonly owners: Owners
  /** Undefined where owners may have none. */
  readonly ownWebhooks: OwnWebhooks | undefined
  /** Removes the definition of an alert whose owner was deleted. */
  readonly removeGone: (alert: Alert) => Promise<void>
  readonly subscribe: (listener: (event: GateEvent) => void) => () => void
  readonly onAttempt: (kind: string, outcome: string) => void
  readonly isTermLost: (error: unknown) => boolean
  /** How long events and ended deliveries are kept. */
  readonly historyMs: number
}

const PAGE = 500
/** Alerts that start at once: each may read its result. */
const STARTED_AT_ONCE = 16
const TRIM_MS = 3_600_000
const RELOAD_RETRY_MS = 1_000
const STOP_MS = 2_000
/** States of alerts without a live statement, which is tried again. */
const UNFOLLOWED: ReadonlySet<string> = new Set(['error', 'suspended'])
const COUNTED: ReadonlySet<string> = new Set(['sent', 'failed', 'dropped'])

export class AlertTerm {
  readonly #env: AlertTermEnv
  readonly #commits: Commits
  readonly #lanes: Lanes
  readonly #running = new Map<string, RunningAlert>()
  readonly #owners = new Map<string, OwnerNow>()
  #channels: ReadonlyMap<string, Channel> = new Map()
  readonly #stopping = new AbortController()
  readonly #unsubscribe: () => void
  readonly #trim: NodeJS.Timeout
  /** What changes is taken over one after the other. */
  #work: Promise<void>

  constructor(term: KeeperTerm, env: AlertTermEnv) {
    this.#env = env
    const commits = new Commits(term, {
      write: (of, write) => env.rows.commit(of, write),
      isLost: env.isTermLost,
      onLost: () => this.#halt(),
      onError: env.onError,
    })
    this.#commits = commits
    const attempts: AttemptEnv = {
      ...env,
      channel: (name, owner) => this.#channel(name, owner),
      alert: (id) => this.#find(id),
      // A declared address is one mailbox, whichever user owns the alerts.
      waitingWith: (delivery, owner) =>
        this.#lanes.waitingWith(delivery, BUILT_IN.has(delivery.channel) ? owner : undefined),
    }
    this.#lanes = new Lanes({
      hostOf: (channel) => deliveryHost(this.#channel(channel, '')),
      attempt: async (delivery) => {
        const result = await attemptDelivery(delivery, attempts)
        const kind = this.#channels.get(delivery.channel)?.kind ?? 'webhook'
        if (COUNTED.has(result.outcome)) env.onAttempt(kind, result.outcome)
        return result
      },
      async commit(settled) {
        await commits.add({ attempts: settled })
      },
      async commitDrop(alert) {
        await commits.add({ dropped: [alert] })
      },
      clock: env.clock,
      onError: env.onError,
    })
    // What changes while all is loaded is taken over after it.
    this.#unsubscribe = env.subscribe((event) => this.#onEvent(event))
    this.#work = this.#begin()
    this.#trim = setInterval(() => this.#trimHistory(), TRIM_MS).unref()
  }

  get lanes(): Lanes {
    return this.#lanes
  }

  /** How many alerts are in each state. */
  countStates(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { state } of this.#running.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
    return counts
  }

  async stop(): Promise<void> {
    this.#halt()
    await this.#work
    // A database that does not answer holds nobody up.
    await Promise.race([this.#commits.settled(), sleep(STOP_MS, undefined, { ref: false })])
    this.#commits.close()
  }

  /** Evaluates and sends nothing more. What is written already is still committed. */
  #halt(): void {
    this.#stopping.abort()
    this.#unsubscribe()
    clearInterval(this.#trim)
    this.#lanes.close()
    for (const alert of this.#running.values()) alert.close()
  }

  #channel(name: string, owner: string): Channel | undefined {
    return isAddress(name) ? this.#env.ownWebhooks?.channel(owner, name) : this.#channels.get(name)
  }

  #find(id: string): ReturnType<AttemptEnv['alert']> {
    const running = this.#running.get(id)
    const owner = this.#owners.get(id)
    if (running === undefined || owner === undefined) return undefined
    return { alert: running.alert, owner, hasRights: () => running.hasRights() }
  }

  /** Again, until it succeeds or the term is over. */
  async #begin(): Promise<void> {
    await this.#untilDone(async () => {
      const { rows } = this.#env
      await this.#loadChannels()
      const runs = new Map((await rows.runs()).map((run) => [run.alert, run]))
      const states = Map.groupBy(await rows.allStates(), ({ alert }) => alert)
      const alerts = await this.#readAlerts()
      await this.#forgetOthers(alerts, runs, states)
      const silences = groupSilences(await rows.silences())
      const owners = new Map(alerts.map(({ id, owner }) => [id, owner]))
      const waiting = (await rows.waiting()).filter(({ alert }) => owners.has(alert))
      for (const alert of alerts)
        this.#add(alert, toStored(runs.get(alert.id), states.get(alert.id)), silences.get(alert.id))
      // First: an alert that starts may add its next delivery, or drop those that wait.
      this.#lanes.load(waiting, owners)
      await this.#startAll(alerts)
      this.#lanes.open()
    })
  }

  async #readAlerts(): Promise<readonly Alert[]> {
    const found: Alert[] = []
    for (let after = ''; ; ) {
      const page = await this.#env.definitions.listAll({ after, limit: PAGE })
      found.push(...page)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return found
      after = last.id
    }
  }

  /** Of alerts that were deleted, or handed over, while there was no keeper. */
  async #forgetOthers(
    alerts: readonly Alert[],
    runs: Map<string, AlertRun>,
    states: Map<string, readonly AlertState[]>,
  ): Promise<void> {
    const owners = new Map(alerts.map(({ id, owner }) => [id, owner]))
    const forgotten = [...runs.values()].flatMap(({ alert, owner }) => (owners.get(alert) === owner ? [] : alert))
    if (forgotten.length === 0) return
    await this.#commits.add({ forgotten })
    for (const id of forgotten) {
      runs.delete(id)
      states.delete(id)
    }
  }

  async #startAll(alerts: readonly Alert[]): Promise<void> {
    for (let first = 0; first < alerts.length && !this.#stopping.signal.aborted; first += STARTED_AT_ONCE)
      await Promise.all(alerts.slice(first, first + STARTED_AT_ONCE).map((alert) => this.#judgeOwner(alert)))
  }

  #add(alert: Alert, stored: StoredAlert, silences: Silences = NO_SILENCES): RunningAlert {
    const running = new RunningAlert(alert, stored, silences, {
      ...this.#env,
      lanes: this.#lanes,
      commit: (write) => this.#commits.add(write),
    })
    this.#running.get(alert.id)?.close()
    this.#running.set(alert.id, running)
    return running
  }

  /** Who the owner is now, and what follows. */
  async #judgeOwner(alert: Alert): Promise<void> {
    const owner = await this.#env.owners.find(alert)
    const running = this.#running.get(alert.id)
    if (running === undefined || running.alert.version !== alert.version || this.#stopping.signal.aborted) return
    this.#owners.set(alert.id, owner)
    running.setOwner(owner)
    if (owner.kind === 'gone') await this.#env.removeGone(alert)
  }

  #onEvent(event: GateEvent): void {
    const work = this.#workFor(event)
    if (work === undefined) return
    // Other listeners, such as the cache of users, must have received the event before anything is read.
    this.#work = this.#work.then(() => nextTurn()).then(() => this.#untilDone(work))
  }

  #workFor(event: GateEvent): (() => Promise<void>) | undefined {
    switch (event.kind) {
      case 'alerts-changed': {
        const { alert } = event
        return alert === undefined ? () => this.#reloadAll() : () => this.#reload(alert)
      }
      case 'channels-changed':
        return async () => {
          await this.#loadChannels()
          this.#lanes.channelsChanged()
        }
      case 'subject-cut':
      case 'rights-changed':
      case 'user-changed':
        return () => this.#judgeOwners(({ owner }) => owner === event.subject)
      case 'subjects-cut':
        return () => this.#judgeOwners(({ owner }) => event.subjects.includes(owner))
      case 'client-cut':
      case 'client-scopes-changed':
        return () =>
          this.#judgeOwners(({ owner, rights }) => owner === event.clientId || rights.clientId === event.clientId)
      case 'clients-changed':
      case 'roles-changed':
        return () => this.#judgeOwners(() => true)
      // The live statements of the others follow them by themselves.
      case 'licences-changed':
        return () => this.#judgeOwners(({ id }) => UNFOLLOWED.has(this.#running.get(id)?.state ?? ''))
      case 'grant-revoked':
        return () => this.#judgeOwners(({ rights }) => rights.consented)
      default:
        return undefined
    }
  }

  async #judgeOwners(isConcerned: (alert: Alert) => boolean): Promise<void> {
    const concerned = [...this.#running.values()].map(({ alert }) => alert).filter(isConcerned)
    await this.#startAll(concerned)
  }

  async #reloadAll(): Promise<void> {
    const alerts = await this.#readAlerts()
    const ids = new Set([...alerts.map(({ id }) => id), ...this.#running.keys()])
    for (const id of ids) await this.#reload(id)
  }

  async #reload(id: string): Promise<void> {
    const { rows, definitions } = this.#env
    const alert = await definitions.find(id)
    const known = this.#running.get(id)
    if (alert === undefined) {
      known?.close()
      this.#running.delete(id)
      this.#owners.delete(id)
      this.#lanes.forget(id)
      await this.#commits.add({ forgotten: [id] })
      return
    }
    const silences = groupSilences(await rows.silencesOf(id)).get(id) ?? NO_SILENCES
    if (known?.alert.version === alert.version) {
      known.silences = silences
      known.look()
      this.#lanes.reload(await rows.waiting(id), alert.owner)
      return
    }
    // With another statement there is nothing to compare rights with any more.
    const isOther = known !== undefined && digestBasis(known.alert.definition) !== digestBasis(alert.definition)
    if (isOther && (await known.hasRights()) !== true) this.#lanes.drop(id)
    known?.close()
    await this.#commits.settled()
    const run = await rows.findRun(id)
    if (run === undefined || run.owner === alert.owner) this.#add(alert, toStored(run, await rows.states(id)), silences)
    else {
      // Rows that one owner was shown are not another's.
      this.#lanes.forget(id)
      await this.#commits.add({ forgotten: [id] })
      this.#add(alert, toStored(undefined))
    }
    await this.#judgeOwner(alert)
  }

  async #loadChannels(): Promise<void> {
    this.#channels = allChannels(await this.#env.channels.list())
  }

  #trimHistory(): void {
    this.#env.rows.trim(this.#env.clock() - this.#env.historyMs).catch(this.#env.onError)
  }

  async #untilDone(work: () => Promise<void>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await work()
        return
      } catch (error) {
        this.#env.onError(error)
        await sleep(RELOAD_RETRY_MS, undefined, { ref: false })
      }
    }
  }
}

function toStored(run: AlertRun | undefined, states: readonly AlertState[] = []): StoredAlert {
  return { run, states }
}

function groupSilences(
  rows: readonly { readonly alert: string; readonly key: string; readonly until: number }[],
): ReadonlyMap<string, Silences> {
  const byAlert = Map.groupBy(rows, ({ alert }) => alert)
  return new Map(
    [...byAlert].map(([alert, silences]) => {
      const all = silences.find(({ key }) => key === '')?.until ?? 0
      return [alert, { all, byKey: new Map(silences.map(({ key, until }) => [key, until])) }]
    }),
  )
}
