/** The options of `gatehouse provider` that set no member by themselves: its secret, and the claims that it requires. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'
import type { ReadOthers } from './resource-commands.ts'

/** A new provider has a secret unless it has a key. */
export const readProviderOptions: ReadOthers = async ({ args, readPassword }, command) => {
  const isKeyed = command === 'add' && args.has('--key')
  const hasSecret = command === 'add' ? !isKeyed : args.has('--secret')
  return {
    ...(isKeyed && { auth_method: 'private_key_jwt' }),
    ...(args.has('--require') && { require: requirements(args) }),
    ...(hasSecret && { client_secret: await readPassword('Client secret: ') }),
  }
}

/** A claim may be given several times, with a value each. */
function requirements(args: Arguments): JsonObject {
  const byClaim = new Map<string, string[]>()
  for (const text of args.values('--require')) {
    const at = text.indexOf('=')
    if (at < 1 || at === text.length - 1) throw new UsageError(`--require needs CLAIM=VALUE, not ${text}`)
    const claim = text.slice(0, at)
    byClaim.set(claim, [...(byClaim.get(claim) ?? []), text.slice(at + 1)])
  }
  return Object.fromEntries(byClaim)
}
