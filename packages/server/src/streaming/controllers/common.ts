/** The topics of every controller: the timeouts of its operations on this connection. */
import { formatTimeSpan, parseTimeSpan } from 'gatehouse-protocol'
import { members, refuse, type Timeouts, type Topic } from '../topics/controller.ts'

const MIN_TIMEOUT = 1_000
const MAX_TIMEOUT = 60 * 60_000

export const COMMON_TOPICS: Readonly<Record<string, Topic>> = {
  Configure: {
    summary: 'Sets the timeouts of this controller on this connection and replies with the current ones.',
    needs: 'nothing',
    publish({ caller, controller, data }) {
      const fields = members(data)
      const current = caller.timeouts(controller)
      caller.setTimeouts(controller, {
        action: timeSpan(fields, 'ActionTimeout') ?? current.action,
        subscription: timeSpan(fields, 'SubscriptionTimeout') ?? current.subscription,
      })
      return describe(caller.timeouts(controller))
    },
  },
  QueryConfigure: {
    summary: 'Replies with the timeouts of this controller on this connection.',
    needs: 'nothing',
    publish: ({ caller, controller }) => describe(caller.timeouts(controller)),
  },
}

function timeSpan(from: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const text = Object.hasOwn(from, name) ? from[name] : undefined
  if (text === undefined) return undefined
  const span = typeof text === 'string' ? parseTimeSpan(text) : undefined
  if (span === undefined) throw refuse('Data.Deserialise', name)
  if (span < MIN_TIMEOUT || span > MAX_TIMEOUT) throw refuse('Data', name)
  return span
}

function describe({ action, subscription }: Timeouts): object {
  return { ActionTimeout: formatTimeSpan(action), SubscriptionTimeout: formatTimeSpan(subscription) }
}
