/** `gatehouse user …` */
import { type AdminCommand, given, segment } from './command.ts'

const PROFILE = {
  '--name': { kind: 'value', value: 'NAME', help: 'the name that is shown' },
  '--email': { kind: 'value', value: 'EMAIL', help: 'the address of the user' },
  '--role': { kind: 'values', value: 'ROLE', help: 'a role the user has instead of those before; may be given again' },
  '--username': { kind: 'value', value: 'USERNAME', help: 'a new name to sign in with' },
  '--locale': { kind: 'value', value: 'TAG', help: 'a language tag such as en-GB' },
} as const

export const USER_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'user add',
    words: ['USERNAME'],
    begins: true,
    options: {
      '--role': { kind: 'values', value: 'ROLE', help: 'a role the user has; may be given again' },
      '--name': { kind: 'value', value: 'NAME', help: 'the name that is shown' },
      '--email': { kind: 'value', value: 'EMAIL', help: 'the address of the user' },
    },
    summary: 'Creates a user; asks for the password, or takes it from stdin.',
    examples: ['user add alice --role trader', 'user add alice < password.txt'],
    async run({ words: [username], option, values, request, secret }) {
      const password = await secret(`Password for ${username}: `)
      const profile = given({ name: option('--name'), email: option('--email') })
      const roles = [...new Set(values('--role'))]
      const { body } = await request('POST', '/admin/users', { body: { username, password, roles, ...profile } })
      return { kind: 'text', text: `User ${username} was added as ${idOf(body)}.`, body }
    },
  },
  {
    name: 'user list',
    words: [],
    options: {
      '--limit': { kind: 'value', value: 'COUNT', help: 'users on a page, 100 when left out' },
      '--after': { kind: 'value', value: 'USERNAME', help: 'begin after this user' },
    },
    summary: 'Lists users by name.',
    examples: ['user list', 'user list --after mallory --json'],
    async run({ request, option }) {
      const query = new URLSearchParams()
      const [limit, after] = [option('--limit'), option('--after')]
      if (limit !== undefined) query.set('limit', limit)
      if (after !== undefined) query.set('after', after)
      const { body } = await request('GET', `/admin/users?${query}`)
      return { kind: 'table', columns: ['username', 'id', 'roles', 'disabled', 'name', 'email'], body }
    },
  },
  {
    name: 'user show',
    words: ['USER'],
    summary: 'Shows a user, named by username or id.',
    examples: ['user show alice'],
    async run({ words: [user], request }) {
      return { kind: 'object', body: (await request('GET', `/admin/users/${segment(user)}`)).body }
    },
  },
  {
    name: 'user set',
    words: ['USER'],
    options: PROFILE,
    summary: 'Changes a user.',
    examples: ['user set alice --email alice@example.com', 'user set alice --role trader --role news'],
    async run({ words: [user], option, values, has, request }) {
      const body = given({
        username: option('--username'),
        name: option('--name'),
        email: option('--email'),
        locale: option('--locale'),
        roles: has('--role') ? values('--role') : undefined,
      })
      const answer = await request('PATCH', `/admin/users/${segment(user)}`, { body, ifMatch: '*' })
      return { kind: 'object', body: answer.body }
    },
  },
  {
    name: 'user disable',
    words: ['USER'],
    summary: 'Keeps a user out: every session and token is cut at once.',
    examples: ['user disable mallory --yes'],
    confirm: ([user]) => `Cut every session and token of ${user}?`,
    run: (call) => setDisabled(call, true),
  },
  {
    name: 'user enable',
    words: ['USER'],
    summary: 'Lets a disabled user in again.',
    examples: ['user enable mallory'],
    run: (call) => setDisabled(call, false),
  },
  {
    name: 'user password',
    words: ['USER'],
    options: { '--generate': { kind: 'switch', help: 'make a random one and show it this once' } },
    summary: 'Sets a password from a prompt or stdin; every session and token is cut.',
    examples: ['user password alice', 'user password alice --generate', 'user password alice < password.txt'],
    async run({ words: [user], has, request, secret }) {
      const body = has('--generate') ? {} : { password: await secret(`New password for ${user}: `) }
      const answer = await request('PUT', `/admin/users/${segment(user)}/password`, { body })
      const made = passwordOf(answer.body)
      const text = made === undefined ? `The password of ${user} was set.` : `The password of ${user} is ${made}`
      return { kind: 'text', text, body: answer.body ?? {} }
    },
  },
  {
    name: 'user remove',
    words: ['USER'],
    summary: 'Deletes a user with everything that is theirs.',
    examples: ['user remove mallory --yes'],
    confirm: ([user]) => `Delete the user ${user} for good?`,
    async run({ words: [user], request }) {
      await request('DELETE', `/admin/users/${segment(user)}`)
      return { kind: 'text', text: `The user ${user} was deleted.` }
    },
  },
  {
    name: 'user factors',
    words: ['USER'],
    options: {
      '--remove': { kind: 'value', value: 'FACTOR', help: 'take this one away, for somebody who has lost it' },
    },
    summary: 'Lists the second factors of a user, or removes one.',
    examples: ['user factors alice', 'user factors alice --remove 3vQ…'],
    async run({ words: [user], option, request }) {
      const factor = option('--remove')
      if (factor !== undefined) {
        await request('DELETE', `/admin/users/${segment(user)}/factors/${segment(factor)}`)
        return { kind: 'text', text: `The second factor ${factor} was removed.` }
      }
      const { body } = await request('GET', `/admin/users/${segment(user)}/factors`)
      return { kind: 'table', columns: ['id', 'kind', 'label', 'created_at', 'used_at'], body }
    },
  },
  {
    name: 'user sessions',
    words: ['USER'],
    options: { '--end': { kind: 'value', value: 'SESSION', help: 'end this one and its tokens' } },
    summary: 'Lists the browser sessions of a user, or ends one.',
    examples: ['user sessions alice', 'user sessions alice --end 8sK…'],
    async run({ words: [user], option, request }) {
      const session = option('--end')
      if (session !== undefined) {
        await request('DELETE', `/admin/users/${segment(user)}/sessions/${segment(session)}`)
        return { kind: 'text', text: `The session ${session} was ended.` }
      }
      const { body } = await request('GET', `/admin/users/${segment(user)}/sessions`)
      return { kind: 'table', columns: ['id', 'address', 'methods', 'seen_at', 'expires_at', 'user_agent'], body }
    },
  },
  {
    name: 'user sign-out',
    words: ['USER'],
    summary: 'Signs a user out everywhere: every session, grant and token.',
    examples: ['user sign-out alice --yes'],
    confirm: ([user]) => `End every session and token of ${user}?`,
    async run({ words: [user], request }) {
      const { body } = await request('DELETE', `/admin/users/${segment(user)}/sessions`)
      return { kind: 'text', text: `${user} is signed out everywhere.`, body }
    },
  },
  {
    name: 'user consents',
    words: ['USER'],
    options: {
      '--withdraw': { kind: 'value', value: 'CLIENT', help: 'take back what this client may do, with its tokens' },
    },
    summary: 'Lists the clients that may act for a user, or ends what one of them may do.',
    examples: ['user consents alice', 'user consents alice --withdraw desk-app'],
    async run({ words: [user], option, request }) {
      const client = option('--withdraw')
      if (client !== undefined) {
        await request('DELETE', `/admin/users/${segment(user)}/consents/${segment(client)}`)
        return { kind: 'text', text: `${client} may no longer act for ${user}.` }
      }
      const { body } = await request('GET', `/admin/users/${segment(user)}/consents`)
      return { kind: 'table', columns: ['client_id', 'scopes', 'consented', 'updated_at'], body }
    },
  },
]

async function setDisabled(
  { words: [user], request }: Parameters<AdminCommand['run']>[0],
  disabled: boolean,
): ReturnType<AdminCommand['run']> {
  const { body } = await request('PATCH', `/admin/users/${segment(user)}`, { body: { disabled }, ifMatch: '*' })
  return { kind: 'text', text: `The user ${user} is ${disabled ? 'disabled' : 'enabled'}.`, body }
}

function idOf(body: unknown): string {
  return typeof body === 'object' && body !== null && 'id' in body ? String(body.id) : ''
}

function passwordOf(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'password' in body ? String(body.password) : undefined
}
