/** The topics that every controller has: how long its operations may take on this connection. */
import { formatTimeSpan, parseTimeSpan } from '../../protocol/wire-time.ts'
import { members, refuse, type Timeouts, type Topic } from '../controller.ts'

const SHORTEST = 1_000
const LONGEST = 60 * 60_000

export const COMMON_TOPICS: Readonly<Record<string, Topic>> = {
  Configure: {
    summary: 'Sets how long operations of this controller may take on this connection; answers with what is in force.',
    needs: 'nothing',
    publish({ caller, controller, data }) {
      const wanted = members(data)
      const now = caller.timeouts(controller)
      caller.setTimeouts(controller, {
        action: timeSpan(wanted, 'ActionTimeout') ?? now.action,
        subscription: timeSpan(wanted, 'SubscriptionTimeout') ?? now.subscription,
      })
      return show(caller.timeouts(controller))
    },
  },
  QueryConfigure: {
    summary: 'Answers with how long operations of this controller may take on this connection.',
    needs: 'nothing',
    publish: ({ caller, controller }) => show(caller.timeouts(controller)),
  },
}

function timeSpan(from: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const text = from[name]
  if (text === undefined) return undefined
  const span = typeof text === 'string' ? parseTimeSpan(text) : undefined
  if (span === undefined) throw refuse('Data.Deserialise', name)
  if (span < SHORTEST || span > LONGEST) throw refuse('Data', name)
  return span
}

function show({ action, subscription }: Timeouts): object {
  return { ActionTimeout: formatTimeSpan(action), SubscriptionTimeout: formatTimeSpan(subscription) }
}
