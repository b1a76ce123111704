/** Subscribers of licensed feeds, for tests. */
import assert from 'node:assert/strict'
import { bearer } from '../../support/demo-user.ts'
import { type EventClient, openEvents } from '../../support/event-client.ts'
import { connect, type StreamClient } from '../../support/stream-client.ts'
import type { LicenceServer } from '../licence-server.ts'

export const FEEDS = `
feeds:
  - { name: Prices, read: Platform/Market, write: Platform/Market }
  - { name: Trades, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
  - { name: Free, read: Platform/Market, write: Platform/Market, history: { messages: 10 } }
`

export interface Message extends Record<string, unknown> {
  readonly Action?: string
  readonly Topic?: string
  readonly Data?: unknown
}

export interface Follower {
  readonly stream: StreamClient
  /** Throws unless it is confirmed. */
  sub(feed: string, topic: string, data?: object): Promise<Message>
  /** The error, after which the Sub is not confirmed. */
  refused(feed: string, topic: string, data?: object): Promise<string>
  next(): Promise<Message>
}

export async function follow(server: Pick<LicenceServer, 'port' | 'alice'>, token = server.alice): Promise<Follower> {
  const stream = await connect(server.port, bearer(token))
  const request = (feed: string, topic: string, data?: object): object => ({
    ...{ Controller: feed, Topic: topic, Action: 'Sub', TransactionID: 1, Confirm: true },
    ...(data === undefined ? {} : { Data: data }),
  })
  return {
    stream,
    async sub(feed, topic, data) {
      const reply = await stream.request(request(feed, topic, data))
      assert.equal(reply.Confirm, true, JSON.stringify(reply))
      return reply
    },
    async refused(feed, topic, data) {
      const error = await stream.request(request(feed, topic, data))
      assert.equal(error.Action, 'Error', JSON.stringify(error))
      assert.equal((await stream.next()).Confirm, false)
      return String(error.Data)
    },
    next: () => stream.next(),
  }
}

export function events(server: LicenceServer, path: string, token = server.alice, headers = {}): Promise<EventClient> {
  return openEvents(`${server.url}${path}`, { method: 'GET', token, headers })
}

export async function publish(server: LicenceServer, feed: string, topic: string, data: unknown): Promise<void> {
  const path = `/feeds/${feed}/${topic.split('/').map(encodeURIComponent).join('/')}`
  const { status, body } = await server.send('POST', path, { token: server.handler, body: JSON.stringify(data) })
  assert.equal(status, 200, JSON.stringify(body))
}
