/** A controller with one topic for each behaviour that tests need. */
import {
  type Controller,
  type FeedStatus,
  type Publisher,
  refuse,
} from '../../packages/server/src/streaming/topics/controller.ts'

export interface TestController extends Controller {
  /** Sends to the subscribers of a topic. */
  publish(topic: string, data: unknown): void
  /** Resolves the oldest pending call. */
  release(result?: unknown): void
  readonly waiting: () => number
  readonly subscribers: (topic: string) => number
  setStatus(status: FeedStatus): void
  readonly aborted: () => number
}

export function createTestController(): TestController {
  let publisher: Publisher | undefined
  let aborted = 0
  const waiting: ((result: unknown) => void)[] = []
  return {
    name: 'Test',
    summary: 'For tests.',
    start(started) {
      publisher = started
      return () => {
        publisher = undefined
      }
    },
    publish: (topic, data) => publisher?.publish(topic, data),
    release: (result = 'released') => waiting.shift()?.(result),
    waiting: () => waiting.length,
    subscribers: (topic) => publisher?.subscribers(topic) ?? 0,
    setStatus: (status) => publisher?.setStatus(status),
    aborted: () => aborted,
    topics: {
      Echo: { summary: 'Replies with the data.', needs: 'nothing', publish: ({ data }) => data },
      Later: {
        summary: 'Replies with the data in a later turn of the event loop.',
        needs: 'nothing',
        publish: async ({ data }) => new Promise((resolve) => setImmediate(resolve, data)),
      },
      Wait: {
        summary: 'Replies when the test calls release.',
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
      Overlap: {
        summary: 'Replies with the data in a later turn, beside others; with "never" not at all.',
        needs: 'nothing',
        mayOverlap: true,
        publish: async ({ data }) => (data === 'never' ? new Promise(() => {}) : data),
      },
      Nothing: { summary: 'Replies without data.', needs: 'nothing', publish: () => undefined },
      Break: {
        summary: 'Throws an unexpected error.',
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
        summary: 'Refuses with a limit of its own.',
        needs: 'nothing',
        publish({ data }) {
          throw refuse('Limited', String(data))
        },
      },
      Who: { summary: 'Replies with the caller.', needs: 'identity', publish: ({ principal }) => principal?.subject },
      Rights: {
        summary: 'Replies with the rights of the caller as a handler sees them.',
        needs: 'identity',
        publish: ({ principal }) => ({ scopes: [...(principal?.scopes ?? [])], roles: principal?.roles }),
      },
      Market: {
        summary: 'Needs a scope for Publish and Sub.',
        needs: 'Platform/Market',
        publish: () => 'market',
        subscription: { slow: 'latest' },
      },
      Trades: { summary: 'Each message counts.', needs: 'Platform/Trading', subscription: { slow: 'close' } },
      State: {
        summary: 'Has a snapshot.',
        needs: 'Platform/Market',
        subscription: { slow: 'latest', snapshot: () => 'now' },
      },
      SlowState: {
        summary: 'Has a slow snapshot.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      Unwritable: {
        summary: 'Has a snapshot that cannot be encoded as JSON.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: () => 1n },
      },
      SlowLog: {
        summary: 'Has a slow snapshot; each message counts.',
        needs: 'nothing',
        subscription: { slow: 'close', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      SlowMarket: {
        summary: 'Has a slow snapshot; needs a scope.',
        needs: 'Platform/Market',
        subscription: { slow: 'latest', snapshot: () => new Promise((resolve) => waiting.push(resolve)) },
      },
      SlowTrades: {
        summary: 'Has a slow snapshot and counts aborts; each message counts; needs a scope.',
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
        summary: 'One topic for each instrument.',
        needs: 'nothing',
        publish: ({ topic }) => topic,
        subscription: { slow: 'latest' },
      },
      Open: { summary: 'Needs no authentication.', needs: 'nothing', subscription: { slow: 'latest' } },
    },
  }
}
