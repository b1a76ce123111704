/** A delivery of the type `test`, which an operator asks for. It is sent at once, and once. */
import type { Channel } from '../store/alerts/channels.ts'
import { newId } from '../store/keys/opaque.ts'
import type { Notice } from './notice.ts'
import { type PostEnv, postWebhook } from './webhook/post.ts'

export interface ChannelTestEnv extends PostEnv {
  readonly channels: { find(name: string): Promise<Channel | undefined> }
  /** What the server calls itself. */
  readonly name: string
}

export async function testChannel(
  name: string,
  env: ChannelTestEnv,
): Promise<{ readonly status: number | undefined; readonly error: string | undefined }> {
  const channel = await env.channels.find(name)
  if (channel === undefined) return { status: undefined, error: 'The channel does not exist' }
  const notice: Notice = {
    type: 'alert.test',
    timestamp: new Date(env.clock()).toISOString(),
    data: {
      alert: null,
      name: env.name,
      sequence: 0,
      title: `${env.name}: a test of the channel ${name}`,
      text: 'Nothing has happened. Alerts will arrive here.',
      url: '',
      instances: [],
      more: 0,
    },
  }
  const attempt = await postWebhook(channel, newId(), notice, env)
  return { status: attempt.status, error: attempt.outcome === 'sent' ? undefined : attempt.error }
}
