/** `gatehouse user invite`, `reset-link`, `links` and `first-admin`: one-time links with which people choose a password. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type JsonObject, membersOf } from '../output/json.ts'
import {
  type AdminCommand,
  type AdminCommandCall,
  type Output,
  PAGE_OPTIONS,
  pagePath,
  segment,
  withoutUndefined,
} from './admin-command.ts'

const EXPIRES = {
  '--expires': { value: 'TIME', help: 'how long it is valid: 90m, 12h or 3d (default 3d, at most 30d)' },
} as const

export const LINK_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'user invite',
    positionals: ['USERNAME'],
    options: {
      '--role': { value: 'ROLE', repeatable: true, help: 'a role of the user; repeatable' },
      '--name': { value: 'NAME', help: 'the display name' },
      '--email': { value: 'EMAIL', help: 'the email address' },
      ...EXPIRES,
    },
    summary: 'Creates a user without a password, and prints a one-time link with which they choose one.',
    examples: ['user invite bob --role trader', 'user invite bob --name "Bob Jones" --expires 12h --json'],
    run: (call) =>
      createLink(call, {
        username: call.positionals[0],
        roles: [...new Set(call.args.values('--role'))],
        ...withoutUndefined({ name: call.args.value('--name'), email: call.args.value('--email') }),
        ...expiry(call.args),
      }),
  },
  {
    name: 'user reset-link',
    positionals: ['USER'],
    options: EXPIRES,
    summary: 'Prints a one-time link with which a user who forgot the password, or was invited, chooses one.',
    examples: ['user reset-link alice', 'user reset-link alice --expires 1h'],
    run: (call) => createLink(call, { user: call.positionals[0], ...expiry(call.args) }),
  },
  {
    name: 'user first-admin',
    summary: 'Prints a one-time link with which the first administrator is created, as long as there is none.',
    examples: ['user first-admin'],
    run: (call) => createLink(call, { first_administrator: true }),
  },
  {
    name: 'user links',
    positionals: ['[USER]'],
    options: { '--revoke': { value: 'LINK', help: 'revoke this link' }, ...PAGE_OPTIONS },
    summary: 'Lists the one-time links of a user or of all users, newest first, or revokes one.',
    examples: ['user links', 'user links bob', 'user links --revoke 7dK…'],
    async run({ args, positionals: [user], request }) {
      const link = args.value('--revoke')
      if (link !== undefined) {
        await request('DELETE', `/admin/links/${segment(link)}`)
        return { kind: 'text', text: `The link ${link} was revoked.` }
      }
      const { body } = await request('GET', pagePath('/admin/links', args, { user }))
      return { kind: 'table', columns: ['id', 'kind', 'state', 'username', 'created_by', 'expires_at'], body }
    },
  },
]

async function createLink({ request }: AdminCommandCall, wanted: JsonObject): Promise<Output> {
  const { body } = await request('POST', '/admin/links', { body: wanted })
  const { url, username, expires_at: expiresAt } = membersOf(body)
  const whom = username === null ? 'the first administrator' : username
  return { kind: 'text', text: `The link for ${whom} is valid once, until ${expiresAt}:\n${url}`, body }
}

const SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
])

function expiry(args: Arguments): JsonObject {
  const text = args.value('--expires')
  if (text === undefined) return {}
  const [, count = '', unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  const seconds = SECONDS.get(unit)
  if (seconds === undefined) throw new UsageError(`--expires takes a time such as 90m, 12h or 3d, not "${text}"`)
  return { expires_in: Number(count) * seconds }
}
