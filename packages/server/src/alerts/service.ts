/** The alerts of owners: made, changed and removed by their tokens, with what is checked against the rest. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Audit, type Clock, isRight, type Principal } from 'gatehouse-protocol'
import { type AlertRows, type AlertRun, type LiveQueries, refuse } from '../query/index.ts'
import { type DeclaredAlert, toAlertDefinition } from '../resources/alert-shape.ts'
import type { Alert, AlertRights } from '../store/alerts/alert.ts'
import type { Alerts } from '../store/alerts/alerts.ts'
import type { PublishInside } from '../store/cluster/event-transaction.ts'
import { newId } from '../store/keys/opaque.ts'
import { type CheckEnv, checkAgainstRest } from './checks.ts'
import type { Owners } from './keep/owners.ts'

export interface AlertServiceEnv extends CheckEnv {
  readonly definitions: Pick<Alerts, 'find' | 'listOwn'>
  /** Runs in a transaction of the identity database. */
  readonly change: <Result>(work: (alerts: Alerts, publish: PublishInside) => Promise<Result>) => Promise<Result>
  readonly rows: AlertRows
  readonly live: Pick<LiveQueries, 'describe'>
  readonly owners: Owners
  /** Whether the user has allowed the client what its tokens may do. */
  readonly hasConsented: (userId: string, clientId: string) => Promise<boolean>
  /** Refuses while nodes of an earlier version run. */
  readonly requireUpgraded: () => Promise<void>
  readonly audit: Audit
  readonly clock: Clock
  readonly limits: { readonly perOwner: number; readonly total: number }
}

/** Who calls, from where, under which request id. */
export interface AlertCaller {
  readonly principal: Principal
  readonly address: string
  readonly requestId: string
}

export interface ShownAlert {
  readonly alert: Alert
  readonly run: AlertRun | undefined
}

const WATCHED_MS = 5_000
const POLL_MS = 40

export class AlertService {
  readonly #env: AlertServiceEnv

  constructor(env: AlertServiceEnv) {
    this.#env = env
  }

  /** By name, after this one. */
  async list({ principal }: AlertCaller, page: { after: string; limit: number }): Promise<readonly ShownAlert[]> {
    const found = await this.#env.definitions.listOwn(principal.subject, page)
    const visible: Alert[] = []
    for (const alert of found) if (await this.#maySee(principal, alert)) visible.push(alert)
    const runs = await this.#env.rows.findRuns(visible.map(({ id }) => id))
    return visible.map((alert) => ({ alert, run: runs.get(alert.id) }))
  }

  async get({ principal }: AlertCaller, id: string): Promise<ShownAlert> {
    const alert = await this.#own(principal, id)
    return { alert, run: await this.#env.rows.findRun(id) }
  }

  async create(caller: AlertCaller, declared: DeclaredAlert): Promise<ShownAlert> {
    const { principal } = caller
    const { limits, clock } = this.#env
    const definition = toAlertDefinition(declared)
    await checkAgainstRest(definition, principal, this.#env)
    await this.#env.requireUpgraded()
    const now = clock()
    const alert: Alert = {
      id: newId(),
      owner: principal.subject,
      name: declared.name,
      version: 1,
      created: now,
      updated: now,
      rights: await this.#readRights(principal),
      definition,
    }
    await this.#env.change(async (alerts, publish) => {
      await this.#refuseTaken(alerts, alert)
      if ((await alerts.count(alert.owner)) >= limits.perOwner)
        throw refuse('Alert.TooMany', `You have ${limits.perOwner} alerts, which is the limit`)
      if ((await alerts.count()) >= limits.total)
        throw refuse('Alert.TooMany', `The server has ${limits.total} alerts, which is the limit`)
      await alerts.put(alert)
      await publish({ kind: 'alerts-changed', alert: alert.id })
    })
    this.#record(caller, 'alert.created', alert)
    return this.#watched(await this.#own(principal, alert.id))
  }

  /** `version` is the one that the caller has read; undefined matches any. */
  async change(
    caller: AlertCaller,
    id: string,
    version: number | undefined,
    apply: (alert: Alert) => DeclaredAlert,
  ): Promise<ShownAlert> {
    const { principal } = caller
    const before = await this.#own(principal, id)
    if (version !== undefined && version !== before.version) throw changed(before)
    const declared = apply(before)
    const definition = toAlertDefinition(declared)
    // What is paused need not be right.
    if (!definition.paused) await checkAgainstRest(definition, principal, this.#env)
    const rights = await this.#readRights(principal)
    const alert = { ...before, name: declared.name, version: before.version + 1, rights, definition }
    await this.#env.change(async (alerts, publish) => {
      if (alert.name !== before.name) await this.#refuseTaken(alerts, alert)
      if (!(await alerts.update(alert))) throw changed((await alerts.find(id)) ?? before)
      await publish({ kind: 'alerts-changed', alert: id })
    })
    this.#record(caller, 'alert.changed', alert)
    return this.#watched(await this.#own(principal, id))
  }

  async remove(caller: AlertCaller, id: string, version: number | undefined): Promise<void> {
    const before = await this.#own(caller.principal, id)
    if (version !== undefined && version !== before.version) throw changed(before)
    await this.#env.change(async (alerts, publish) => {
      await alerts.remove(id)
      await publish({ kind: 'alerts-changed', alert: id })
    })
    this.#record(caller, 'alert.deleted', before)
  }

  /** The keeper learns of what was written beside the definition. */
  async touched(id: string): Promise<void> {
    await this.#env.change((_alerts, publish) => publish({ kind: 'alerts-changed', alert: id }))
  }

  async #refuseTaken(alerts: Alerts, { owner, name }: Alert): Promise<void> {
    if ((await alerts.findNamed(owner, name)) === undefined) return
    const text = 'another of your alerts has this name'
    throw refuse('Alert.Invalid', `name: ${text}`, { members: { Faults: [{ path: 'name', text }] } })
  }

  /** What is another's, or was written with rights that the token lacks, does not exist for the caller. */
  async #own(principal: Principal, id: string): Promise<Alert> {
    const alert = id.includes('/') ? undefined : await this.#env.definitions.find(id)
    if (alert === undefined || alert.owner !== principal.subject || !(await this.#maySee(principal, alert)))
      throw refuse('Alert.NotFound', `There is no alert ${JSON.stringify(id)}`)
    return alert
  }

  /** Its rows could be of tables that the token may not read. */
  async #maySee({ scopes }: Principal, alert: Alert): Promise<boolean> {
    const needed = alert.rights.scopes ?? (await this.#ownerScopes(alert))
    return needed.every((scope) => scopes.has(scope))
  }

  async #ownerScopes(alert: Alert): Promise<readonly string[]> {
    const owner = await this.#env.owners.find(alert)
    return owner.kind === 'present' ? [...owner.principal.scopes] : []
  }

  async #readRights({ kind, subject, clientId, scopes }: Principal): Promise<AlertRights> {
    return {
      clientId,
      scopes: [...scopes].filter(isRight).sort(),
      consented: kind === 'user' && (await this.#env.hasConsented(subject, clientId)),
    }
  }

  /** Waits until the keeper has evaluated it, for some seconds. */
  async #watched(alert: Alert): Promise<ShownAlert> {
    const end = performance.now() + WATCHED_MS
    for (;;) {
      const run = await this.#env.rows.findRun(alert.id)
      const isWatched = run !== undefined && run.version >= alert.version && run.watched !== null
      if (isWatched || performance.now() > end) return { alert, run: isWatched ? run : undefined }
      await sleep(POLL_MS)
    }
  }

  #record(
    { principal, address, requestId }: AlertCaller,
    event: 'alert.created' | 'alert.changed' | 'alert.deleted',
    { id, name }: Alert,
  ): void {
    const { subject: actor, clientId: client } = principal
    this.#env.audit.record({ event, actor, client, address, requestId, target: id, details: { name } })
  }
}

export function alertEtag({ version }: Pick<Alert, 'version'>): string {
  return `"${version}"`
}

function changed(alert: Alert) {
  return refuse('Alert.Changed', `The alert was changed in the meantime: it has version ${alert.version}`, {
    headers: { etag: alertEtag(alert) },
  })
}
