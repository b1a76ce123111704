/** `gatehouse controller …` */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'
import { list, named, remove, show } from './actions.ts'
import { type AdminCommand, withoutUndefined } from './admin-command.ts'

const CONTROLLERS = '/admin/controllers'

export const CONTROLLER_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'controller list',
    summary: 'Lists the remote controllers.',
    examples: ['controller list'],
    run: list(CONTROLLERS, ['name', 'class', 'url', 'timeout', 'concurrency']),
  },
  {
    name: 'controller show',
    positionals: ['CONTROLLER'],
    summary: 'Shows a remote controller and its topics.',
    examples: ['controller show Orders'],
    run: show(CONTROLLERS),
  },
  {
    name: 'controller add',
    positionals: ['CONTROLLER'],
    options: {
      '--url': { value: 'URL', help: 'where each request is posted' },
      '--topic': {
        value: 'TOPIC=NEEDS',
        repeatable: true,
        help: 'a topic, and the scope that it needs, or identity for any signed-in caller; repeatable',
      },
      '--timeout': { value: 'TIME', help: 'how long to wait for a reply (default "10 seconds")' },
      '--concurrency': { value: 'COUNT', help: 'requests at once from each node (default 64)' },
      '--class': { value: 'CLASS', help: 'the class of its feed for clients of version 2 (default Channel)' },
    },
    summary: 'Declares a remote controller, or replaces its definition; running servers use it at once.',
    examples: [
      'controller add Orders --url https://oms.internal/gatehouse --topic Place=Platform/Trading --topic Cancel=Platform/Trading',
    ],
    async run({ args, request }) {
      const { body } = await request('PUT', named(CONTROLLERS)(args), { body: definitionOf(args) })
      return { kind: 'object', body }
    },
  },
  {
    name: 'controller remove',
    positionals: ['CONTROLLER'],
    summary: 'Removes a remote controller.',
    examples: ['controller remove Orders --yes'],
    confirm: ([controller]) => `Remove the controller ${controller}? Clients can no longer use it.`,
    run: remove(CONTROLLERS, (controller) => `The controller ${controller} was removed.`),
  },
]

function definitionOf(args: Arguments): JsonObject {
  if (!args.has('--url') || !args.has('--topic'))
    throw new UsageError('controller add needs --url URL and at least one --topic TOPIC=NEEDS')
  return withoutUndefined({
    url: args.value('--url'),
    topics: args.values('--topic').map(topicOf),
    timeout: args.value('--timeout'),
    concurrency: args.integer('--concurrency'),
    class: args.value('--class'),
  })
}

/** A topic may contain the sign, a scope cannot. */
function topicOf(text: string): JsonObject {
  const at = text.lastIndexOf('=')
  if (at < 1) throw new UsageError(`--topic ${text}: write TOPIC=NEEDS, such as Place=Platform/Trading`)
  return { name: text.slice(0, at), needs: text.slice(at + 1) }
}
