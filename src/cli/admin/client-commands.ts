/** `gatehouse client …`, `gatehouse role …`, `gatehouse scope …` */
import { Usage } from '../command.ts'
import { type AdminCommand, type AdminOption, given, type JsonObject, segment } from './command.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

const METADATA: Readonly<Record<`--${string}`, AdminOption>> = {
  '--name': { kind: 'value', value: 'NAME', help: 'the name that people see' },
  '--redirect': { kind: 'values', value: 'URI', help: 'where the browser may return to; may be given again' },
  '--grant': { kind: 'values', value: 'GRANT', help: 'a grant type, or device_code for short; may be given again' },
  '--response': { kind: 'values', value: 'TYPE', help: 'a response type such as "code id_token"; may be given again' },
  '--scope': { kind: 'values', value: 'SCOPE', help: 'a scope that it may ask for; may be given again' },
  '--origin': { kind: 'values', value: 'ORIGIN', help: 'an origin whose scripts may call; may be given again' },
  '--set': { kind: 'values', value: 'MEMBER=JSON', help: 'any other member of the metadata; may be given again' },
}

const ROLE: Readonly<Record<`--${string}`, AdminOption>> = {
  '--scope': { kind: 'values', value: 'SCOPE', help: 'a scope that it gives; may be given again' },
  '--description': { kind: 'value', value: 'TEXT', help: 'what it is for' },
  '--second-factor': { kind: 'value', value: 'true|false', help: 'whoever holds it needs a second factor' },
}

export const CLIENT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'client list',
    words: [],
    summary: 'Lists clients.',
    examples: ['client list', 'client list --json'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/clients')
      return { kind: 'table', columns: ['client_id', 'client_name', 'grant_types', 'scope', 'disabled'], body }
    },
  },
  {
    name: 'client show',
    words: ['CLIENT'],
    summary: 'Shows a client and its secrets, without their values.',
    examples: ['client show desk-app'],
    async run({ words: [client], request }) {
      return { kind: 'object', body: (await request('GET', `/admin/clients/${segment(client)}`)).body }
    },
  },
  {
    name: 'client add',
    words: ['CLIENT'],
    begins: true,
    options: { '--public': { kind: 'switch', help: 'it cannot keep a secret: none is made' }, ...METADATA },
    summary: 'Registers a client; a secret is shown this once.',
    examples: [
      'client add desk-app --redirect https://desk.example/callback --scope openid --scope Platform/News',
      'client add robot --grant client_credentials --scope Platform/Market',
      'client add gatehouse-cli --public --grant device_code --grant refresh_token --scope Identity/Admin --scope Platform/Admin --scope offline_access',
    ],
    async run(call) {
      const { words, has, request } = call
      const body = {
        client_id: words[0],
        ...(has('--public') ? { token_endpoint_auth_method: 'none' } : {}),
        ...readMetadata(call),
      }
      const answer = await request('POST', '/admin/clients', { body })
      return { kind: 'object', body: answer.body }
    },
  },
  {
    name: 'client set',
    words: ['CLIENT'],
    options: METADATA,
    summary: 'Changes a client; a list that is given replaces the one before.',
    examples: [
      'client set desk-app --redirect https://desk.example/new',
      'client set desk-app --set skip_consent=true',
    ],
    async run(call) {
      const target = `/admin/clients/${segment(call.words[0])}`
      const answer = await call.request('PATCH', target, { body: readMetadata(call), ifMatch: '*' })
      return { kind: 'object', body: answer.body }
    },
  },
  {
    name: 'client disable',
    words: ['CLIENT'],
    summary: 'Keeps a client out: every token it has is cut at once.',
    examples: ['client disable desk-app --yes'],
    confirm: ([client]) => `Cut every token of the client ${client}?`,
    run: (call) => setDisabled(call, true),
  },
  {
    name: 'client enable',
    words: ['CLIENT'],
    summary: 'Lets a disabled client in again.',
    examples: ['client enable desk-app'],
    run: (call) => setDisabled(call, false),
  },
  {
    name: 'client remove',
    words: ['CLIENT'],
    summary: 'Deletes a client.',
    examples: ['client remove desk-app --yes'],
    confirm: ([client]) => `Delete the client ${client} for good?`,
    async run({ words: [client], request }) {
      await request('DELETE', `/admin/clients/${segment(client)}`)
      return { kind: 'text', text: `The client ${client} was deleted.` }
    },
  },
  {
    name: 'client secret',
    words: ['CLIENT'],
    options: {
      '--others-expire-in': { kind: 'value', value: 'SECONDS', help: 'the other secret stops working after this time' },
      '--remove': { kind: 'value', value: 'SECRET', help: 'remove this secret (its id) instead of making one' },
    },
    summary: 'Makes a second secret, shown this once, or removes one.',
    examples: ['client secret desk-app --others-expire-in 86400', 'client secret desk-app --remove 9xA…'],
    async run({ words: [client], option, request }) {
      const target = `/admin/clients/${segment(client)}/secrets`
      const removed = option('--remove')
      if (removed !== undefined) {
        await request('DELETE', `${target}/${segment(removed)}`)
        return { kind: 'text', text: `The secret ${removed} was removed.` }
      }
      const seconds = option('--others-expire-in')
      const body = seconds === undefined ? {} : { others_expire_in: Number(seconds) }
      return { kind: 'object', body: (await request('POST', target, { body })).body }
    },
  },
  {
    name: 'role list',
    words: [],
    summary: 'Lists roles.',
    examples: ['role list'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/roles')
      return { kind: 'table', columns: ['name', 'scopes', 'require_second_factor', 'description'], body }
    },
  },
  {
    name: 'role add',
    words: ['ROLE'],
    begins: true,
    options: ROLE,
    summary: 'Creates a role.',
    examples: ['role add trader --scope Platform/Trading --scope Platform/Market'],
    async run(call) {
      const body = { name: call.words[0], ...readRole(call) }
      return { kind: 'object', body: (await call.request('POST', '/admin/roles', { body })).body }
    },
  },
  {
    name: 'role set',
    words: ['ROLE'],
    options: ROLE,
    summary: 'Changes a role; whoever holds it feels it at once.',
    examples: ['role set trader --scope Platform/Trading'],
    async run(call) {
      const target = `/admin/roles/${segment(call.words[0])}`
      return {
        kind: 'object',
        body: (await call.request('PATCH', target, { body: readRole(call), ifMatch: '*' })).body,
      }
    },
  },
  {
    name: 'role remove',
    words: ['ROLE'],
    summary: 'Deletes a role; whoever held it loses what it gave.',
    examples: ['role remove trader --yes'],
    confirm: ([role]) => `Delete the role ${role}, and take its scopes from everybody who holds it?`,
    async run({ words: [role], request }) {
      await request('DELETE', `/admin/roles/${segment(role)}`)
      return { kind: 'text', text: `The role ${role} was deleted.` }
    },
  },
  {
    name: 'scope list',
    words: [],
    summary: 'Lists the scopes, what each opens, and the roles that give it.',
    examples: ['scope list'],
    async run({ request }) {
      return {
        kind: 'table',
        columns: ['name', 'resource', 'roles'],
        body: (await request('GET', '/admin/scopes')).body,
      }
    },
  },
]

type Call = Parameters<AdminCommand['run']>[0]

function readMetadata({ option, values, has }: Call): JsonObject {
  const list = (name: `--${string}`) => (has(name) ? values(name) : undefined)
  return {
    ...given({
      client_name: option('--name'),
      redirect_uris: list('--redirect'),
      grant_types: list('--grant')?.map((grant) => (grant === 'device_code' ? DEVICE_CODE : grant)),
      response_types: list('--response'),
      scope: list('--scope')?.join(' '),
      allowed_origins: list('--origin'),
    }),
    ...Object.fromEntries(values('--set').map(readMember)),
  }
}

function readMember(text: string): [string, unknown] {
  const equals = text.indexOf('=')
  const [name, value] = [text.slice(0, equals), text.slice(equals + 1)]
  try {
    if (equals > 0) return [name, JSON.parse(value)]
  } catch {
    throw new Usage(`--set ${name}=…: the value is JSON: "text" in quotes, true, 60, ["a", "b"]`)
  }
  throw new Usage(`--set looks like member=value, not "${text}"`)
}

function readRole({ option, values, has }: Call): JsonObject {
  const factor = option('--second-factor')
  if (factor !== undefined && factor !== 'true' && factor !== 'false')
    throw new Usage('--second-factor is true or false')
  return given({
    scopes: has('--scope') ? values('--scope') : undefined,
    description: option('--description'),
    require_second_factor: factor === undefined ? undefined : factor === 'true',
  })
}

async function setDisabled({ words: [client], request }: Call, disabled: boolean): ReturnType<AdminCommand['run']> {
  const { body } = await request('PATCH', `/admin/clients/${segment(client)}`, { body: { disabled }, ifMatch: '*' })
  return { kind: 'text', text: `The client ${client} is ${disabled ? 'disabled' : 'enabled'}.`, body }
}
