/** `gatehouse user …` */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { change, list, listPage, named, remove, removeOr, setDisabled, show } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, pagePath, readBoolean, readList, withoutUndefined } from './admin-command.ts'
import { readValues, VALUES } from './attribute-values.ts'

const USERS = '/admin/users'

const PROFILE = {
  '--name': { value: 'NAME', help: 'the display name' },
  '--email': { value: 'EMAIL', help: 'the email address' },
} as const

export const NEW_USER = {
  '--role': { value: 'ROLE', repeatable: true, help: 'a role of the user; repeatable' },
  ...PROFILE,
} as const

const MUST_CHANGE = { '--must-change': { help: 'the user must replace the password at the next sign-in' } } as const

export const USER_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'user add',
    positionals: ['USERNAME'],
    options: { ...NEW_USER, ...VALUES, ...MUST_CHANGE },
    summary: 'Creates a user; reads the password from a prompt or from stdin.',
    examples: ['user add alice --role trader --attribute desk=FX', 'user add alice --must-change < password.txt'],
    async run({ args, request, readPassword }) {
      const [username] = args.positionals
      const values = await readValues(args, request)
      const password = await readPassword(`Password for ${username}: `)
      const user = { ...readNewUser(args), ...values, password, ...readMustChange(args) }
      const { body } = await request('POST', USERS, { body: user })
      return { kind: 'text', text: `User ${username} was added as ${asObject(body).id}.`, body }
    },
  },
  {
    name: 'user list',
    options: {
      ...PAGE_OPTIONS,
      '--prefix': { value: 'TEXT', help: 'only users whose username begins with this' },
      '--search': { value: 'TEXT', help: 'only users whose username, name or e-mail address begins with this' },
    },
    summary: 'Lists users by name.',
    examples: ['user list', 'user list --search liddell', 'user list --after mallory --json'],
    run: listPage(USERS, ['username', 'id', 'roles', 'disabled', 'name', 'email'], (args) => ({
      prefix: args.value('--prefix'),
      search: args.value('--search'),
    })),
  },
  {
    name: 'user show',
    positionals: ['USER'],
    summary: 'Shows a user, named by username or id.',
    examples: ['user show alice'],
    run: show(USERS),
  },
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
    name: 'user set',
    positionals: ['USER'],
    options: {
      ...PROFILE,
      '--role': { value: 'ROLE', repeatable: true, help: 'a role of the user, replacing all earlier ones; repeatable' },
      ...VALUES,
      '--username': { value: 'USERNAME', help: 'a new name to sign in with' },
      '--locale': { value: 'TAG', help: 'a language tag such as en-GB' },
      '--break-glass': {
        value: 'true|false',
        help: 'whether a password works where local_sign_in is break_glass',
      },
      '--must-change-password': { value: 'true|false', help: 'whether the next sign-in asks for a new password' },
    },
    summary: 'Changes a user.',
    examples: [
      'user set alice --email alice@example.com',
      'user set alice --role trader --role news',
      'user set alice --attribute desk=FX --attribute desk=Rates',
    ],
    run: change(USERS, async ({ args, request }) => ({
      ...withoutUndefined({
        username: args.value('--username'),
        name: args.value('--name'),
        email: args.value('--email'),
        locale: args.value('--locale'),
        roles: readList(args, '--role'),
        break_glass: readBoolean(args, '--break-glass'),
        must_change_password: readBoolean(args, '--must-change-password'),
      }),
      ...(await readValues(args, request)),
    })),
  },
  {
    name: 'user disable',
    positionals: ['USER'],
    summary: 'Disables a user and ends all their sessions and tokens at once.',
    examples: ['user disable mallory --yes'],
    confirm: ([user]) => `End all sessions and tokens of ${user}?`,
    run: setDisabled(USERS, 'user', true),
  },
  {
    name: 'user enable',
    positionals: ['USER'],
    summary: 'Enables a disabled user.',
    examples: ['user enable mallory'],
    run: setDisabled(USERS, 'user', false),
  },
  {
    name: 'user password',
    positionals: ['USER'],
    options: { '--generate': { help: 'generate a random password and show it once' }, ...MUST_CHANGE },
    summary: 'Sets a password, from a prompt or from stdin, and ends all sessions and tokens of the user.',
    examples: [
      'user password alice',
      'user password alice --generate --must-change',
      'user password alice < password.txt',
    ],
    async run({ args, request, readPassword }) {
      const [user] = args.positionals
      const given = args.has('--generate') ? {} : { password: await readPassword(`New password for ${user}: `) }
      const body = { ...given, ...readMustChange(args) }
      const response = await request('PUT', named(USERS, 'password')(args), { body })
      const { password } = asObject(response.body)
      const text =
        password === undefined ? `The password of ${user} was set.` : `The password of ${user} is ${password}`
      return { kind: 'text', text, body: response.body ?? {} }
    },
  },
  {
    name: 'user remove',
    positionals: ['USER'],
    summary: 'Deletes a user and everything that belongs to them.',
    examples: ['user remove mallory --yes'],
    confirm: ([user]) => `Permanently delete the user ${user}?`,
    run: remove(USERS, (user) => `The user ${user} was deleted.`),
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

export function readNewUser(args: Arguments): JsonObject {
  return {
    username: args.positionals[0],
    roles: [...new Set(args.values('--role'))],
    ...withoutUndefined({ name: args.value('--name'), email: args.value('--email') }),
  }
}

/** The filter of a list that has the resources of all users, or of one user if it is named. */
export function ofUser({ positionals: [user] }: Arguments): JsonObject {
  return { user }
}

function readMustChange(args: Arguments): JsonObject {
  return args.has('--must-change') ? { must_change_password: true } : {}
}

function rightsText(body: unknown): string {
  const { username, disabled, roles, scopes, tables, topics } = asObject(body)
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
  ].join('\n')
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
