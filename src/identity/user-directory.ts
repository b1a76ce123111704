/** People as they stand, remembered for a moment: for those who ask on every request. What grants tokens reads the store itself. */
import type { Bus } from '../events/bus.ts'
import type { Clock } from '../protocol/clock.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import type { User, Users } from '../store/users.ts'

export interface UserDirectory {
  findById(id: string): Promise<User | undefined>
  close(): void
}

const MOST_REMEMBERED = 10_000
/** For changes that nobody told of. */
const REMEMBERED_MS = 1_000

export function createUserDirectory(users: Pick<Users, 'findById'>, bus: Bus, clock: Clock): UserDirectory {
  const remembered = new Map<string, { readonly user: User; readonly at: number }>()
  /** Counts the events: what was read while one came may be older than it. */
  let told = 0
  const unsubscribe = bus.subscribe((event) => {
    const subject = subjectOf(event)
    if (subject === undefined) return
    told++
    remembered.delete(subject)
  })

  return {
    async findById(id) {
      const now = clock()
      const known = remembered.get(id)
      if (known !== undefined && Math.abs(now - known.at) < REMEMBERED_MS) return known.user
      const before = told
      const user = await users.findById(id)
      if (user === undefined || told !== before) return user
      if (remembered.size >= MOST_REMEMBERED) remembered.clear()
      remembered.set(id, { user, at: now })
      return user
    },
    close: unsubscribe,
  }
}

function subjectOf(event: GateEvent): string | undefined {
  switch (event.kind) {
    case 'user-changed':
    case 'rights-changed':
    case 'subject-cut':
      return event.subject
    default:
      return undefined
  }
}
