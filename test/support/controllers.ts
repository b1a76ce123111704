/** A controller with one topic for each thing that tests ask of controllers. */
import { type Controller, refuse, type Stage } from '../../src/streaming/controller.ts'

export interface TestController extends Controller {
  /** Sends to the subscribers of a topic. */
  publish(topic: string, data: unknown): void
  /** Ends the oldest call of `Wait` that still waits. */
  release(result?: unknown): void
  readonly waiting: () => number
  readonly subscribers: (topic: string) => number
  readonly aborted: () => number
}

export function createTestController(): TestController {
  let stage: Stage | undefined
  let aborted = 0
  const waiting: ((result: unknown) => void)[] = []
  return {
    name: 'Test',
    summary: 'Does what tests need.',
    start(given) {
      stage = given
      return () => {
        stage = undefined
      }
    },
    publish: (topic, data) => stage?.publish(topic, data),
    release: (result = 'released') => waiting.shift()?.(result),
    waiting: () => waiting.length,
    subscribers: (topic) => stage?.subscribers(topic) ?? 0,
    aborted: () => aborted,
    topics: {
      Echo: { summary: 'Answers with the data.', needs: 'nothing', publish: ({ data }) => data },
      Later: {
        summary: 'Answers with the data in a later turn of the event loop.',
        needs: 'nothing',
        publish: async ({ data }) => new Promise((resolve) => setImmediate(resolve, data)),
      },
      Wait: {
        summary: 'Answers when the test says so.',
        needs: 'nothing',
        publish: ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => aborted++)
            waiting.push(resolve)
          }),
      },
      Hang: {
        summary: 'Ends only when it is aborted.',
        needs: 'nothing',
        publish: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      },
      Nothing: { summary: 'Answers with no data.', needs: 'nothing', publish: () => undefined },
      Break: {
        summary: 'Fails as a defect would.',
        needs: 'nothing',
        publish() {
          throw new Error('a secret detail')
        },
      },
      Refuse: {
        summary: 'Refuses.',
        needs: 'nothing',
        publish() {
          throw refuse('Data', 'Price')
        },
      },
      Limit: {
        summary: 'Refuses for a limit of its own.',
        needs: 'nothing',
        publish({ data }) {
          throw refuse('Limited', String(data))
        },
      },
      Who: { summary: 'Answers with the caller.', needs: 'identity', publish: ({ principal }) => principal?.subject },
      Rights: {
        summary: 'Answers with what a handler sees of the rights of the caller.',
        needs: 'identity',
        publish: ({ principal }) => ({ scopes: [...(principal?.scopes ?? [])], roles: principal?.roles }),
      },
      Market: {
        summary: 'Needs a scope in both ways.',
        needs: 'Platform/Market',
        publish: () => 'market',
        subscription: { slow: 'latest' },
      },
      Trades: { summary: 'Each message counts.', needs: 'Platform/Trading', subscription: { slow: 'close' } },
      State: {
        summary: 'Begins with a snapshot.',
        needs: 'Platform/Market',
        subscription: { slow: 'latest', snapshot: () => 'now' },
      },
      SlowState: {
        summary: 'Begins with a snapshot that takes its time.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      Unwritable: {
        summary: 'Begins with a snapshot that has no JSON.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: () => 1n },
      },
      SlowLog: {
        summary: 'The same, where each message counts.',
        needs: 'nothing',
        subscription: { slow: 'close', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      SlowMarket: {
        summary: 'The same, with a scope.',
        needs: 'Platform/Market',
        subscription: { slow: 'latest', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      SlowTrades: {
        summary: 'The same, where each message counts; it notices when nobody waits any more.',
        needs: 'Platform/Trading',
        subscription: {
          slow: 'close',
          snapshot: ({ signal }) =>
            new Promise((resolve) => {
              signal.addEventListener('abort', () => aborted++)
              waiting.push(resolve)
            }),
        },
      },
      'Price/*': {
        summary: 'A topic for each instrument.',
        needs: 'nothing',
        publish: ({ topic }) => topic,
        subscription: { slow: 'latest' },
      },
      Open: { summary: 'Free for all.', needs: 'nothing', subscription: { slow: 'latest' } },
    },
  }
}
