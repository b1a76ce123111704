/** What a user may do, as the platform would decide it: scopes through roles, tables with their rows, topics of the stream. */

import { showLicences } from './licences.ts'
import type { UserRights } from './ports.ts'
import { pageQuery, readPage } from './request/page.ts'
import { type AdminCall, type AdminRoute, part } from './route.ts'
import { findUser } from './users.ts'

export const userRightsRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/users/{user}/rights',
    scope: 'Identity/Admin',
    summary:
      'Shows what a user may do: roles and their scopes, tables with rights and row filter, page by page, and topics of the stream. An application may be allowed less.',
    query: { ...pageQuery('Tables', 'name'), prefix: 'Only tables whose names begin with this; case-insensitive.' },
    reply:
      '{"user", "username", "disabled", "roles": [{"name", "scopes"}], "scopes": […], "tables": {"items": [{"name", "issystem", "rights", "rowfilter"}], "next": "the path of the next page or null"}, "topics": [{"controller", "topics": […]}]}; tables and topics are null where no node runs the service. With products also "licences": [{"product", "access", "reason", "until", "kind", "status"}].',
    async run(call, env) {
      const { stores, activity } = env
      const found = await findUser(stores, part(call, 'user'))
      const { id, username, disabled, roles, attributes, rights } = found
      const licences = await showLicences(found, env)
      const held = (await stores.roles.list()).filter(({ name }) => roles.includes(name))
      const user: UserRights = { subject: id, username, roles, attributes, scopes: [...rights].sort() }
      const page = { ...readPage(call), prefix: call.query.prefix ?? '' }
      const tables = await activity.listTables(user, page)
      return {
        body: {
          user: id,
          username,
          disabled,
          roles: held.map(({ name, scopes }) => ({ name, scopes })),
          scopes: user.scopes,
          tables: tables === undefined ? null : { items: tables.items, next: nextPath(call, tables.next) },
          topics: (await activity.listTopics(user.scopes)) ?? null,
          ...(licences.length > 0 && { licences }),
        },
      }
    },
  },
]

function nextPath(call: AdminCall, after: string | undefined): string | null {
  if (after === undefined) return null
  const path = `/admin/users/${encodeURIComponent(part(call, 'user'))}/rights`
  return `${path}?${new URLSearchParams({ ...call.query, after })}`
}
