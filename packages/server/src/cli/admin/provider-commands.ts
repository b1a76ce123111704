/** `gatehouse provider …` */
import type { Arguments, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type JsonObject, parseJson } from '../output/json.ts'
import { change, list, named, remove, setDisabled, show } from './actions.ts'
import { type AdminCommand, type AdminCommandCall, readBoolean, readList, withoutUndefined } from './admin-command.ts'

const PROVIDERS = '/admin/providers'

const DEFINITION: OptionTable = {
  '--name': { value: 'NAME', help: 'on buttons and pages (default: the id)' },
  '--domain': { value: 'DOMAIN', repeatable: true, help: 'usernames in this domain are sent there; repeatable' },
  '--require': {
    value: 'CLAIM=VALUE',
    repeatable: true,
    help: 'a claim must have this value, or another one given for it; repeatable',
  },
  '--provision': {
    value: 'never|invited|create',
    help: 'who gets an account: linked identities only, people with a set-up link, or all who meet --require',
  },
  '--lifetime': { value: 'TIME', help: 'how long a sign-in lasts at most, such as "7 days"' },
  '--logout': { value: 'true|false', help: 'whether a sign-out continues there' },
  '--private': { value: 'true|false', help: 'whether it may have a private address, or use http' },
  '--secret': { help: 'ask for the client secret, or read it from stdin' },
  '--set': {
    value: 'MEMBER=JSON',
    repeatable: true,
    help: 'any other member of the definition, such as rules or trust_mfa; repeatable',
  },
}

export const PROVIDER_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'provider list',
    summary: 'Lists the other OpenID providers through which people sign in.',
    examples: ['provider list', 'provider list --json'],
    run: list(PROVIDERS, ['id', 'name', 'issuer', 'provision', 'domains', 'disabled']),
  },
  {
    name: 'provider show',
    positionals: ['PROVIDER'],
    summary: 'Shows a provider, with the addresses to register there.',
    examples: ['provider show corp'],
    run: show(PROVIDERS),
  },
  {
    name: 'provider add',
    positionals: ['PROVIDER', 'ISSUER', 'CLIENT_ID'],
    options: { ...DEFINITION, '--key': { help: 'authenticate with a key pair instead of a secret (private_key_jwt)' } },
    summary: 'Declares a provider; its button appears on the sign-in page at once.',
    examples: [
      'provider add corp https://id.example.com/realms/main gatehouse --require groups=gatehouse --provision create',
      'provider add google https://accounts.google.com 123.apps.googleusercontent.com --require hd=example.com',
    ],
    async run(call) {
      const [id, issuer, client_id] = call.args.positionals
      const isKeyed = call.args.has('--key')
      const secret = isKeyed ? undefined : await call.readPassword('Client secret: ')
      const body = {
        ...{ id, issuer, client_id, ...(isKeyed && { auth_method: 'private_key_jwt' }) },
        ...readDefinition(call.args),
        ...(secret !== undefined && { client_secret: secret }),
      }
      return { kind: 'object', body: (await call.request('POST', PROVIDERS, { body })).body }
    },
  },
  {
    name: 'provider set',
    positionals: ['PROVIDER'],
    options: {
      ...DEFINITION,
      '--default': { value: 'MEMBER', repeatable: true, help: 'return to the default of a member; repeatable' },
    },
    summary: 'Changes a provider, with effect from the next sign-in.',
    examples: [
      'provider set corp --lifetime "7 days"',
      'provider set corp --secret',
      'provider set corp --default rules',
    ],
    async run(call) {
      const secret = await readSecret(call)
      const defaults = Object.fromEntries(call.args.values('--default').map((member) => [member, null]))
      const body = { ...readDefinition(call.args), ...defaults, ...(secret !== undefined && { client_secret: secret }) }
      return change(PROVIDERS, () => body)(call)
    },
  },
  {
    name: 'provider disable',
    positionals: ['PROVIDER'],
    summary: 'Disables a provider: nobody can sign in with it until it is enabled again.',
    examples: ['provider disable corp'],
    run: setDisabled(PROVIDERS, 'provider', true),
  },
  {
    name: 'provider enable',
    positionals: ['PROVIDER'],
    summary: 'Enables a disabled provider.',
    examples: ['provider enable corp'],
    run: setDisabled(PROVIDERS, 'provider', false),
  },
  {
    name: 'provider key',
    positionals: ['PROVIDER'],
    summary: 'Creates a new key pair with which this server authenticates to the provider.',
    examples: ['provider key corp --yes'],
    confirm: ([provider]) => `Replace the key pair of ${provider}? The provider must know the new public key.`,
    async run({ args, request }) {
      return { kind: 'object', body: (await request('POST', named(PROVIDERS, 'key')(args))).body }
    },
  },
  {
    name: 'provider remove',
    positionals: ['PROVIDER'],
    summary: 'Removes a provider and the identities that users have there, and ends its sessions.',
    examples: ['provider remove corp --yes'],
    confirm: ([provider]) => `Remove the provider ${provider}, with the identities that users have there?`,
    run: remove(PROVIDERS, (provider) => `The provider ${provider} was removed.`),
  },
]

function readSecret({ args, readPassword }: AdminCommandCall): Promise<string> | undefined {
  return args.has('--secret') ? readPassword('Client secret: ') : undefined
}

function readDefinition(args: Arguments): JsonObject {
  return {
    ...withoutUndefined({
      name: args.value('--name'),
      domains: readList(args, '--domain'),
      require: args.has('--require') ? requirementsOf(args) : undefined,
      provision: args.choice('--provision', ['never', 'invited', 'create']),
      lifetime: args.value('--lifetime'),
      logout: readBoolean(args, '--logout'),
      private: readBoolean(args, '--private'),
    }),
    ...Object.fromEntries([...args.pairs('--set')].map(([name, text]) => [name, readMember(name, text)])),
  }
}

/** A claim may be given several times, with a value each. */
function requirementsOf(args: Arguments): JsonObject {
  const byClaim = new Map<string, string[]>()
  for (const text of args.values('--require')) {
    const at = text.indexOf('=')
    if (at < 1 || at === text.length - 1) throw new UsageError(`--require needs CLAIM=VALUE, not ${text}`)
    const claim = text.slice(0, at)
    byClaim.set(claim, [...(byClaim.get(claim) ?? []), text.slice(at + 1)])
  }
  return Object.fromEntries(byClaim)
}

function readMember(name: string, text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new UsageError(`--set ${name}: the value is not JSON; texts need quotation marks, such as '"value"'`)
  }
}
