/** `gatehouse client …`, `gatehouse role …`, `gatehouse scope …` */
import type { OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type JsonObject, parseJson } from '../output/json.ts'
import {
  type AdminCommand,
  type AdminCommandCall,
  change,
  flagOf,
  type Output,
  PAGE_OPTIONS,
  pagePath,
  segment,
  withoutUndefined,
} from './admin-command.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

const METADATA: OptionTable = {
  '--name': { value: 'NAME', help: 'the display name' },
  '--redirect': { value: 'URI', repeatable: true, help: 'a redirect URI; repeatable' },
  '--grant': { value: 'GRANT', repeatable: true, help: 'a grant type, or device_code for short; repeatable' },
  '--response': { value: 'TYPE', repeatable: true, help: 'a response type such as "code id_token"; repeatable' },
  '--scope': { value: 'SCOPE', repeatable: true, help: 'a scope that the client may request; repeatable' },
  '--origin': { value: 'ORIGIN', repeatable: true, help: 'an origin whose pages may call (CORS); repeatable' },
  '--skip-consent': {
    value: 'true|false',
    help: 'do not ask users for consent; for your own applications (on a device, any program can pose as one)',
  },
  '--set': { value: 'MEMBER=JSON', repeatable: true, help: 'any other member of the metadata; repeatable' },
}

const ROLE: OptionTable = {
  '--scope': { value: 'SCOPE', repeatable: true, help: 'a scope that the role grants; repeatable' },
  '--description': { value: 'TEXT', help: 'what the role is for' },
  '--second-factor': { value: 'true|false', help: 'whether users with this role need a second factor' },
}

export const CLIENT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'client list',
    options: PAGE_OPTIONS,
    summary: 'Lists clients.',
    examples: ['client list', 'client list --json'],
    async run({ args, request }) {
      const { body } = await request('GET', pagePath('/admin/clients', args))
      return { kind: 'table', columns: ['client_id', 'client_name', 'grant_types', 'scope', 'disabled'], body }
    },
  },
  {
    name: 'client show',
    positionals: ['CLIENT'],
    summary: 'Shows a client and its secrets, without their values.',
    examples: ['client show desk-app'],
    async run({ positionals: [client], request }) {
      return { kind: 'object', body: (await request('GET', `/admin/clients/${segment(client)}`)).body }
    },
  },
  {
    name: 'client add',
    positionals: ['CLIENT'],
    options: { '--public': { help: 'a public client, without a secret' }, ...METADATA },
    summary: 'Registers a client; its secret is shown only once.',
    examples: [
      'client add desk-app --redirect https://desk.example/callback --scope openid --scope Platform/News',
      'client add robot --grant client_credentials --scope Platform/Market',
      'client add gatehouse-cli --public --grant device_code --grant refresh_token --scope "openid profile offline_access Identity/Admin Platform/Admin Platform/Market"',
    ],
    async run(call) {
      const body = {
        client_id: call.positionals[0],
        ...(call.args.has('--public') ? { token_endpoint_auth_method: 'none' } : {}),
        ...readMetadata(call),
      }
      return { kind: 'object', body: (await call.request('POST', '/admin/clients', { body })).body }
    },
  },
  {
    name: 'client set',
    positionals: ['CLIENT'],
    options: METADATA,
    summary: 'Changes a client; a list that is given replaces the earlier one.',
    examples: ['client set desk-app --redirect https://desk.example/new', 'client set desk-app --skip-consent true'],
    run: (call) => change(call.request, `/admin/clients/${segment(call.positionals[0])}`, readMetadata(call)),
  },
  {
    name: 'client disable',
    positionals: ['CLIENT'],
    summary: 'Disables a client and revokes all its tokens at once.',
    examples: ['client disable desk-app --yes'],
    confirm: ([client]) => `Revoke all tokens of the client ${client}?`,
    run: (call) => setDisabled(call, true),
  },
  {
    name: 'client enable',
    positionals: ['CLIENT'],
    summary: 'Enables a disabled client.',
    examples: ['client enable desk-app'],
    run: (call) => setDisabled(call, false),
  },
  {
    name: 'client remove',
    positionals: ['CLIENT'],
    summary: 'Deletes a client.',
    examples: ['client remove desk-app --yes'],
    confirm: ([client]) => `Permanently delete the client ${client}?`,
    async run({ positionals: [client], request }) {
      await request('DELETE', `/admin/clients/${segment(client)}`)
      return { kind: 'text', text: `The client ${client} was deleted.` }
    },
  },
  {
    name: 'client secret',
    positionals: ['CLIENT'],
    options: {
      '--others-expire-in': { value: 'SECONDS', help: 'let the other secrets expire after this time' },
      '--remove': { value: 'SECRET', help: 'remove the secret with this id instead of adding one' },
    },
    summary: 'Adds a second secret, which is shown only once, or removes one.',
    examples: ['client secret desk-app --others-expire-in 86400', 'client secret desk-app --remove 9xA…'],
    async run({ args, positionals: [client], request }) {
      const target = `/admin/clients/${segment(client)}/secrets`
      const secret = args.value('--remove')
      if (secret !== undefined) {
        await request('DELETE', `${target}/${segment(secret)}`)
        return { kind: 'text', text: `The secret ${secret} was removed.` }
      }
      const body = withoutUndefined({ others_expire_in: args.integer('--others-expire-in') })
      return { kind: 'object', body: (await request('POST', target, { body })).body }
    },
  },
  {
    name: 'role list',
    options: PAGE_OPTIONS,
    summary: 'Lists roles.',
    examples: ['role list'],
    async run({ args, request }) {
      const { body } = await request('GET', pagePath('/admin/roles', args))
      return { kind: 'table', columns: ['name', 'scopes', 'require_second_factor', 'description'], body }
    },
  },
  {
    name: 'role add',
    positionals: ['ROLE'],
    options: ROLE,
    summary: 'Creates a role.',
    examples: ['role add trader --scope Platform/Trading --scope Platform/Market'],
    async run(call) {
      const body = { name: call.positionals[0], ...readRole(call) }
      return { kind: 'object', body: (await call.request('POST', '/admin/roles', { body })).body }
    },
  },
  {
    name: 'role set',
    positionals: ['ROLE'],
    options: ROLE,
    summary: 'Changes a role, with immediate effect for the users who have it.',
    examples: ['role set trader --scope Platform/Trading'],
    run: (call) => change(call.request, `/admin/roles/${segment(call.positionals[0])}`, readRole(call)),
  },
  {
    name: 'role remove',
    positionals: ['ROLE'],
    summary: 'Deletes a role; users who have it lose its scopes.',
    examples: ['role remove trader --yes'],
    confirm: ([role]) => `Delete the role ${role} and withdraw its scopes from all users who have it?`,
    async run({ positionals: [role], request }) {
      await request('DELETE', `/admin/roles/${segment(role)}`)
      return { kind: 'text', text: `The role ${role} was deleted.` }
    },
  },
  {
    name: 'scope list',
    summary: 'Lists the scopes, the resource of each, and the roles that grant it.',
    examples: ['scope list'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/scopes')
      return { kind: 'table', columns: ['name', 'resource', 'roles'], body }
    },
  },
]

function readMetadata({ args }: AdminCommandCall): JsonObject {
  const list = (name: `--${string}`) => (args.has(name) ? args.values(name) : undefined)
  return {
    ...withoutUndefined({
      client_name: args.value('--name'),
      redirect_uris: list('--redirect'),
      grant_types: list('--grant')?.map((grant) => (grant === 'device_code' ? DEVICE_CODE : grant)),
      response_types: list('--response'),
      scope: list('--scope')?.join(' '),
      allowed_origins: list('--origin'),
      skip_consent: flagOf(args.choice('--skip-consent', ['true', 'false'])),
    }),
    ...Object.fromEntries([...args.pairs('--set')].map(([name, text]) => [name, readMember(name, text)])),
  }
}

function readMember(name: string, text: string): unknown {
  const value = parseJson(text)
  if (value === undefined) throw new UsageError(`--set ${name}=… takes JSON: a "text" in quotes, true, 60, ["a", "b"]`)
  return value
}

function readRole({ args }: AdminCommandCall): JsonObject {
  const factor = args.choice('--second-factor', ['true', 'false'])
  return withoutUndefined({
    scopes: args.has('--scope') ? args.values('--scope') : undefined,
    description: args.value('--description'),
    require_second_factor: factor === undefined ? undefined : factor === 'true',
  })
}

async function setDisabled({ positionals: [client], request }: AdminCommandCall, disabled: boolean): Promise<Output> {
  const { body } = await request('PATCH', `/admin/clients/${segment(client)}`, { body: { disabled }, ifMatch: '*' })
  return { kind: 'text', text: `The client ${client} is ${disabled ? 'disabled' : 'enabled'}.`, body }
}
