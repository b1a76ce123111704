/** All administration routes. */
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { activityRoutes } from './activity.ts'
import { auditRoutes } from './audit.ts'
import { backupRoutes } from './backups.ts'
import { clientRoutes } from './clients.ts'
import { controllerRoutes } from './controllers.ts'
import { declarationRoutes } from './declaration.ts'
import { feedRoutes } from './feeds.ts'
import { linkRoutes } from './links.ts'
import { mailRoutes } from './mail.ts'
import { platformRoutes } from './platform.ts'
import { providerRoutes } from './providers.ts'
import { resourceRoutes } from './resource-routes.ts'
import { roleRoutes } from './roles.ts'
import type { AdminRoute } from './route.ts'
import { scimRoutes } from './scim.ts'
import { signedInRoutes } from './signed-in.ts'
import { userAccessRoutes } from './user-access.ts'
import { userRightsRoutes } from './user-rights.ts'
import { userRoutes } from './users.ts'
import { wireRoutes } from './wire.ts'

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...userRoutes,
  ...userAccessRoutes,
  ...userRightsRoutes,
  ...signedInRoutes,
  ...linkRoutes,
  ...mailRoutes,
  ...clientRoutes,
  ...scimRoutes,
  ...roleRoutes,
  ...resourceRoutes(APIS),
  ...resourceRoutes(ATTRIBUTES),
  ...providerRoutes,
  ...controllerRoutes,
  ...feedRoutes,
  ...platformRoutes,
  ...activityRoutes,
  ...wireRoutes,
  ...auditRoutes,
  ...backupRoutes,
  ...declarationRoutes,
]
