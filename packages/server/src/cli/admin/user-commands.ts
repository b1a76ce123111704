/** The commands of `gatehouse user` that do not follow from its definition. */

import { MUST_CHANGE_OPTION } from '../../resources/users.ts'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { list, listPage, named, removeOr } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, pagePath, withoutUndefined } from './admin-command.ts'
import { readValues } from './attribute-values.ts'
import type { ReadOthers } from './resource-commands.ts'

const USERS = '/admin/users'

export const USER_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'user rights',
    positionals: ['USER'],
    options: { ...PAGE_OPTIONS, '--prefix': { value: 'TEXT', help: 'only tables whose names begin with this' } },
    summary: 'Shows what a user may do: scopes through roles, tables and their rows, topics of the stream.',
    examples: ['user rights alice', 'user rights alice --prefix tr --json'],
    async run({ args, request }) {
      const path = pagePath(named(USERS, 'rights')(args), args, { prefix: args.value('--prefix') })
      const { body } = await request('GET', path)
      return { kind: 'text', text: rightsText(body), body }
    },
  },
  {
    name: 'user password',
    positionals: ['USER'],
    options: { '--generate': { help: 'generate a random password and show it once' }, ...MUST_CHANGE_OPTION },
    summary: 'Sets a password, from a prompt or from stdin, and ends all sessions and tokens of the user.',
    examples: [
      'user password alice',
      'user password alice --generate --must-change',
      'user password alice < password.txt',
    ],
    async run({ args, request, readPassword }) {
      const [user] = args.positionals
      const given = args.has('--generate') ? {} : { password: await readPassword(`New password for ${user}: `) }
      const body = { ...given, ...(args.has('--must-change') && { must_change_password: true }) }
      const response = await request('PUT', named(USERS, 'password')(args), { body })
      const { password } = asObject(response.body)
      const text =
        password === undefined ? `The password of ${user} was set.` : `The password of ${user} is ${password}`
      return { kind: 'text', text, body: response.body ?? {} }
    },
  },
  {
    name: 'user factors',
    positionals: ['USER'],
    options: { '--remove': { value: 'FACTOR', help: 'remove this second factor, for a user who has lost it' } },
    summary: 'Lists the second factors of a user, or removes one.',
    examples: ['user factors alice', 'user factors alice --remove 3vQ…'],
    run: removeOr(
      '--remove',
      named(USERS, 'factors'),
      (factor) => `The second factor ${factor} was removed.`,
      list(named(USERS, 'factors'), ['id', 'kind', 'label', 'created_at', 'used_at']),
    ),
  },
  {
    name: 'user sessions',
    positionals: ['[USER]'],
    options: { '--end': { value: 'SESSION', help: 'end this session of the user and its tokens' }, ...PAGE_OPTIONS },
    summary: 'Lists the browser sessions of a user or of all users, newest first, or ends one.',
    examples: ['user sessions', 'user sessions alice', 'user sessions alice --end 8sK…'],
    run: removeOr(
      '--end',
      (args) => {
        if (args.positionals.length === 0) throw new UsageError('--end needs the user of the session too')
        return named(USERS, 'sessions')(args)
      },
      (session) => `The session ${session} was ended.`,
      listPage(
        '/admin/sessions',
        ['id', 'username', 'address', 'methods', 'seen_at', 'expires_at', 'user_agent'],
        ofUser,
      ),
    ),
  },
  {
    name: 'user grants',
    positionals: ['[USER]'],
    options: { '--revoke': { value: 'GRANT', help: 'revoke this grant and its tokens' }, ...PAGE_OPTIONS },
    summary:
      'Lists what applications are currently allowed to do for one user or all users, newest first, or revokes a grant.',
    examples: ['user grants', 'user grants alice', 'user grants --revoke 5Tq…'],
    run: removeOr(
      '--revoke',
      '/admin/grants',
      (grant) => `The grant ${grant} was revoked.`,
      listPage('/admin/grants', ['id', 'username', 'client_id', 'kind', 'scopes', 'expires_at'], ofUser),
    ),
  },
  {
    name: 'user sign-out',
    positionals: ['USER'],
    summary: 'Signs a user out everywhere: ends all sessions, grants and tokens.',
    examples: ['user sign-out alice --yes'],
    confirm: ([user]) => `End all sessions and tokens of ${user}?`,
    async run({ args, request }) {
      const { body } = await request('DELETE', named(USERS, 'sessions')(args))
      const { ended, grants, streams } = asObject(body)
      const text = `${args.positionals[0]} is signed out everywhere: ${ended} sessions, ${grants} grants and ${streams} streams were ended.`
      return { kind: 'text', text, body }
    },
  },
  {
    name: 'user consents',
    positionals: ['USER'],
    options: { '--withdraw': { value: 'CLIENT', help: 'withdraw the consent for this client and revoke its tokens' } },
    summary: 'Lists the clients that may act for a user, or withdraws a consent.',
    examples: ['user consents alice', 'user consents alice --withdraw desk-app'],
    run: removeOr(
      '--withdraw',
      named(USERS, 'consents'),
      (client, { positionals: [user] }) => `${client} may no longer act for ${user}.`,
      list(named(USERS, 'consents'), ['client_id', 'scopes', 'consented', 'updated_at']),
    ),
  },
]

/** What options of `add` and `set` mean that set no single member. */
export const readUserOptions: ReadOthers = async ({ args, request, readPassword }, command) => ({
  ...(await readValues(args, request)),
  ...(command === 'add' && {
    roles: readRoles(args),
    password: await readPassword(`Password for ${args.positionals[0]}: `),
  }),
})

export function readNewUser(args: Arguments): JsonObject {
  return {
    username: args.positionals[0],
    roles: readRoles(args),
    ...withoutUndefined({ name: args.value('--name'), email: args.value('--email') }),
  }
}

function readRoles(args: Arguments): readonly string[] {
  return [...new Set(args.values('--role'))]
}

/** The filter of a list that has the resources of all users, or of one user if it is named. */
export function ofUser({ positionals: [user] }: Arguments): JsonObject {
  return { user }
}

function rightsText(body: unknown): string {
  const { username, disabled, roles, scopes, tables, topics, licences } = asObject(body)
  const { items, next } = asObject(tables)
  const after = typeof next === 'string' ? new URLSearchParams(next.split('?')[1]).get('after') : null
  return [
    `${username}${disabled === true ? ' (disabled: has no access until enabled)' : ''}`,
    '',
    'Scopes by role:',
    ...indented(objects(roles).map(({ name, scopes: given }) => `${name}: ${words(given) || 'none'}`)),
    `All scopes: ${words(scopes) || 'none'}`,
    '',
    ...(tables === null
      ? ['Tables: no node runs the query service']
      : ['Tables:', ...indented(objects(items).map(tableLine))]),
    ...(after === null ? [] : [`  … there are more: add --after ${after}`]),
    '',
    ...(topics === null
      ? ['Topics: no node runs the streaming service']
      : ['Topics:', ...indented(objects(topics).flatMap(topicLines))]),
    ...(licences === undefined ? [] : ['', 'Market data:', ...indented(objects(licences).map(licenceLine))]),
  ].join('\n')
}

function licenceLine({ product, access, reason, until }: JsonObject): string {
  return `${product}: ${access} (${reason})${until === undefined ? '' : ` until ${until}`}`
}

function tableLine({ name, rights, rowfilter }: JsonObject): string {
  return `${name}: ${words(rights)}${rowfilter === null ? '' : ` where ${rowfilter}`}`
}

function topicLines({ controller, topics }: JsonObject): string[] {
  return objects(topics).map(({ topic, actions }) => `${controller}/${topic}: ${words(actions)}`)
}

function objects(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.map(asObject) : []
}

function words(list: unknown): string {
  return Array.isArray(list) ? list.join(' ') : ''
}

function indented(lines: readonly string[]): string[] {
  return (lines.length === 0 ? ['none'] : lines).map((line) => `  ${line}`)
}
