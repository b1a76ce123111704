/** All stores of one database. */
import type { Clock } from 'gatehouse-protocol'
import { createFactors } from './accounts/factors.ts'
import { createRoles } from './accounts/roles.ts'
import { createSetUpLinks } from './accounts/set-up-links.ts'
import { createThrottles } from './accounts/throttles.ts'
import { createUsers } from './accounts/users.ts'
import { createAlerts } from './alerts/alerts.ts'
import { createChannels } from './alerts/channels.ts'
import { createPushSubscriptions } from './alerts/push-subscriptions.ts'
import { createApis } from './apis/apis.ts'
import { createAttributes } from './attributes/attributes.ts'
import { createCodes } from './authorizations/codes.ts'
import { createDeviceCodes } from './authorizations/device-codes.ts'
import { createGrants } from './authorizations/grants.ts'
import { createPushedRequests } from './authorizations/pushed-requests.ts'
import { createRefreshTokens } from './authorizations/refresh-tokens.ts'
import { createSessions, DEFAULT_LIFETIMES, type SessionLifetimes } from './authorizations/sessions.ts'
import { createSpentJwts } from './authorizations/spent-jwts.ts'
import { createClients } from './clients/clients.ts'
import { createConsents } from './clients/consents.ts'
import { createEvents } from './cluster/events.ts'
import { createNodes } from './cluster/nodes.ts'
import { createControllers } from './controllers/controllers.ts'
import type { Database } from './database/database.ts'
import { createDefinitions, type DefinitionTable } from './database/definitions.ts'
import { createFeeds } from './feeds/feeds.ts'
import { createSigningKeys } from './keys/signing-keys.ts'
import { createLicences } from './licences/licences.ts'
import { createAddressLinks } from './mail/address-links.ts'
import { createKnownBrowsers } from './mail/known-browsers.ts'
import { createMailQueue } from './mail/mail-queue.ts'
import { createIdentities } from './providers/identities.ts'
import { createProviderSignIns } from './providers/provider-sign-ins.ts'
import { createProviders } from './providers/providers.ts'
import { createScim } from './scim/scim.ts'

/** Every store, with what writes accounts: for the account service, and for nobody else. */
export type WritableStores = ReturnType<typeof createStores>

/** As all others see them: they read accounts, and have the account service change them. */
export type Stores = Omit<WritableStores, keyof ReadAccounts> & ReadAccounts

interface ReadAccounts {
  readonly users: Omit<WritableStores['users'], 'create' | 'update' | 'setRoles' | 'remove' | 'setPassword'>
  readonly factors: Omit<WritableStores['factors'], 'add' | 'remove' | 'replaceRecoveryCodes'>
  readonly identities: Omit<WritableStores['identities'], 'add' | 'remove' | 'markUsed'>
  readonly setUpLinks: Omit<WritableStores['setUpLinks'], 'create' | 'spend' | 'revoke'>
  readonly scim: Omit<WritableStores['scim'], 'setExternalId' | 'members' | 'groups'> & {
    readonly members: Omit<WritableStores['scim']['members'], 'add' | 'remove'>
    readonly groups: WritableStores['scim']['groups']
  }
}

export function createStores(
  { db, engine }: Database,
  clock: Clock,
  { sessions = DEFAULT_LIFETIMES }: { sessions?: SessionLifetimes } = {},
) {
  const nodes = createNodes({ db, engine }, clock)
  return {
    users: createUsers(db, clock),
    roles: createRoles(db),
    clients: createClients(db, clock),
    attributes: createAttributes(db, clock),
    controllers: createControllers(db, clock),
    feeds: createFeeds(db, { clock, isUpgrading: async () => (await nodes.older()).length > 0 }),
    providers: createProviders(db, clock),
    licences: createLicences(db, clock),
    channels: createChannels(db, clock),
    alerts: createAlerts(db, clock),
    pushSubscriptions: createPushSubscriptions(db, clock),
    identities: createIdentities(db, clock),
    providerSignIns: createProviderSignIns(db, clock),
    apis: createApis(db, clock),
    /** Those in a table that no other store has. */
    definitions: <Item extends object>(table: DefinitionTable<Item>) => createDefinitions(db, clock, table),
    grants: createGrants(db, clock),
    codes: createCodes(db, clock),
    refreshTokens: createRefreshTokens(db, clock),
    pushedRequests: createPushedRequests(db, clock),
    sessions: createSessions(db, clock, sessions),
    consents: createConsents(db, clock),
    factors: createFactors(db, engine, clock),
    deviceCodes: createDeviceCodes({ db, engine }, clock),
    setUpLinks: createSetUpLinks(db, clock),
    addressLinks: createAddressLinks(db, clock),
    knownBrowsers: createKnownBrowsers(db, clock),
    mailQueue: createMailQueue({ db, engine }, clock),
    scim: createScim(db, clock),
    signingKeys: createSigningKeys(db),
    spentJwts: createSpentJwts(db),
    throttles: createThrottles(db, clock),
    events: createEvents(db, engine, clock),
    nodes,
  }
}
