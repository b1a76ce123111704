/** All administration routes. */
import { AGENTS } from '../resources/agents.ts'
import { AGREEMENTS } from '../resources/agreements.ts'
import { ALERTS } from '../resources/alerts.ts'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { CHANNELS } from '../resources/channels.ts'
import { CLIENTS } from '../resources/clients.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import { ENTITLEMENTS } from '../resources/entitlements.ts'
import { FEEDS } from '../resources/feeds.ts'
import { PRODUCTS } from '../resources/products.ts'
import { PROVIDERS } from '../resources/providers.ts'
import { ROLES } from '../resources/roles.ts'
import { USERS } from '../resources/users.ts'
import { activityRoutes } from './activity.ts'
import { ALERT_SPECIALS } from './alerts.ts'
import { auditRoutes } from './audit.ts'
import { backupRoutes } from './backups.ts'
import { channelRoutes } from './channels.ts'
import { CLIENT_SPECIALS, clientSecretRoutes } from './clients.ts'
import { columnRoutes } from './columns.ts'
import { declarationRoutes } from './declaration.ts'
import { feedRoutes, showUsage } from './feeds.ts'
import { identityRoutes } from './identities.ts'
import { licenceRoutes } from './licences.ts'
import { linkRoutes } from './links.ts'
import { mailRoutes } from './mail.ts'
import { placeRoutes } from './places.ts'
import { platformRoutes } from './platform.ts'
import { resourceRoutes } from './resource-routes.ts'
import { retentionRoutes } from './retention.ts'
import type { AdminRoute } from './route.ts'
import { scimRoutes } from './scim.ts'
import { scopeRoutes } from './scopes.ts'
import { signedInRoutes } from './signed-in.ts'
import { usageRoutes } from './usage.ts'
import { userAccessRoutes } from './user-access.ts'
import { userRightsRoutes } from './user-rights.ts'
import { passwordRoutes, requireBreakGlass, USER_SPECIALS } from './users.ts'
import { viewRoutes } from './views.ts'
import { wireRoutes } from './wire.ts'

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...resourceRoutes(USERS, USER_SPECIALS),
  ...passwordRoutes,
  ...userAccessRoutes,
  ...userRightsRoutes,
  ...signedInRoutes,
  ...linkRoutes,
  ...mailRoutes,
  ...resourceRoutes(CLIENTS, CLIENT_SPECIALS),
  ...clientSecretRoutes,
  ...scimRoutes,
  ...resourceRoutes(ROLES, {
    details: async ({ name }, { stores }) => ({ users: await stores.users.countWith(name) }),
    require: requireBreakGlass,
  }),
  ...scopeRoutes,
  ...resourceRoutes(APIS),
  ...resourceRoutes(ATTRIBUTES),
  ...resourceRoutes(PROVIDERS),
  ...resourceRoutes(AGENTS),
  ...identityRoutes,
  ...resourceRoutes(CONTROLLERS),
  ...resourceRoutes(FEEDS, {
    details: showUsage,
    listDetails: (feeds, env) => Promise.all(feeds.map((feed) => showUsage(feed, env))),
  }),
  ...feedRoutes,
  ...resourceRoutes(PRODUCTS),
  ...resourceRoutes(AGREEMENTS),
  ...resourceRoutes(ENTITLEMENTS),
  ...resourceRoutes(CHANNELS),
  ...channelRoutes,
  ...resourceRoutes(ALERTS, ALERT_SPECIALS),
  ...licenceRoutes,
  ...placeRoutes,
  ...usageRoutes,
  ...columnRoutes,
  ...retentionRoutes,
  ...viewRoutes,
  ...platformRoutes,
  ...activityRoutes,
  ...wireRoutes,
  ...auditRoutes,
  ...backupRoutes,
  ...declarationRoutes,
]
