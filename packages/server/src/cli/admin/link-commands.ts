/** `gatehouse user invite`, `reset-link`, `links` and `first-admin`: one-time links with which people choose a password. */
import { NEW_USER_OPTIONS } from '../../resources/users.ts'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { listPage, removeOr } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS } from './admin-command.ts'
import { ofUser, readNewUser } from './user-commands.ts'

const SEND = {
  '--send': { help: 'mail the link to the address of the user instead of printing it' },
} as const
const EXPIRES = {
  '--expires': { value: 'TIME', help: 'how long it is valid: 90m, 12h or 3d (default 3d, at most 30d)' },
} as const

export const LINK_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'user invite',
    positionals: ['USERNAME'],
    options: { ...NEW_USER_OPTIONS, ...EXPIRES, ...SEND },
    summary: 'Creates a user without a password, and prints a one-time link for choosing one.',
    examples: ['user invite bob --role trader', 'user invite bob --name "Bob Jones" --expires 12h --json'],
    run: createLink((args) => ({ ...readNewUser(args), ...readExpiry(args), ...readSend(args) })),
  },
  {
    name: 'user reset-link',
    positionals: ['USER'],
    options: { ...EXPIRES, ...SEND },
    summary: 'Prints a one-time link for choosing a password, for a user who forgot it or was invited.',
    examples: ['user reset-link alice', 'user reset-link alice --expires 1h'],
    run: createLink((args) => ({ ...ofUser(args), ...readExpiry(args), ...readSend(args) })),
  },
  {
    name: 'user first-admin',
    summary: 'Prints a one-time link for creating the first administrator, if there is none.',
    examples: ['user first-admin'],
    run: createLink(() => ({ first_administrator: true })),
  },
  {
    name: 'user links',
    positionals: ['[USER]'],
    options: { '--revoke': { value: 'LINK', help: 'revoke this link' }, ...PAGE_OPTIONS },
    summary: 'Lists the one-time links of a user or of all users, newest first, or revokes one.',
    examples: ['user links', 'user links bob', 'user links --revoke 7dK…'],
    run: removeOr(
      '--revoke',
      '/admin/links',
      (link) => `The link ${link} was revoked.`,
      listPage('/admin/links', ['id', 'kind', 'state', 'username', 'created_by', 'expires_at'], ofUser),
    ),
  },
]

function createLink(buildBody: (args: Arguments) => JsonObject): AdminCommand['run'] {
  return async ({ args, request }) => {
    const { body } = await request('POST', '/admin/links', { body: buildBody(args) })
    const { url, username, expires_at: expiresAt, sent_to: sentTo } = asObject(body)
    if (typeof sentTo === 'string')
      return { kind: 'text', text: `A link for ${username}, valid until ${expiresAt}, is mailed to ${sentTo}.`, body }
    const whom = username === null ? 'the first administrator' : username
    return { kind: 'text', text: `The link for ${whom} is valid once, until ${expiresAt}:\n${url}`, body }
  }
}

function readSend(args: Arguments): JsonObject {
  return args.has('--send') ? { send: true } : {}
}

const SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
])

function readExpiry(args: Arguments): JsonObject {
  const text = args.value('--expires')
  if (text === undefined) return {}
  const [, count = '', unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  const seconds = SECONDS.get(unit)
  if (seconds === undefined) throw new UsageError(`--expires takes a time such as 90m, 12h or 3d, not "${text}"`)
  return { expires_in: Number(count) * seconds }
}
