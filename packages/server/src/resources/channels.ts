/** Channels: where alerts are delivered. */
import { Refusal } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { isMailAddress } from '../lib/mail-address.ts'
import { closed, flag, oneOf, shortList, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { newSigningSecret, readSigningSecret, sealSecret } from '../store/alerts/channel-secrets.ts'
import {
  CHANNEL_KINDS,
  type Channel,
  type ChannelKind,
  DEFAULT_TOPIC,
  WEBHOOK_FORMATS,
} from '../store/alerts/channels.ts'
import { BUILT_IN } from '../store/apis/known-scopes.ts'
import { SECRET } from './declared-secret.ts'
import type { ChangeInside, ItemChange, JsonObject, Known, Resource } from './define-resource.ts'
import { unknownName } from './names.ts'
import { webhookAddressFault } from './webhook-address.ts'

export type DeclaredChannel = XStatic<typeof CHANNEL>

const CHANNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Every user has these. */
const BUILT_IN_CHANNELS = ['mail', 'push']
const DEFAULT_USE = 'Platform/Admin'

const CHANNEL = closed(['name', 'kind'], {
  name: text({ pattern: CHANNEL_NAME.source, description: 'What alerts call it. It stays.' }),
  kind: oneOf(CHANNEL_KINDS, 'How it is delivered.'),
  url: text({
    minLength: 1,
    maxLength: 2048,
    description: 'Where deliveries are posted, if the address is not the secret.',
  }),
  format: oneOf(
    WEBHOOK_FORMATS,
    'The body. standard: Standard Webhooks 1.0, signed. slack, teams: a message; the secret is the address. Default: standard.',
  ),
  secret: SECRET,
  to: text({ minLength: 3, maxLength: 254, description: 'Of mail: the address.' }),
  feed: text({
    minLength: 1,
    maxLength: 64,
    description: 'Of a feed: its name. The owner of an alert needs its write right.',
  }),
  topic: text({
    minLength: 1,
    maxLength: 128,
    description: 'Of a feed: a template with {{alert}}, {{name}} or {{state}}. Default: alerts/{{alert}}.',
  }),
  use: text({
    minLength: 1,
    maxLength: 256,
    description: 'The scope that the owner of an alert needs. Default: Platform/Admin.',
  }),
  private: flag('Whether it may have a private address, or use http. Default: false.'),
  disabled: flag('Nothing is delivered; what waits goes on waiting. Default: false.'),
})

export const CHANNELS = {
  noun: 'channel',
  section: 'channels',
  key: 'name',
  scope: 'Platform/Admin',
  list: shortList(CHANNEL, 'Channels: where alerts are delivered.'),
  patterns: [[CHANNEL_NAME.source, 'must consist of 1 to 64 letters, digits and the characters . _ -']],
  toItem: (declared, before) => ({
    ...{ name: declared.name, kind: declared.kind, url: declared.url, format: declared.format ?? 'standard' },
    ...{ to: declared.to, feed: declared.feed, topic: declared.topic ?? DEFAULT_TOPIC },
    ...{ use: declared.use ?? DEFAULT_USE, private: declared.private ?? false, disabled: declared.disabled ?? false },
    sealed: before?.sealed ?? {},
  }),
  present: (channel) => ({
    ...declareChannel(channel),
    ...(channel.kind === 'webhook' && { format: channel.format, private: channel.private }),
    ...(channel.kind === 'feed' && { topic: channel.topic }),
    use: channel.use,
    disabled: channel.disabled,
  }),
  declare: declareChannel,
  compare: declareChannel,
  namedScopes: ({ use }) => [use],
  refersTo: ['scopes'],
  faults: channelFaults,
  secret: {
    member: 'secret',
    body: {
      type: 'string',
      description: 'A key of Standard Webhooks, whsec_…, or the address. Without one a key is made, and shown once.',
    },
    has: ({ sealed }) => sealed.digest !== undefined,
    textFault: (declared, value) => secretFault(declared, value),
    fault(isGiven, channel, before, value) {
      if (channel.kind !== 'webhook') return isGiven ? 'is of webhooks only' : undefined
      if (value !== undefined) return secretFault(channel, value)
      if (isGiven || channel.format === 'standard' || before?.format === channel.format) return undefined
      return `is missing: with format ${channel.format} it is the address`
    },
    plan({ name, secret: value }, before, { passwordDigest }) {
      if (typeof value !== 'string') return undefined
      const digest = passwordDigest(`channel ${name}`, value)
      return digest === before?.sealed.digest ? undefined : { value, digest }
    },
  },
  isNewerThanNodes: () => true,
  store: ({ channels }) => channels,
  put: putChannel,
  changedEvent: 'channels-changed',
  isExportedIfAny: true,
  auditDetails: ({ kind }) => ({ kind }),
  routes: {
    list: 'Lists the channels to which alerts are delivered, ordered by name.',
    create: 'Declares a channel. A key that the server made is shown only once.',
    show: 'Shows a channel. Its secret is never shown.',
    change: 'Changes a channel (JSON merge patch), for all deliveries from now on.',
    remove: 'Removes a channel. What waits for it is dropped.',
    instead: 'declare another channel',
    replies: { create: 'The channel, with its secret if the server made it.' },
  },
  actions: [
    {
      name: 'rotate',
      summary: 'Makes a new key. Deliveries are signed with it and with the one before for 24 hours.',
      reply: 'The channel, with its new `secret`.',
      run: rotateKey,
      command: {
        summary: 'Makes a new key of a channel; the one before signs too for 24 hours.',
        examples: ['channel rotate desk-hook'],
      },
    },
  ],
  commands: {
    argument: 'CHANNEL',
    options: {
      '--kind': {
        value: 'webhook|mail|feed',
        help: 'how it is delivered (default webhook)',
        only: 'add',
        default: 'webhook',
      },
      '--url': { value: 'URL', help: 'where deliveries are posted' },
      '--format': { value: 'standard|slack|teams', help: 'the body; with slack and teams the secret is the address' },
      '--secret': { isRead: true, help: 'ask for the key or the address, or read it from stdin' },
      '--to': { value: 'ADDRESS', help: 'of mail: the address' },
      '--feed': { value: 'FEED', help: 'of a feed: its name' },
      '--topic': { value: 'TEMPLATE', help: 'of a feed: the topic (default "alerts/{{alert}}")' },
      '--use': { value: 'SCOPE', help: 'the scope that the owner of an alert needs (default Platform/Admin)' },
      '--private': { value: 'true|false', help: 'whether it may have a private address, or use http' },
    },
    columns: ['name', 'kind', 'format', 'url', 'to', 'feed', 'use', 'disabled'],
    list: { summary: 'Lists the channels to which alerts are delivered.', examples: ['channel list'] },
    show: { summary: 'Shows a channel.', examples: ['channel show desk-hook'] },
    add: {
      summary: 'Declares a channel; a key that the server makes is shown only once.',
      examples: [
        'channel add desk-hook --url https://hooks.example.com/gate --use Platform/Trading',
        'channel add desk-mail --kind mail --to desk@example.com --use Platform/Trading',
        'channel add desk-slack --format slack --secret --use Platform/Trading',
      ],
      done: (channel, made) =>
        typeof made.secret === 'string'
          ? `The channel ${channel} was declared. Its key, which is shown only now: ${made.secret}`
          : `The channel ${channel} was declared.`,
    },
    set: {
      summary: 'Changes a channel, for all deliveries from now on.',
      examples: ['channel set desk-hook --url https://hooks.example.com/other'],
    },
    disable: {
      summary: 'Disables a channel: what is to be delivered waits until it is enabled again.',
      examples: ['channel disable desk-hook'],
    },
    enable: { summary: 'Enables a disabled channel.', examples: ['channel enable desk-hook'] },
    remove: {
      summary: 'Removes a channel.',
      examples: ['channel remove desk-hook --yes'],
      confirm: (channel) => `Remove the channel ${channel}? What waits for it is dropped.`,
      done: (channel) => `The channel ${channel} was removed.`,
    },
  },
} as const satisfies Resource<Channel, DeclaredChannel>

/** Which members a kind has. */
const OF_KINDS: readonly (readonly [member: keyof DeclaredChannel, kinds: readonly ChannelKind[]])[] = [
  ['url', ['webhook']],
  ['format', ['webhook']],
  ['private', ['webhook']],
  ['to', ['mail']],
  ['feed', ['feed']],
  ['topic', ['feed']],
]

function mailFault(to: string): string | undefined {
  return isMailAddress(to) ? undefined : 'is not an e-mail address'
}

function channelFaults(declared: DeclaredChannel, { scopes }: Pick<Known, 'scopes'>): Fault[] {
  const { name, kind, url, format = 'standard', to, feed, use, private: isPrivate } = declared
  const faults: Fault[] = []
  const fault = (path: string, text: string | undefined) => text !== undefined && faults.push({ path, text })
  if (BUILT_IN_CHANNELS.includes(name)) fault('name', `every user has a channel ${name}`)
  for (const [member, kinds] of OF_KINDS)
    if (declared[member] !== undefined && !kinds.includes(kind)) fault(member, `is not of the kind ${kind}`)
  if (kind === 'mail') fault('to', to === undefined ? 'is required' : mailFault(to))
  if (kind === 'feed') fault('feed', feed === undefined ? 'is required' : undefined)
  if (kind === 'webhook' && format === 'standard')
    fault('url', url === undefined ? 'is required' : webhookAddressFault(url, isPrivate === true))
  else if (kind === 'webhook' && url !== undefined)
    fault('url', `is left out: with format ${format} the secret is the address`)
  if (use !== undefined) {
    const rights = scopes.rights().filter((scope) => scopes.findTarget(scope) === BUILT_IN)
    if (!rights.includes(use)) fault('use', unknownName('scope', use, rights))
  }
  return faults
}

function secretFault(
  { format = 'standard', private: isPrivate }: Pick<DeclaredChannel, 'format' | 'private'>,
  value: string,
): string | undefined {
  if (format !== 'standard') return webhookAddressFault(value, isPrivate === true)
  return readSigningSecret(value) === undefined
    ? 'must be whsec_ and 24 to 64 bytes in base64, as Standard Webhooks has it'
    : undefined
}

async function putChannel(
  channel: Channel,
  { before, secret, stores, providerKey: key }: ItemChange<Channel>,
): Promise<JsonObject | undefined> {
  const isKept = before !== undefined && (before.format === 'standard') === (channel.format === 'standard')
  if (secret?.value !== undefined) {
    const digest = secret.digest === undefined ? {} : { digest: secret.digest }
    await stores.channels.put({ ...channel, sealed: { secret: sealSecret(secret.value, key), ...digest } })
    return undefined
  }
  if (isKept || channel.kind !== 'webhook' || channel.format !== 'standard') {
    // An item that a request describes has no secret.
    await stores.channels.put({ ...channel, sealed: before?.sealed ?? {} })
    return undefined
  }
  const made = newSigningSecret()
  await stores.channels.put({ ...channel, sealed: { secret: sealSecret(made, key) } })
  return { secret: made }
}

async function rotateKey(channel: Channel, { stores, providerKey: key }: ChangeInside) {
  if (channel.format !== 'standard')
    throw new Refusal('admin.conflict', 409, 'Its secret is an address: change it instead')
  const secret = newSigningSecret()
  await stores.channels.rotate(channel, sealSecret(secret, key))
  return { audit: { event: 'channel.rotated', details: { source: 'admin' } }, once: { secret } } as const
}

function declareChannel(channel: Channel): JsonObject {
  const { name, kind, url, format, to, feed, topic, use, private: isPrivate, disabled } = channel
  return {
    ...{ name, kind },
    ...(url !== undefined && { url }),
    ...(to !== undefined && { to }),
    ...(feed !== undefined && { feed }),
    ...(topic !== DEFAULT_TOPIC && { topic }),
    ...(format !== 'standard' && { format }),
    ...(use !== DEFAULT_USE && { use }),
    ...(isPrivate && { private: true }),
    ...(disabled && { disabled: true }),
  }
}
