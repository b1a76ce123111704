/** The alerts in a server. */
import type { ChannelSender } from '../admin/ports.ts'
import type { Config } from '../config/config.ts'
import type { Resources } from './resources.ts'

/** Loaded by the first test of a channel. */
export async function openChannelSender(
  { stores, clock, masterKey }: Resources,
  { brandName: name }: Pick<Config, 'brandName'>,
): Promise<ChannelSender> {
  const { testChannel } = await import('../alerts/alerts.ts')
  const env = { channels: stores.channels, clock, sealingKey: masterKey.derive('providers'), name }
  return { test: (channel) => testChannel(channel, env) }
}
