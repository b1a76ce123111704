/** Webhooks of owners: where the operator allows it, an alert names an address itself among its channels. */
import { createHmac } from 'node:crypto'
import { webhookAddressFault } from '../../resources/webhook-address.ts'
import { sealSecret, writeSigningSecret } from '../../store/alerts/channel-secrets.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import { OF_OWNERS } from './built-in.ts'

export interface OwnWebhooksEnv {
  /** The keys of signatures are derived from it. */
  readonly key: Buffer
  readonly sealingKey: Buffer
  /** Allows http, and private addresses. */
  readonly allowPrivate: boolean
}

const MOST_CHARACTERS = 2048

export class OwnWebhooks {
  readonly #env: OwnWebhooksEnv

  constructor(env: OwnWebhooksEnv) {
    this.#env = env
  }

  addressFault(url: string): string | undefined {
    if (url.length > MOST_CHARACTERS) return `the address is longer than ${MOST_CHARACTERS} characters`
    return webhookAddressFault(url, this.#env.allowPrivate)
  }

  /** The key that signs for one address of an owner. It stays, and another address has another. */
  readSecret(owner: string, url: string): string {
    return writeSigningSecret(
      createHmac('sha256', this.#env.key)
        .update(JSON.stringify([owner, url]))
        .digest(),
    )
  }

  channel(owner: string, url: string): Channel {
    const { sealingKey, allowPrivate } = this.#env
    const sealed = { secret: sealSecret(this.readSecret(owner, url), sealingKey) }
    return { ...OF_OWNERS, name: url, kind: 'webhook', url, private: allowPrivate, sealed }
  }
}
