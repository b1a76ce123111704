/** Remote controllers: programs of the operator, to which requests of streams are posted. */
import {
  COMMON_TOPIC_NAMES,
  CONTROLLER_NAME,
  calledAddressFault,
  FEED_CLASSES,
  LONGEST_TOPIC,
} from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { closed, number, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { BUILT_IN } from '../store/apis/known-scopes.ts'
import type { RemoteController } from '../store/controllers/controllers.ts'
import { CONTROLLER_NAME_PATTERN, DURATION_PATTERN, nameFault } from './controller-names.ts'
import { duplicates, type JsonObject, type Known, type Resource } from './define-resource.ts'
import { unknownName } from './names.ts'
import { declaredStepUp, STEP_UP_MEMBERS, stepUpTarget } from './step-up-members.ts'

export type DeclaredController = XStatic<typeof CONTROLLER>

/** Topics, or all topics with a prefix: `Price/*`. */
const TOPIC = /^[^*\p{C}]+$|^[^*/\p{C}]+\/\*$/u.source
const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_CONCURRENCY = 64

const CONTROLLER = closed(['name', 'url', 'topics'], {
  name: text({ pattern: CONTROLLER_NAME.source, maxLength: 64, description: 'The Controller in messages.' }),
  class: oneOf(FEED_CLASSES, 'The class of its feed for clients of version 2. Default: Channel.'),
  url: text({
    minLength: 1,
    maxLength: 2048,
    description: 'Where each request is posted, and the audience of its token.',
  }),
  topics: {
    ...shortList(
      closed(['name', 'needs'], {
        name: text({
          pattern: TOPIC,
          maxLength: LONGEST_TOPIC,
          description: 'Prefix/* is every topic with the prefix.',
        }),
        needs: words('A scope, or identity: any signed-in caller.'),
        ...STEP_UP_MEMBERS,
      }),
      'What can be requested, and by whom.',
    ),
    minItems: 1,
  },
  timeout: text({ pattern: DURATION.source, description: 'From 100 milliseconds to 1 hour. Default: 10 seconds.' }),
  concurrency: number('integer', {
    minimum: 1,
    maximum: 10_000,
    description: 'Requests at once, from each node. Default: 64.',
  }),
})

export const CONTROLLERS = {
  noun: 'controller',
  title: 'remote controller',
  section: 'controllers',
  key: 'name',
  scope: 'Platform/Admin',
  list: shortList(CONTROLLER, 'Remote controllers: programs that answer requests of streams over HTTP.'),
  patterns: [
    CONTROLLER_NAME_PATTERN,
    DURATION_PATTERN,
    [TOPIC, 'must not contain control characters, nor * except as Prefix/*'],
  ],
  toItem: toController,
  present: (controller) => ({
    name: controller.name,
    class: controller.feedClass,
    url: controller.url,
    topics: controller.topics.map(declareTopic),
    timeout: writeDuration(controller.timeoutMs),
    concurrency: controller.concurrency,
  }),
  declare: declareController,
  namedScopes: ({ topics }) => topics.map(({ needs }) => needs),
  refersTo: ['scopes'],
  faults: controllerFaults,
  conflict: async ({ name }, { feeds }) => (await feeds.find(name)) && `${name} is the name of a feed: choose another`,
  store: ({ controllers }) => controllers,
  changedEvent: 'controllers-changed',
  auditDetails: ({ url }) => ({ url }),
  routes: {
    list: 'Lists the remote controllers, ordered by name.',
    show: 'Shows a remote controller.',
    replace:
      'Declares a remote controller, or replaces its definition; with If-Match only the version that was read. All nodes use it at once.',
    remove: 'Removes a remote controller. Requests that run already are still answered.',
    replies: { show: 'The controller.', replace: 'The controller; 201 if it is new.' },
  },
  commands: {
    argument: 'CONTROLLER',
    options: {
      '--url': { value: 'URL', help: 'where each request is posted' },
      '--topic': {
        isRead: true,
        value: 'TOPIC=NEEDS',
        repeatable: true,
        help: 'a topic, and the scope that it needs, or identity for any signed-in caller; repeatable',
      },
      '--timeout': { value: 'TIME', help: 'how long to wait for a reply (default "10 seconds")' },
      '--concurrency': { value: 'COUNT', help: 'requests at once from each node (default 64)' },
      '--class': { value: 'CLASS', help: 'the class of its feed for clients of version 2 (default Channel)' },
    },
    columns: ['name', 'class', 'url', 'timeout', 'concurrency'],
    list: { summary: 'Lists the remote controllers.', examples: ['controller list'] },
    show: { summary: 'Shows a remote controller and its topics.', examples: ['controller show Orders'] },
    add: {
      summary: 'Declares a remote controller, or replaces its definition; running servers use it at once.',
      examples: [
        'controller add Orders --url https://oms.internal/gatehouse --topic Place=Platform/Trading --topic Cancel=Platform/Trading',
      ],
    },
    remove: {
      summary: 'Removes a remote controller.',
      examples: ['controller remove Orders --yes'],
      confirm: (controller) => `Remove the controller ${controller}? Clients can no longer use it.`,
      done: (controller) => `The controller ${controller} was removed.`,
    },
  },
} as const satisfies Resource<RemoteController, DeclaredController>

/** Milliseconds. A client whose ActionTimeout is shorter waits for no longer than that. */
const [SHORTEST_TIMEOUT, LONGEST_TIMEOUT] = [100, 3_600_000]

function controllerFaults(
  { name, url, topics, timeout }: DeclaredController,
  { scopes, controllers }: Pick<Known, 'scopes' | 'controllers'>,
): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, text: string | undefined) => text !== undefined && faults.push({ path, text })
  fault('name', nameFault(name, controllers))
  fault('url', calledAddressFault(url))
  for (const [index, topic] of topics.entries()) {
    const path = `topics[${index}]`
    if (COMMON_TOPIC_NAMES.includes(topic.name)) fault(`${path}.name`, `every controller has a topic ${topic.name}`)
    const rights = scopes.rights().filter((scope) => scopes.findTarget(scope) === BUILT_IN)
    if (topic.needs !== 'identity' && !rights.includes(topic.needs))
      fault(`${path}.needs`, unknownName('scope', topic.needs, ['identity', ...rights], index))
  }
  const milliseconds = timeout === undefined ? undefined : readDuration(timeout)
  if (milliseconds !== undefined && (milliseconds < SHORTEST_TIMEOUT || milliseconds > LONGEST_TIMEOUT))
    fault('timeout', 'must be from 100 milliseconds to 1 hour')
  return [...faults, ...duplicates('topics', { key: 'name' }, topics)]
}

function toController(controller: DeclaredController): RemoteController {
  const { name, class: feedClass = 'Channel', url, topics, timeout = '', concurrency } = controller
  return {
    name,
    feedClass,
    url,
    topics: topics.map((topic) => {
      const stepUp = stepUpTarget(topic)?.read
      return { name: topic.name, needs: topic.needs, ...(stepUp && { stepUp }) }
    }),
    timeoutMs: readDuration(timeout) ?? DEFAULT_TIMEOUT_MS,
    concurrency: concurrency ?? DEFAULT_CONCURRENCY,
  }
}

function declareController(controller: RemoteController): JsonObject {
  const { name, feedClass, url, topics, timeoutMs, concurrency } = controller
  return {
    name,
    ...(feedClass !== 'Channel' && { class: feedClass }),
    url,
    topics: topics.map(declareTopic),
    ...(timeoutMs !== DEFAULT_TIMEOUT_MS && { timeout: writeDuration(timeoutMs) }),
    ...(concurrency !== DEFAULT_CONCURRENCY && { concurrency }),
  }
}

function declareTopic({ name, needs, stepUp }: RemoteController['topics'][number]): object {
  return { name, needs, ...declaredStepUp(stepUp && { read: stepUp }) }
}
