/** What an alert must fit: its result, the conditions over it, and the channels that its owner may use. */
import type { ResultColumn } from 'gatehouse-iql'
import { type Principal, Refusal } from 'gatehouse-protocol'
import { type LiveQueries, refuse } from '../query/index.ts'
import { isAddress } from '../resources/alert-shape.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { AlertDefinition } from '../store/alerts/alert.ts'
import type { Channel } from '../store/alerts/channels.ts'
import { bindCondition } from './condition/bind.ts'
import { allChannels, mayUse } from './deliver/built-in.ts'
import type { OwnWebhooks } from './deliver/own-webhooks.ts'
import { readInputs } from './keep/alert-program.ts'
import { unknownPlaces } from './template.ts'

export interface CheckEnv {
  readonly live: Pick<LiveQueries, 'describe'>
  readonly channels: { list(): Promise<readonly Channel[]> }
  readonly hasMail: boolean
  /** Undefined where owners may have none. */
  readonly ownWebhooks: OwnWebhooks | undefined
}

const ENCODING = { rows: 'objects', integers: 'numbers' } as const
const MOST_FAULTS = 100

/** Throws the problem of the statement, or one about all other faults. */
export async function checkAgainstRest(
  definition: AlertDefinition,
  principal: Principal,
  env: CheckEnv,
): Promise<void> {
  const { statement } = definition
  const parameters = readInputs(definition)
  const { columns, keyNames, needsSignIn } = await env.live.describe({
    ...{ principal, statement, parameters },
    encoding: ENCODING,
  })
  if (needsSignIn)
    throw refuse(
      'Alert.NotAllowed',
      'A table of the statement demands something of the sign-in of its reader, and nobody signs in for an alert',
    )
  const channels = allChannels(await env.channels.list())
  refuseFaults([
    ...(keyNames === null
      ? [{ path: 'statement', text: 'its rows have no key, so that they cannot be distinguished' }]
      : []),
    ...conditionFaults(definition, columns),
    ...templateFaults(definition, columns),
    ...definition.channels.flatMap((name, index) => {
      const text = channelFault(name, channels.get(name), principal, env)
      return text === undefined ? [] : [{ path: `channels[${index}]`, text }]
    }),
  ])
}

export function refuseFaults(faults: readonly Fault[]): void {
  const [first] = faults
  if (first === undefined) return
  const detail = `${first.path === '' ? '' : `${first.path}: `}${first.text}`
  throw refuse('Alert.Invalid', detail, { members: { Faults: faults.slice(0, MOST_FAULTS) } })
}

function conditionFaults(definition: AlertDefinition, columns: readonly ResultColumn[]): Fault[] {
  const inputs = readInputs(definition)
  return (['when', 'until'] as const).flatMap((path) => {
    const text = definition[path]
    if (text === '') return []
    try {
      bindCondition(text, columns, inputs)
      return []
    } catch (error) {
      if (error instanceof Refusal) return [{ path, text: error.message }]
      throw error
    }
  })
}

function templateFaults(definition: AlertDefinition, columns: readonly ResultColumn[]): Fault[] {
  const names = columns.map(({ name }) => name)
  return (['title', 'text'] as const).flatMap((path) =>
    unknownPlaces(definition[path], names).map((name) => ({
      path,
      text: `the result has no column ${JSON.stringify(name)}`,
    })),
  )
}

function channelFault(
  name: string,
  channel: Channel | undefined,
  principal: Principal,
  env: CheckEnv,
): string | undefined {
  if (isAddress(name)) return addressFault(name, env)
  if (channel === undefined) return `there is no channel ${JSON.stringify(name)}`
  if (!mayUse(channel, principal.scopes)) return `the channel needs the scope ${channel.use}`
  if (channel.kind !== 'mail' && channel.kind !== 'push') return undefined
  if (principal.kind !== 'user') return `${channel.kind} is for users`
  if (channel.kind === 'push') return undefined
  return env.hasMail ? undefined : 'no mail is set up on this server'
}

/** Of a webhook of the owner. */
export function addressFault(url: string, { ownWebhooks }: Pick<CheckEnv, 'ownWebhooks'>): string | undefined {
  if (ownWebhooks === undefined) return 'this server allows no webhooks of your own (alert_own_webhooks)'
  return ownWebhooks.addressFault(url)
}
