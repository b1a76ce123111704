/** The state of the installation as a declarative file. */
import { exportDeclaration } from '../declarative/export.ts'
import { badBody } from './request/body.ts'
import type { AdminRoute } from './route.ts'

export const declarationRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/declaration',
    scope: 'Identity/Admin',
    summary:
      'Shows all that a declarative file can describe as such a file, without passwords and secrets. Tables, views and what else is changed with `Platform/Admin` need this right as well, tables and views also a node that runs the query service. Above 10,000 clients or entitlements there is no such file.',
    query: { users: '`false` leaves the users out. Above 10,000 users they must be left out.' },
    reply:
      '{"declaration": the file, "omitted": [what a file cannot describe, such as indexes and default values]}. A client with a secret has {"env": "CLIENT_SECRET_…"}: the variable with the secret where the file is applied.',
    async run(call, { stores, definitions: read }) {
      const { users = 'true' } = call.query
      if (users !== 'true' && users !== 'false') throw badBody([{ path: 'users', text: 'must be true or false' }])
      const isOperator = call.caller.scopes.has('Platform/Admin')
      const definitions = isOperator ? await read() : undefined
      const declaration = await exportDeclaration(stores, {
        users: users === 'true',
        definitions,
        operator: isOperator,
      })
      return { body: { declaration, omitted: definitions?.omitted ?? [] } }
    },
  },
]
