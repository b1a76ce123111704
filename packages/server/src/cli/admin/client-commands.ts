/** `gatehouse client …` */
import type { Arguments, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type JsonObject, parseJson } from '../output/json.ts'
import { change, create, listPage, named, remove, removeOr, setDisabled, show } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, readBoolean, readList, withoutUndefined } from './admin-command.ts'
import { readValues, VALUES } from './attribute-values.ts'

const CLIENTS = '/admin/clients'
const SHORT_GRANTS: ReadonlyMap<string, string> = new Map([
  ['device_code', 'urn:ietf:params:oauth:grant-type:device_code'],
  ['token_exchange', 'urn:ietf:params:oauth:grant-type:token-exchange'],
])

const METADATA: OptionTable = {
  '--name': { value: 'NAME', help: 'the display name' },
  '--redirect': { value: 'URI', repeatable: true, help: 'a redirect URI; repeatable' },
  '--grant': {
    value: 'GRANT',
    repeatable: true,
    help: 'a grant type; device_code and token_exchange for short; repeatable',
  },
  '--response': { value: 'TYPE', repeatable: true, help: 'a response type such as "code id_token"; repeatable' },
  '--scope': { value: 'SCOPE', repeatable: true, help: 'a scope that the client may request; repeatable' },
  '--origin': { value: 'ORIGIN', repeatable: true, help: 'an origin whose pages may call (CORS); repeatable' },
  '--jwks-uri': { value: 'URL', help: 'where the client publishes its keys; it authenticates by private_key_jwt' },
  '--workload': {
    value: 'ISSUER=SUBJECT',
    repeatable: true,
    help: 'a workload that authenticates with a token of its issuer, such as a service account; repeatable',
  },
  '--api': { value: 'RESOURCE', help: 'the API that this client serves, so that it can exchange tokens for it' },
  '--exchange-scope': {
    value: 'SCOPE',
    repeatable: true,
    help: 'a scope that it may get by token exchange; repeatable',
  },
  '--require-dpop': { value: 'true|false', help: 'bind its access tokens to a key of the client (DPoP)' },
  '--require-par': { value: 'true|false', help: 'accept only pushed authorization requests (PAR)' },
  '--require-jar': {
    value: 'true|false',
    help: 'accept only authorization requests that are signed with its keys (JAR)',
  },
  '--profile': { value: 'fapi2|none', help: 'a security profile: fapi2 is the FAPI 2.0 Security Profile' },
  '--require-acr': { value: '1|2', help: 'signing in to it needs 1 or 2 factors' },
  '--require-age': { value: 'SECONDS', help: 'users whose sign-in is older sign in again' },
  '--skip-consent': {
    value: 'true|false',
    help: 'do not ask users for consent; for your own applications (on a device, any program can pose as one)',
  },
  '--set': { value: 'MEMBER=JSON', repeatable: true, help: 'any other member of the metadata; repeatable' },
}

export const CLIENT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'client list',
    options: PAGE_OPTIONS,
    summary: 'Lists clients.',
    examples: ['client list', 'client list --json'],
    run: listPage(CLIENTS, ['client_id', 'client_name', 'grant_types', 'scope', 'disabled']),
  },
  {
    name: 'client show',
    positionals: ['CLIENT'],
    summary: 'Shows a client and its secrets, without their values.',
    examples: ['client show desk-app'],
    run: show(CLIENTS),
  },
  {
    name: 'client add',
    positionals: ['CLIENT'],
    options: {
      '--public': { help: 'a public client, without a secret' },
      '--no-secret': { help: 'a client that authenticates with assertions only (private_key_jwt)' },
      ...METADATA,
      ...VALUES,
    },
    summary: 'Registers a client; its secret is shown only once.',
    examples: [
      'client add desk-app --redirect https://desk.example/callback --scope openid --scope Platform/News',
      'client add robot --grant client_credentials --scope Platform/Market',
      'client add pricer --no-secret --grant client_credentials --scope Platform/Market --workload https://kubernetes.example=system:serviceaccount:trading:pricer',
      'client add order-desk --grant token_exchange --api https://orders.example.com --exchange-scope Platform/Market',
      'client add gatehouse-cli --public --grant device_code --grant refresh_token --grant password --scope "openid profile offline_access Identity/Admin Platform/Admin Platform/Market"',
    ],
    run: create(CLIENTS, async ({ args, request }) => ({
      client_id: args.positionals[0],
      ...(args.has('--public') ? { token_endpoint_auth_method: 'none' } : {}),
      ...(args.has('--no-secret') ? { token_endpoint_auth_method: 'private_key_jwt' } : {}),
      ...readMetadata(args),
      ...(await readValues(args, request)),
    })),
  },
  {
    name: 'client set',
    positionals: ['CLIENT'],
    options: { ...METADATA, ...VALUES },
    summary: 'Changes a client; a given list replaces the previous list.',
    examples: ['client set desk-app --redirect https://desk.example/new', 'client set desk-app --skip-consent true'],
    run: change(CLIENTS, async ({ args, request }) => ({
      ...readMetadata(args),
      ...(await readValues(args, request)),
    })),
  },
  {
    name: 'client disable',
    positionals: ['CLIENT'],
    summary: 'Disables a client and revokes all its tokens at once.',
    examples: ['client disable desk-app --yes'],
    confirm: ([client]) => `Revoke all tokens of the client ${client}?`,
    run: setDisabled(CLIENTS, 'client', true),
  },
  {
    name: 'client enable',
    positionals: ['CLIENT'],
    summary: 'Enables a disabled client.',
    examples: ['client enable desk-app'],
    run: setDisabled(CLIENTS, 'client', false),
  },
  {
    name: 'client remove',
    positionals: ['CLIENT'],
    summary: 'Deletes a client.',
    examples: ['client remove desk-app --yes'],
    confirm: ([client]) => `Permanently delete the client ${client}?`,
    run: remove(CLIENTS, (client) => `The client ${client} was deleted.`),
  },
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
      named(CLIENTS, 'secrets'),
      (secret) => `The secret ${secret} was removed.`,
      create(named(CLIENTS, 'secrets'), ({ args }) =>
        withoutUndefined({ others_expire_in: args.integer('--others-expire-in') }),
      ),
    ),
  },
]

function readMetadata(args: Arguments): JsonObject {
  return {
    ...withoutUndefined({
      client_name: args.value('--name'),
      redirect_uris: readList(args, '--redirect'),
      grant_types: readList(args, '--grant')?.map((grant) => SHORT_GRANTS.get(grant) ?? grant),
      response_types: readList(args, '--response'),
      scope: readList(args, '--scope')?.join(' '),
      allowed_origins: readList(args, '--origin'),
      skip_consent: readBoolean(args, '--skip-consent'),
      ...(args.value('--jwks-uri') === undefined
        ? {}
        : { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: args.value('--jwks-uri') }),
      federated: readList(args, '--workload')?.map(readWorkload),
      api: args.value('--api'),
      exchange_scope: readList(args, '--exchange-scope')?.join(' '),
      dpop_bound_access_tokens: readBoolean(args, '--require-dpop'),
      require_pushed_authorization_requests: readBoolean(args, '--require-par'),
      require_acr: args.integer('--require-acr'),
      require_age: args.integer('--require-age'),
      require_signed_request_object: readBoolean(args, '--require-jar'),
      profile: args.value('--profile') === 'none' ? null : args.value('--profile'),
    }),
    ...Object.fromEntries([...args.pairs('--set')].map(([name, text]) => [name, readMember(name, text)])),
  }
}

/** An issuer has no `=`, a subject may have one. */
function readWorkload(text: string): JsonObject {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError('--workload takes ISSUER=SUBJECT, such as https://ci.example=repo:example/pricer')
  return { issuer: text.slice(0, at), subject: text.slice(at + 1) }
}

function readMember(name: string, text: string): unknown {
  const value = parseJson(text)
  if (value === undefined) throw new UsageError(`--set ${name}=… takes JSON: a "text" in quotes, true, 60, ["a", "b"]`)
  return value
}
