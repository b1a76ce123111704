/** `gatehouse feed …` */
import type { Arguments, OptionTable } from '../args.ts'
import type { JsonObject } from '../output/json.ts'
import { change, create, listPage, named, remove, show } from './actions.ts'
import { type AdminCommand, PAGE_OPTIONS, withoutUndefined } from './admin-command.ts'

const FEEDS = '/admin/feeds'

const DEFINITION: OptionTable = {
  '--description': { value: 'TEXT', help: 'what is published' },
  '--class': { value: 'CLASS', help: 'the class for clients of version 2 (default Channel)' },
  '--read': {
    value: 'SCOPE',
    help: 'who may subscribe: a scope, or identity: any signed-in caller (default identity)',
  },
  '--write': { value: 'SCOPE', help: 'the scope that publishing needs (default Platform/Admin)' },
  '--require-acr': { value: '1|2', help: 'subscribers need a sign-in with 1 or 2 factors (step-up)' },
  '--require-age': { value: 'SECONDS', help: 'how long ago subscribers may have signed in (step-up)' },
  '--write-require-acr': { value: '1|2', help: 'the same for publishers' },
  '--write-require-age': { value: 'SECONDS', help: 'the same for publishers' },
  '--keep': {
    value: 'latest|all',
    help: 'whether the newest message of a topic is its state, or all count (default latest)',
  },
  '--history-messages': {
    value: 'COUNT',
    help: 'how many messages of each topic are kept (default: none, or 1000 with --history-time)',
  },
  '--history-time': {
    value: 'TIME',
    help: 'how long they are kept, such as "1 day" (default: "1 hour" with --history-messages)',
  },
  '--state-time': {
    value: 'TIME',
    help: 'how long a topic has its state after its newest message, such as "1 day" (default: no limit)',
  },
  '--message-bytes': { value: 'BYTES', help: 'the longest message (default 65536)' },
  '--topics': { value: 'COUNT', help: 'topics that may hold a state or history (default 100000)' },
  '--bytes': { value: 'BYTES', help: 'the size of all messages that are kept (default 1073741824)' },
  '--rate': { value: 'COUNT', help: 'messages per second (default 100000)' },
  '--nats-subject': { value: 'SUBJECT', help: 'the existing subject of NATS that the feed offers' },
}

export const FEED_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'feed list',
    options: PAGE_OPTIONS,
    summary: 'Lists feeds.',
    examples: ['feed list', 'feed list --json'],
    run: listPage(FEEDS, ['name', 'class', 'read', 'write', 'keep', 'history', 'description']),
  },
  {
    name: 'feed show',
    positionals: ['FEED'],
    summary: 'Shows a feed and, with --server, how much of it is stored.',
    examples: ['feed show Prices'],
    run: show(FEEDS),
  },
  {
    name: 'feed add',
    positionals: ['FEED'],
    options: DEFINITION,
    summary: 'Declares a feed; a running server has it within a second.',
    examples: [
      'feed add Prices --class Market --read Platform/Market',
      'feed add Orders --keep all --history-messages 10000 --history-time "7 days" --read Platform/Trading',
    ],
    run: create(FEEDS, (args) => ({ name: args.positionals[0], ...readDefinition(args) })),
  },
  {
    name: 'feed set',
    positionals: ['FEED'],
    options: {
      ...DEFINITION,
      '--default': {
        value: 'MEMBER',
        repeatable: true,
        help: 'return to the default of history, state_time or another member; repeatable',
      },
    },
    summary: 'Changes a feed, with immediate effect for its publishers and subscribers.',
    examples: ['feed set Prices --read identity', 'feed set Orders --default history'],
    run: change(FEEDS, (args) => ({
      ...readDefinition(args),
      ...Object.fromEntries(args.values('--default').map((member) => [member, null])),
    })),
  },
  {
    name: 'feed remove',
    positionals: ['FEED'],
    summary: 'Deletes a feed with all its messages.',
    examples: ['feed remove Prices --yes'],
    confirm: ([feed]) => `Delete the feed ${feed} with all its messages?`,
    run: remove(FEEDS, (feed) => `The feed ${feed} was deleted.`),
  },
  {
    name: 'feed purge',
    positionals: ['FEED'],
    summary:
      'Deletes all messages of a feed, but not the feed; needs --server, because only a running server has them.',
    examples: ['feed purge Prices --yes --server https://gate.example.com'],
    confirm: ([feed]) => `Delete all messages of the feed ${feed}?`,
    async run({ args, request }) {
      await request('POST', named(FEEDS, 'purge')(args))
      return { kind: 'text', text: `All messages of the feed ${args.positionals[0]} were deleted.` }
    },
  },
]

function readDefinition(args: Arguments): JsonObject {
  const history = withoutUndefined({ messages: args.integer('--history-messages'), time: args.value('--history-time') })
  return withoutUndefined({
    description: args.value('--description'),
    class: args.value('--class'),
    read: args.value('--read'),
    write: args.value('--write'),
    require_acr: args.integer('--require-acr'),
    require_age: args.integer('--require-age'),
    write_require_acr: args.integer('--write-require-acr'),
    write_require_age: args.integer('--write-require-age'),
    keep: args.value('--keep'),
    history: Object.keys(history).length === 0 ? undefined : history,
    state_time: args.value('--state-time'),
    message_bytes: args.integer('--message-bytes'),
    topics: args.integer('--topics'),
    bytes: args.integer('--bytes'),
    rate: args.integer('--rate'),
    nats_subject: args.value('--nats-subject'),
  })
}
