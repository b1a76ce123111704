/** `gatehouse client secret`, and the options of `gatehouse client` that set no member by themselves. */
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'
import { create, named, removeOr } from './actions.ts'
import { type AdminCommand, readList, withoutUndefined } from './admin-command.ts'
import { readValues } from './attribute-values.ts'
import type { ReadOthers } from './resource-commands.ts'

const SHORT_GRANTS: ReadonlyMap<string, string> = new Map([
  ['device_code', 'urn:ietf:params:oauth:grant-type:device_code'],
  ['token_exchange', 'urn:ietf:params:oauth:grant-type:token-exchange'],
  ['jwt_bearer', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
])

const SECRETS = named('/admin/clients', 'secrets')

export const CLIENT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'client secret',
    positionals: ['CLIENT'],
    options: {
      '--others-expire-in': { value: 'SECONDS', help: 'make the other secrets expire after this time' },
      '--remove': { value: 'SECRET', help: 'remove the secret with this id instead of adding one' },
    },
    summary: 'Adds a second secret, which is shown only once, or removes one.',
    examples: ['client secret desk-app --others-expire-in 86400', 'client secret desk-app --remove 9xA…'],
    run: removeOr(
      '--remove',
      SECRETS,
      (secret) => `The secret ${secret} was removed.`,
      create(SECRETS, ({ args }) => withoutUndefined({ others_expire_in: args.integer('--others-expire-in') })),
    ),
  },
]

export const readClientOptions: ReadOthers = async ({ args, request }, command) => {
  const [isPublic, hasKeys] = command === 'add' ? [args.has('--public'), args.has('--no-secret')] : []
  const profile = args.value('--profile')
  return {
    ...(isPublic === true && { token_endpoint_auth_method: 'none' }),
    ...(hasKeys === true && { token_endpoint_auth_method: 'private_key_jwt' }),
    ...withoutUndefined({
      grant_types: readList(args, '--grant')?.map((grant) => SHORT_GRANTS.get(grant) ?? grant),
      scope: readList(args, '--scope')?.join(' '),
      ...(args.has('--jwks-uri') && {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: args.value('--jwks-uri'),
      }),
      federated: readList(args, '--workload')?.map(readWorkload),
      exchange_scope: readList(args, '--exchange-scope')?.join(' '),
      profile: profile === 'none' ? null : profile,
    }),
    ...(await readValues(args, request)),
  }
}

/** An issuer has no `=`, a subject may have one. */
function readWorkload(text: string): JsonObject {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError('--workload takes ISSUER=SUBJECT, such as https://ci.example=repo:example/pricer')
  return { issuer: text.slice(0, at), subject: text.slice(at + 1) }
}
