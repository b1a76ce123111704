/** What an alert is: a live statement of its owner, conditions over its rows, and where notices go. */

export interface Alert {
  readonly id: string
  /** The id of a user or client: the subject of their tokens. */
  readonly owner: string
  /** Of the owner; undefined if the owner is gone. */
  readonly ownerName?: string | undefined
  /** Unique among those of the owner. */
  readonly name: string
  /** Grows with every change. */
  readonly version: number
  readonly created: number
  readonly updated: number
  readonly rights: AlertRights
  readonly definition: AlertDefinition
}

/** Those of the token that has written it. */
export interface AlertRights {
  readonly clientId: string
  /** Undefined: all that the owner has, as of an alert in a declarative file. */
  readonly scopes: readonly string[] | undefined
  /** Whether the user had allowed them to the client: then the consent must not be withdrawn. */
  readonly consented: boolean
}

export interface AlertDefinition {
  readonly statement: string
  /** Values as in JSON, exactly. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly mode: 'state' | 'event'
  /** Empty: every row. */
  readonly when: string
  /** Empty: when `when` is no longer true. */
  readonly until: string
  readonly forMs: number
  readonly keepFiringMs: number
  readonly elapsedMs: number
  /** 0: never. */
  readonly repeatMs: number
  /** 0: off. */
  readonly absentMs: number
  readonly groupMs: number
  /** Empty: always. */
  readonly active: readonly ActiveTime[]
  readonly zone: string
  /** Whether the end sends a notice. */
  readonly resolved: boolean
  readonly paused: boolean
  readonly title: string
  readonly text: string
  readonly channels: readonly string[]
}

/** By a local clock. */
export interface ActiveTime {
  /** Empty: every day. */
  readonly days: readonly Day[]
  /** Minutes since midnight. With `to` before `from` it ends on the next day. */
  readonly from: number
  readonly to: number
}

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Day = (typeof DAYS)[number]
