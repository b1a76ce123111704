/** Channels: where alerts are delivered. An operator declares them; their secrets are sealed. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { createDefinitions } from '../database/definitions.ts'
import type { Schema } from '../database/schema.ts'

export interface Channel {
  readonly name: string
  readonly kind: ChannelKind
  /** Of a webhook with the format `standard`; undefined where the address is the secret. */
  readonly url: string | undefined
  readonly format: WebhookFormat
  /** Of mail. */
  readonly to: string | undefined
  /** Of a feed. */
  readonly feed: string | undefined
  /** A template. */
  readonly topic: string
  /** The scope that the owner of an alert needs. */
  readonly use: string
  /** Allows private and loopback addresses, and http. */
  readonly private: boolean
  readonly disabled: boolean
  readonly sealed: SealedSecrets
}

export const CHANNEL_KINDS = ['webhook', 'mail', 'feed'] as const
/** `push` is of every user, and never declared. */
export type ChannelKind = (typeof CHANNEL_KINDS)[number] | 'push'

export const WEBHOOK_FORMATS = ['standard', 'slack', 'teams'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/** See channel-secrets.ts. */
export interface SealedSecrets {
  /** A key of Standard Webhooks, or an address. */
  readonly secret?: string
  /** Detects that a declarative file names another secret. */
  readonly digest?: string
  /** The key before the last rotation signs too until then, in milliseconds. */
  readonly previous?: { readonly secret: string; readonly until: number }
}

/** Where alerts are published whose channel names no topic. */
export const DEFAULT_TOPIC = 'alerts/{{alert}}'

/** How long the key before a rotation signs too. */
export const ROTATION_MS = 24 * 3_600_000

export type Channels = ReturnType<typeof createChannels>

/** A caller that changes a definition also publishes `channels-changed`, in the same transaction. */
export function createChannels(db: Kysely<Schema>, clock: Clock) {
  const definitions = createDefinitions<Channel>(db, clock, {
    table: 'channels',
    key: 'name',
    absent: { url: undefined, to: undefined, feed: undefined, topic: DEFAULT_TOPIC },
  })
  return {
    ...definitions,
    /** Gives it a new secret, which is sealed already. */
    async rotate(channel: Channel, secret: string): Promise<void> {
      const { secret: before } = channel.sealed
      const previous = before === undefined ? {} : { previous: { secret: before, until: clock() + ROTATION_MS } }
      await definitions.put({ ...channel, sealed: { secret, ...previous } })
    },
  }
}
