/** The list of scopes. */
import { isRight } from 'gatehouse-protocol'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import { type AdminRoute, knownApis } from './route.ts'

export const scopeRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/scopes',
    scope: 'Identity/Admin',
    summary: 'Lists the scopes with the resource of each and the roles that give it.',
    reply: '{"items": […]}',
    async run(_call, env) {
      const { stores } = env
      const roles = await stores.roles.list()
      const { apis = [], ...options } = await knownApis(env, stores)
      const known = new KnownScopes(apis, options)
      return {
        body: {
          items: known.scopes().map((scope) => ({
            name: scope,
            resource: isRight(scope) ? known.findAudience(scope) : null,
            roles: roles.filter(({ scopes }) => scopes.includes(scope)).map(({ name }) => name),
          })),
        },
      }
    },
  },
]
