/** All administration routes. */
import { auditRoutes } from './audit.ts'
import { clientRoutes } from './clients.ts'
import { linkRoutes } from './links.ts'
import { platformRoutes } from './platform.ts'
import { roleRoutes } from './roles.ts'
import type { AdminRoute } from './route.ts'
import { signedInRoutes } from './signed-in.ts'
import { userAccessRoutes } from './user-access.ts'
import { userRoutes } from './users.ts'

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...userRoutes,
  ...userAccessRoutes,
  ...signedInRoutes,
  ...linkRoutes,
  ...clientRoutes,
  ...roleRoutes,
  ...platformRoutes,
  ...auditRoutes,
]
