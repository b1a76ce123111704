/** The rows of alerts in the query database: states, events and deliveries. Both engines share it. */
import {
  ALERT_DELIVERIES,
  ALERT_EVENTS,
  ALERT_RUNS,
  ALERT_SILENCES,
  ALERT_STATES,
  ALERT_TABLES,
  type AlertTable,
} from './alert-tables.ts'
import type { KeeperTerm } from './keeper-lease.ts'
import type { BuildSql, ServiceStore } from './service-store.ts'

export interface AlertRun {
  readonly alert: string
  readonly owner: string
  readonly name: string
  /** JSON. */
  readonly scopes: string
  readonly version: number
  readonly basis: string
  readonly rights: string
  readonly state: string
  readonly error: string | null
  readonly watched: number | null
  readonly position: string | null
  readonly events: number
  readonly sequences: string
}

export interface AlertState {
  readonly alert: string
  /** The JSON text of the key. */
  readonly key: string
  readonly state: string
  readonly since: number
  readonly ending: number | null
  readonly notified: string
  readonly notified_at: number | null
  /** The JSON text of the row. */
  readonly row: string
}

export interface AlertEvent {
  readonly alert: string
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly key: string | null
  readonly row: string | null
}

export type DeliveryState = 'waiting' | 'sent' | 'dead' | 'dropped'

export interface AlertDelivery {
  readonly id: string
  readonly alert: string
  readonly channel: string
  readonly sequence: number
  readonly state: DeliveryState
  readonly created: number
  readonly next_at: number
  readonly ended: number | null
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly joined: number
  readonly notice: string
}

/** What is known of one without reading its notice. */
export type ListedDelivery = Omit<AlertDelivery, 'notice'>

export interface AlertSilence {
  readonly alert: string
  /** Empty: all keys. */
  readonly key: string
  readonly until: number
}

/** One commit of the keeper. */
export interface AlertWrite {
  readonly runs?: readonly AlertRun[]
  /** Alerts whose states are forgotten before the others are written. */
  readonly clearedStates?: readonly string[]
  readonly states?: readonly AlertState[]
  readonly removedStates?: readonly Pick<AlertState, 'alert' | 'key'>[]
  readonly events?: readonly AlertEvent[]
  readonly deliveries?: readonly AlertDelivery[]
  /** Alerts of which nothing that was not delivered may be any more, also not by hand: their owners lost rights. */
  readonly dropped?: readonly string[]
  /** What has become of deliveries that still wait. */
  readonly attempts?: readonly DeliveryAttempt[]
  /** Alerts, of which nothing is kept. */
  readonly forgotten?: readonly string[]
}

export type DeliveryAttempt = Pick<
  AlertDelivery,
  'id' | 'state' | 'next_at' | 'ended' | 'attempts' | 'status' | 'error'
>

/** Why a delivery is dropped. */
export const LOST_RIGHTS = 'The owner lost rights'

const ATTEMPT_COLUMNS = ['id', 'state', 'next_at', 'ended', 'attempts', 'status', 'error'] as const
const LISTED = Object.keys(ALERT_DELIVERIES.columns).filter((column) => column !== 'notice')

export class AlertRows {
  readonly #store: ServiceStore

  constructor(store: ServiceStore) {
    this.#store = store
  }

  /** Throws `TermLost`, and has written nothing then. */
  async commit(term: KeeperTerm, write: AlertWrite): Promise<void> {
    await this.#store.writeInTerm(term, this.#statements(write))
  }

  #statements(write: AlertWrite): BuildSql[] {
    const { runs, clearedStates, states, removedStates, events, deliveries, attempts, forgotten, dropped } = write
    const forgetting = (forgotten ?? []).length === 0 ? [] : ALERT_TABLES
    return [
      ...forgetting.map((table) => this.#deleteOf(table, forgotten ?? [])),
      ...some(clearedStates, (alerts) => this.#deleteOf(ALERT_STATES, alerts)),
      ...some(removedStates, (keys) => this.#delete(ALERT_STATES, keys)),
      ...some(runs, (rows) => this.#put(ALERT_RUNS, rows)),
      ...some(states, (rows) => this.#put(ALERT_STATES, rows)),
      ...some(events, (rows) => this.#put(ALERT_EVENTS, rows)),
      ...some(dropped, (alerts) => this.#drop(alerts)),
      ...some(deliveries, (rows) => this.#put(ALERT_DELIVERIES, rows)),
      ...some(attempts, (rows) => this.#settle(rows)),
    ]
  }

  #name({ name }: AlertTable): string {
    return `${this.#store.schema}.${name}`
  }

  #rows(table: AlertTable, columns: readonly string[], rows: readonly object[], value: Value): string {
    const types = new Map(Object.entries(table.columns))
    const typed = columns.map((column): [string, 'text' | 'integer'] => [column, types.get(column) ?? 'text'])
    const data = rows.map((row) => columns.map((column) => Reflect.get(row, column)))
    return this.#store.rows(value(JSON.stringify(data)), typed)
  }

  #put(table: AlertTable, rows: readonly object[]): BuildSql {
    const columns = Object.keys(table.columns)
    const others = columns.filter((column) => !table.key.includes(column))
    const updates = others.map((column) => `${column} = excluded.${column}`)
    return (value) => `INSERT INTO ${this.#name(table)} (${columns.join(', ')})
      SELECT ${columns.join(', ')} FROM ${this.#rows(table, columns, rows, value)} AS r WHERE true
      ON CONFLICT (${table.key.join(', ')}) DO UPDATE SET ${updates.join(', ')}`
  }

  #delete(table: AlertTable, keys: readonly object[]): BuildSql {
    const list = table.key.join(', ')
    return (value) =>
      `DELETE FROM ${this.#name(table)} WHERE (${list}) IN (SELECT ${list} FROM ${this.#rows(table, table.key, keys, value)} AS r)`
  }

  #deleteOf(table: AlertTable, alerts: readonly string[]): BuildSql {
    const rows = alerts.map((alert) => ({ alert }))
    return (value) =>
      `DELETE FROM ${this.#name(table)} WHERE alert IN (SELECT alert FROM ${this.#rows(table, ['alert'], rows, value)} AS r)`
  }

  #drop(alerts: readonly string[]): BuildSql {
    const rows = alerts.map((alert) => ({ alert }))
    return (value) => `UPDATE ${this.#name(ALERT_DELIVERIES)}
      SET state = 'dropped', ended = ${this.#store.now}, error = ${value(LOST_RIGHTS)} WHERE state IN ('waiting', 'dead')
      AND alert IN (SELECT alert FROM ${this.#rows(ALERT_DELIVERIES, ['alert'], rows, value)} AS r)`
  }

  /** One that was dropped meanwhile stays so. */
  #settle(attempts: readonly DeliveryAttempt[]): BuildSql {
    const set = ATTEMPT_COLUMNS.slice(1).map((column) => `${column} = r.${column}`)
    return (value) => `UPDATE ${this.#name(ALERT_DELIVERIES)} SET ${set.join(', ')}
      FROM ${this.#rows(ALERT_DELIVERIES, ATTEMPT_COLUMNS, attempts, value)} AS r
      WHERE ${ALERT_DELIVERIES.name}.id = r.id AND ${ALERT_DELIVERIES.name}.state = 'waiting'`
  }

  async runs(): Promise<readonly AlertRun[]> {
    return (await this.#read<AlertRun>(ALERT_RUNS)).map(toRun)
  }

  async findRun(alert: string): Promise<AlertRun | undefined> {
    return (await this.#read<AlertRun>(ALERT_RUNS, (value) => `WHERE alert = ${value(alert)}`)).map(toRun)[0]
  }

  async findRuns(alerts: readonly string[]): Promise<ReadonlyMap<string, AlertRun>> {
    if (alerts.length === 0) return new Map()
    const rows = alerts.map((alert) => ({ alert }))
    const found = await this.#read<AlertRun>(
      ALERT_RUNS,
      (value) => `WHERE alert IN (SELECT alert FROM ${this.#rows(ALERT_RUNS, ['alert'], rows, value)} AS r)`,
    )
    return new Map(found.map((run) => [run.alert, toRun(run)]))
  }

  async states(alert: string): Promise<readonly AlertState[]> {
    const rows = await this.#read<AlertState>(ALERT_STATES, (value) => `WHERE alert = ${value(alert)} ORDER BY key`)
    return rows.map(toState)
  }

  async allStates(): Promise<readonly AlertState[]> {
    return (await this.#read<AlertState>(ALERT_STATES, () => 'ORDER BY alert, key')).map(toState)
  }

  /** Newest first, before the one with this number. */
  async events(alert: string, before: number, limit: number): Promise<readonly AlertEvent[]> {
    const rows = await this.#read<AlertEvent>(
      ALERT_EVENTS,
      (value) =>
        `WHERE alert = ${value(alert)} AND seq < ${value(BigInt(before))} ORDER BY seq DESC LIMIT ${value(limit)}`,
    )
    return rows.map((row) => ({ ...row, seq: Number(row.seq), at: Number(row.at) }))
  }

  /** All that wait, or those of an alert, in their order. */
  async waiting(alert?: string): Promise<readonly ListedDelivery[]> {
    const rows = await this.#store.read<ListedDelivery>(
      (value) => `SELECT ${LISTED.join(', ')} FROM ${this.#name(ALERT_DELIVERIES)} WHERE state = 'waiting'
        ${alert === undefined ? '' : `AND alert = ${value(alert)}`} ORDER BY alert, channel, sequence`,
    )
    return rows.map(toListed)
  }

  /** Newest first, before this one. */
  async deliveries(
    alert: string,
    before: Pick<AlertDelivery, 'created' | 'id'>,
    limit: number,
  ): Promise<readonly ListedDelivery[]> {
    const rows = await this.#store.read<ListedDelivery>(
      (value) => `SELECT ${LISTED.join(', ')} FROM ${this.#name(ALERT_DELIVERIES)} WHERE alert = ${value(alert)}
        AND (created, id) < (${value(BigInt(before.created))}, ${value(before.id)}) ORDER BY created DESC, id DESC LIMIT ${value(limit)}`,
    )
    return rows.map(toListed)
  }

  async findDelivery(id: string): Promise<AlertDelivery | undefined> {
    const [row] = await this.#read<AlertDelivery>(ALERT_DELIVERIES, (value) => `WHERE id = ${value(id)}`)
    return row && { ...toListed(row), notice: row.notice }
  }

  /** Of a test, which any node makes. */
  async addDeliveries(deliveries: readonly AlertDelivery[]): Promise<void> {
    if (deliveries.length > 0) await this.#store.write([this.#put(ALERT_DELIVERIES, deliveries)])
  }

  /** One that could not be delivered waits again. False if it is not one. */
  async retry(alert: string, id: string, now: number): Promise<boolean> {
    const changed = await this.#store.write([
      (
        value,
      ) => `UPDATE ${this.#name(ALERT_DELIVERIES)} SET state = 'waiting', next_at = ${value(BigInt(now))}, attempts = 0,
        ended = NULL WHERE id = ${value(id)} AND alert = ${value(alert)} AND state = 'dead'`,
    ])
    return changed > 0
  }

  async silences(): Promise<readonly AlertSilence[]> {
    return (await this.#read<AlertSilence>(ALERT_SILENCES)).map((row) => ({ ...row, until: Number(row.until) }))
  }

  async silencesOf(alert: string): Promise<readonly AlertSilence[]> {
    const rows = await this.#read<AlertSilence>(ALERT_SILENCES, (value) => `WHERE alert = ${value(alert)} ORDER BY key`)
    return rows.map((row) => ({ ...row, until: Number(row.until) }))
  }

  async silence(silence: AlertSilence): Promise<void> {
    await this.#store.write([this.#put(ALERT_SILENCES, [silence])])
  }

  /** Without a key all of the alert. */
  async unsilence(alert: string, key?: string): Promise<void> {
    await this.#store.write([
      (value) =>
        `DELETE FROM ${this.#name(ALERT_SILENCES)} WHERE alert = ${value(alert)}${key === undefined ? '' : ` AND key = ${value(key)}`}`,
    ])
  }

  /** Deletes what is older: events and deliveries that have ended. */
  async trim(before: number): Promise<void> {
    const time = BigInt(before)
    await this.#store.write([(value) => `DELETE FROM ${this.#name(ALERT_EVENTS)} WHERE at < ${value(time)}`])
    await this.#store.write([
      (value) => `DELETE FROM ${this.#name(ALERT_DELIVERIES)} WHERE state <> 'waiting' AND ended < ${value(time)}`,
    ])
  }

  #read<Row extends object>(table: AlertTable, rest: BuildSql = () => ''): Promise<readonly Row[]> {
    return this.#store.read<Row>(
      (value) => `SELECT ${Object.keys(table.columns).join(', ')} FROM ${this.#name(table)} ${rest(value)}`,
    )
  }
}

type Value = Parameters<BuildSql>[0]

function some<Item>(items: readonly Item[] | undefined, build: (items: readonly Item[]) => BuildSql): BuildSql[] {
  return items === undefined || items.length === 0 ? [] : [build(items)]
}

/** PostgreSQL sends 64-bit integers as texts. */
function orNull(value: number | null): number | null {
  return value === null ? null : Number(value)
}

function toRun(row: AlertRun): AlertRun {
  return { ...row, version: Number(row.version), watched: orNull(row.watched), events: Number(row.events) }
}

function toState(row: AlertState): AlertState {
  return { ...row, since: Number(row.since), ending: orNull(row.ending), notified_at: orNull(row.notified_at) }
}

function toListed(row: ListedDelivery): ListedDelivery {
  return {
    ...row,
    sequence: Number(row.sequence),
    created: Number(row.created),
    next_at: Number(row.next_at),
    ended: orNull(row.ended),
    attempts: Number(row.attempts),
    status: orNull(row.status),
    joined: Number(row.joined),
  }
}
