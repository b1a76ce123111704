/** Administration of the connections of PostgreSQL's protocol, on all nodes. */
import { connectionRoutes } from './connections.ts'
import type { AdminRoute } from './route.ts'

export const wireRoutes: readonly AdminRoute[] = connectionRoutes({
  list: 'wire',
  kick: 'wire-kick',
  kicked: 'wire.kicked',
  one: 'connection',
  lists: "Lists the connections of tools that use PostgreSQL's protocol, on all nodes, newest first.",
  closesOne: 'Closes a connection of a tool on any node.',
  closesAll: 'Closes all connections of the tools of a user or client, on all nodes.',
})
