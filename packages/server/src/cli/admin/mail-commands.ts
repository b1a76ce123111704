/** `gatehouse mail …`: the queue, and a test of the mail server. */
import type { Arguments } from '../args.ts'
import { listPage, named, remove } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, withoutUndefined } from './admin-command.ts'

const MAIL = '/admin/mail'

export const MAIL_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'mail test',
    positionals: ['ADDRESS'],
    summary: 'Sends a test mail, and prints the reply of the mail server if it refuses the mail.',
    examples: ['mail test me@example.com'],
    async run({ args, request }) {
      await request('POST', `${MAIL}/test`, { body: { to: args.positionals[0] } })
      return { kind: 'text', text: `The mail server took a mail for ${args.positionals[0]}.` }
    },
  },
  {
    name: 'mail list',
    options: {
      '--state': { value: 'STATE', help: 'only mail that is waiting, sent, failed, dropped or removed' },
      ...PAGE_OPTIONS,
    },
    summary: 'Lists mail, newest first: what is waiting, and what was sent or given up in the last week.',
    examples: ['mail list --state waiting', 'mail list --json'],
    run: listPage(MAIL, ['id', 'kind', 'state', 'to', 'attempts', 'next_at', 'error'], (args: Arguments) =>
      withoutUndefined({ state: args.value('--state') }),
    ),
  },
  {
    name: 'mail retry',
    positionals: ['MAIL'],
    summary: 'Retries a waiting mail at once.',
    examples: ['mail retry 7dK…'],
    async run({ args, request }) {
      await request('POST', named(MAIL, 'retry')(args))
      return { kind: 'text', text: `The mail ${args.positionals[0]} is tried again.` }
    },
  },
  {
    name: 'mail remove',
    positionals: ['MAIL'],
    summary: 'Removes a waiting mail, so that it is not sent.',
    examples: ['mail remove 7dK… --yes'],
    confirm: ([mail]) => `Remove the mail ${mail}?`,
    run: remove(MAIL, (mail) => `The mail ${mail} was removed.`),
  },
]
