/** Joins a notice to a delivery that waits already: of each key the latest state. */
import type { AlertDelivery } from '../../query/index.ts'
import type { Notice, NoticeInstance } from '../notice.ts'

const MOST_INSTANCES = 50

export function joinNotices(delivery: AlertDelivery, next: Notice): AlertDelivery {
  const before: Notice = JSON.parse(delivery.notice)
  const byKey = new Map<string, NoticeInstance>()
  for (const instance of [...before.data.instances, ...next.data.instances]) {
    const key = JSON.stringify(instance.key)
    // The latest comes last.
    byKey.delete(key)
    byKey.set(key, instance)
  }
  const all = [...byKey.values()]
  const instances = all.slice(-MOST_INSTANCES)
  const isFiring = instances.some(({ state }) => state === 'firing')
  const joined = delivery.joined + 1
  const notice: Notice = {
    ...next,
    type: next.type === 'alert.resolved' && isFiring ? 'alert.firing' : next.type,
    data: {
      ...next.data,
      sequence: delivery.sequence,
      instances,
      more: before.data.more + next.data.more + all.length - instances.length,
      joined,
    },
  }
  return { ...delivery, joined, notice: JSON.stringify(notice) }
}
