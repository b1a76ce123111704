/** `gatehouse api …` */
import type { Arguments, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'
import { change, create, listPage, remove, show } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, withoutUndefined } from './admin-command.ts'

const APIS = '/admin/apis'

const DEFINITION: OptionTable = {
  '--name': { value: 'TEXT', help: 'the name that users see (default: the resource)' },
  '--scope': {
    value: 'NAME[=TEXT]',
    repeatable: true,
    help: 'a scope, and what it allows in English; repeatable. Replaces all scopes',
  },
  '--text': {
    value: 'NAME:LANGUAGE=TEXT',
    repeatable: true,
    help: 'what a scope of this command allows in another language; repeatable',
  },
  '--claim': { value: 'NAME', repeatable: true, help: 'a claim in its tokens, such as role; repeatable' },
  '--lifetime': { value: 'SECONDS', help: 'the lifetime of its tokens, from 60 to 86400' },
}

export const API_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'api list',
    options: PAGE_OPTIONS,
    summary: 'Lists the APIs that accept tokens of this server.',
    examples: ['api list', 'api list --json'],
    run: listPage(APIS, ['resource', 'name', 'scopes', 'claims', 'access_token_lifetime']),
  },
  {
    name: 'api show',
    positionals: ['RESOURCE'],
    summary: 'Shows an API and its scopes.',
    examples: ['api show https://orders.example.com'],
    run: show(APIS),
  },
  {
    name: 'api add',
    positionals: ['RESOURCE'],
    options: DEFINITION,
    summary: 'Declares an API; RESOURCE is its URI, or platform for scopes of your own in the built-in services.',
    examples: [
      'api add https://orders.example.com --name "Order desk" --scope "orders:write=Place orders" --text "orders:write:de=Orders aufgeben"',
      'api add platform --scope desk:read',
    ],
    run: create(APIS, (args) => ({ resource: args.positionals[0], ...definitionOf(args) })),
  },
  {
    name: 'api set',
    positionals: ['RESOURCE'],
    options: {
      ...DEFINITION,
      '--default': {
        value: 'MEMBER',
        repeatable: true,
        help: 'return to the default of name, claims, scopes or access_token_lifetime; repeatable',
      },
    },
    summary: 'Changes an API, with immediate effect for new tokens.',
    examples: ['api set https://orders.example.com --lifetime 600', 'api set https://orders.example.com --claim role'],
    run: change(APIS, (args) => ({
      ...definitionOf(args),
      ...Object.fromEntries(args.values('--default').map((member) => [member, null])),
    })),
  },
  {
    name: 'api remove',
    positionals: ['RESOURCE'],
    summary: 'Removes an API and its scopes, unless roles, clients or others use one of them.',
    examples: ['api remove https://orders.example.com --yes'],
    confirm: ([resource]) => `Remove the API ${resource} with its scopes?`,
    run: remove(APIS, (resource) => `The API ${resource} was removed.`),
  },
]

function definitionOf(args: Arguments): JsonObject {
  const claims = args.values('--claim')
  const scopes = scopesOf(args)
  return withoutUndefined({
    name: args.value('--name'),
    access_token_lifetime: args.integer('--lifetime'),
    claims: claims.length === 0 ? undefined : claims,
    scopes: scopes.length === 0 ? undefined : scopes,
  })
}

/** A name of a scope may contain a colon or the sign =, a tag of a language cannot. */
const SCOPE_TEXT = /^(?<name>.+):(?<language>[A-Za-z-]+)=(?<text>.+)$/

function scopesOf(args: Arguments): readonly JsonObject[] {
  const scopes = new Map<string, Map<string, string>>()
  for (const given of args.values('--scope')) {
    const at = given.indexOf('=')
    scopes.set(at < 0 ? given : given.slice(0, at), new Map(at < 0 ? [] : [['en', given.slice(at + 1)]]))
  }
  for (const given of args.values('--text')) {
    const { name = '', language = '', text = '' } = SCOPE_TEXT.exec(given)?.groups ?? {}
    const texts = scopes.get(name)
    if (texts === undefined)
      throw new UsageError(`--text ${given}: write NAME:LANGUAGE=TEXT, with the NAME of a --scope of this command`)
    texts.set(language, text)
  }
  return [...scopes].map(([name, texts]) => ({ name, ...(texts.size > 0 && { text: Object.fromEntries(texts) }) }))
}
