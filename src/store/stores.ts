/** All stores of one database. */
import type { Clock } from '../protocol/clock.ts'
import { createClients } from './clients.ts'
import { createCodes } from './codes.ts'
import { createConsents } from './consents.ts'
import type { Database } from './database.ts'
import { createDeviceCodes } from './device-codes.ts'
import { createEvents } from './events.ts'
import { createFactors } from './factors.ts'
import { createGrants } from './grants.ts'
import { createNodes } from './nodes.ts'
import { createRefreshTokens } from './refresh-tokens.ts'
import { createRoles } from './roles.ts'
import { createSessions, DEFAULT_LIFETIMES, type SessionLifetimes } from './sessions.ts'
import { createSetUpLinks } from './set-up-links.ts'
import { createSigningKeys } from './signing-keys.ts'
import { createThrottles } from './throttles.ts'
import { createUsers } from './users.ts'

export type Stores = ReturnType<typeof createStores>

export function createStores(
  { db, engine }: Database,
  clock: Clock,
  { sessions = DEFAULT_LIFETIMES }: { sessions?: SessionLifetimes } = {},
) {
  return {
    users: createUsers(db, clock),
    roles: createRoles(db),
    clients: createClients(db, clock),
    grants: createGrants(db, clock),
    codes: createCodes(db, clock),
    refreshTokens: createRefreshTokens(db, clock),
    sessions: createSessions(db, clock, sessions),
    consents: createConsents(db, clock),
    factors: createFactors(db, engine, clock),
    deviceCodes: createDeviceCodes({ db, engine }, clock),
    setUpLinks: createSetUpLinks(db, clock),
    signingKeys: createSigningKeys(db),
    throttles: createThrottles(db, clock),
    events: createEvents(db, engine, clock),
    nodes: createNodes({ db, engine }, clock),
  }
}
