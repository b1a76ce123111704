/** Joins a notice to a delivery that waits already: of each key the latest state. */
import type { AlertDelivery } from '../../query/index.ts'
import { addInstances } from '../build-notice.ts'
import { type Notice, type NoticeInstance, readNotice } from '../notice.ts'

export function joinNotices(delivery: AlertDelivery, next: Notice): AlertDelivery {
  const before = readNotice(delivery.notice)
  const byKey = new Map<string, NoticeInstance>()
  for (const instance of [...before.data.instances, ...next.data.instances]) {
    const key = JSON.stringify(instance.key)
    // The latest comes last.
    byKey.delete(key)
    byKey.set(key, instance)
  }
  const joined = delivery.joined + 1
  const more = before.data.more + next.data.more
  const { sequence } = delivery
  const latest = addInstances(
    { ...next, data: { ...next.data, sequence, instances: [], more, joined } },
    [...byKey.values()].reverse(),
  )
  const instances = latest.data.instances.toReversed()
  const isFiring = instances.some(({ state }) => state === 'firing')
  const notice: Notice = {
    ...latest,
    type: next.type === 'alert.resolved' && isFiring ? 'alert.firing' : next.type,
    data: { ...latest.data, instances },
  }
  return { ...delivery, joined, notice: JSON.stringify(notice) }
}
