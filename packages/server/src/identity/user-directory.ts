/** A short-lived cache of users for code that runs on every request. Code that issues tokens reads the store directly. */

import type { Clock, GateEvent } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import { LruMap } from '../lib/lru-map.ts'
import type { User } from '../store/accounts/user.ts'
import type { Users } from '../store/accounts/users.ts'

export type UserDirectory = ReturnType<typeof createUserDirectory>

const MAX_CACHED = 10_000
/** For changes that no event reports. */
const CACHED_MS = 1_000

export function createUserDirectory(users: Pick<Users, 'findById'>, bus: Bus, clock: Clock) {
  let cached = new LruMap<{ readonly user: User; readonly at: number }>(MAX_CACHED)
  /** Counts the events: a user read from the store while one arrives may already be outdated. */
  let changes = 0
  const unsubscribe = bus.subscribe((event) => {
    if (event.kind === 'roles-changed' || event.kind === 'attributes-changed') {
      changes++
      cached = new LruMap(MAX_CACHED)
      return
    }
    const subjects = changedSubjects(event)
    if (subjects.length === 0) return
    changes++
    for (const subject of subjects) cached.delete(subject)
  })

  const recent = (id: string, now: number): User | undefined => {
    const known = cached.get(id)
    return known !== undefined && Math.abs(now - known.at) < CACHED_MS ? known.user : undefined
  }

  return {
    async findById(id: string): Promise<User | undefined> {
      const now = clock()
      return recent(id, now) ?? read(id, now)
    },
    /** Only if it was read a moment ago. */
    recent: (id: string): User | undefined => recent(id, clock()),
    close: unsubscribe,
  }

  async function read(id: string, now: number): Promise<User | undefined> {
    const before = changes
    const user = await users.findById(id)
    if (user !== undefined && changes === before) cached.set(id, { user, at: now })
    return user
  }
}

function changedSubjects(event: GateEvent): readonly string[] {
  switch (event.kind) {
    case 'user-changed':
    case 'rights-changed':
    case 'subject-cut':
      return [event.subject]
    case 'subjects-cut':
      return event.subjects
    default:
      return []
  }
}
