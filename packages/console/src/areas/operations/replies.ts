/** What the administration replies to the pages of Operations. Independent of the page. */

export interface NodeItem {
  readonly node: string
  /** Its number, if it is one of several workers of a machine; undefined from a node of an earlier version. */
  readonly worker?: number | null
  readonly version: string
  readonly runtime: string
  readonly services: readonly string[]
  readonly database: string
  readonly started_at: string
  readonly uptime_seconds: number
  readonly ready: boolean
  readonly checks: Readonly<Record<string, string>>
  readonly event_loop_lag_ms: { readonly mean: number; readonly p99: number; readonly max: number }
  readonly memory_bytes: number
  readonly heap_bytes: number
  readonly disk_free_bytes: number | null
  readonly connections: number
  readonly streams: number | null
  readonly subscriptions: number | null
  readonly queries: {
    readonly running: number
    readonly waiting: number
    readonly live: number
    readonly slots: { readonly busy: number; readonly total: number }
  } | null
  readonly bus_lag_ms: number
  readonly audit_waiting_rows: number
}

/** From all nodes; nodes that did not reply are listed. */
export interface FromNodes<Item> {
  readonly items: readonly Item[]
  readonly total: number
  readonly next?: string | null
  readonly silent: readonly string[]
}

export interface QueryItem {
  readonly id: string
  readonly user: string
  readonly username: string | null
  readonly client: string
  readonly kind: 'query' | 'live'
  readonly statement: string
  readonly started_at: string
  readonly node: string
}

export interface KeyItem {
  readonly kid: string
  readonly state: 'signing' | 'waiting' | 'outlived' | 'retired' | 'removed' | 'compromised'
  readonly created_at: string
  readonly active_from: string
  readonly retired_at: string | null
  readonly removed_after: string | null
}

export interface AuditItem {
  readonly seq: number
  readonly at: string
  readonly event: string
  readonly outcome: string
  readonly actor?: string
  readonly client?: string
  readonly target?: string
  readonly address?: string
  readonly request_id?: string
  readonly node: string
  readonly details: Readonly<Record<string, unknown>>
  readonly hash: string
}

export type Names = Readonly<Record<string, string>>

export interface AuditPage {
  readonly items: readonly AuditItem[]
  readonly next: string | null
  readonly names: Names
}

export interface VerifyStep {
  readonly rows: number
  readonly head: { readonly seq: number; readonly hash: string }
  readonly faults: readonly { readonly kind: string; readonly seq: number; readonly message: string }[]
  readonly next: string | null
}

export interface SettingItem {
  readonly name: string
  readonly environment: string
  readonly value: string
  readonly source: 'default' | 'file' | 'settings_file' | 'environment' | 'flag'
  /** What it does. Undefined from a node of an earlier version. */
  readonly description?: string
}

/** What is sent to `backup_url`. Members without a value are absent. */
export interface ReplicationReply {
  readonly location?: string
  readonly moment?: string
  readonly lag_seconds?: number
  readonly spool_bytes?: number
  readonly base_at?: string
  readonly verified_at?: string
  readonly interrupted_since?: string
  readonly error?: string
}

export interface BackupItem {
  readonly kind: 'taken' | 'restored' | 'verified' | 'interrupted'
  readonly at: string
  readonly node: string
  readonly rows?: number
  readonly bytes?: number
  /** Of a restore: when the backup was taken. */
  readonly taken?: string
}
