/** The channels that every user has: their own mail, and their own browsers. */
import { type Channel, DEFAULT_TOPIC } from '../../store/alerts/channels.ts'

/** What channels of owners have in common; this one is their verified address. */
export const OF_OWNERS: Channel = {
  name: 'mail',
  kind: 'mail',
  url: undefined,
  format: 'standard',
  to: undefined,
  feed: undefined,
  topic: DEFAULT_TOPIC,
  // Nothing but to own the alert.
  use: '',
  private: false,
  disabled: false,
  sealed: {},
}

/** The browsers of the owner. */
const OWN_BROWSERS: Channel = { ...OF_OWNERS, name: 'push', kind: 'push' }

export const BUILT_IN: ReadonlyMap<string, Channel> = new Map(
  [OF_OWNERS, OWN_BROWSERS].map((channel) => [channel.name, channel]),
)

/** Those of users, and those that are declared. */
export function allChannels(declared: readonly Channel[]): ReadonlyMap<string, Channel> {
  return new Map([...BUILT_IN, ...declared.map((channel) => [channel.name, channel] as const)])
}

export function mayUse({ use }: Pick<Channel, 'use'>, scopes: ReadonlySet<string>): boolean {
  return use === '' || scopes.has(use)
}
