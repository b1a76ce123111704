/** Reads the current state of what a declaration names, or of everything if it prunes. */

import { readResources } from '../resources/resources.ts'
import { rolesByOperator, type User, usernameKey } from '../store/accounts/user.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { Clients } from '../store/clients/clients.ts'
import type { Stores } from '../store/stores.ts'
import type { ClientState, CurrentState, UserState } from './plan.ts'
import type { Declaration } from './shape.ts'
import { BEING_FILLED, type TableChecks, type TablesPort } from './tables-port.ts'
import type { BoundView, TableTarget } from './targets.ts'

const PAGE = 500

export async function readState(
  declaration: Declaration,
  stores: Stores,
  tables: TablesPort | undefined,
): Promise<CurrentState> {
  const users = await readUsers(declaration, stores.users)
  return {
    ...(await readResources(stores)),
    users: new Map(users.map((user) => [usernameKey(user.username), userState(user)])),
    clients: new Map((await readClients(declaration, stores.clients)).map((state) => [state.target.client_id, state])),
    providers: new Map((await stores.providers.list()).map((provider) => [provider.id, provider])),
    tables: tables === undefined ? new Map() : await existingTables(tables),
    views: tables === undefined ? new Map() : await existingViews(tables),
  }
}

/** By name in lower case. A table that a crash left partly filled does not count. */
export async function existingTables(tables: TableChecks): Promise<Map<string, TableTarget>> {
  const complete = (await tables.list()).filter(({ description }) => description !== BEING_FILLED)
  return new Map(complete.map((table) => [table.name.toLowerCase(), table]))
}

/** By name in lower case. */
export async function existingViews(tables: TableChecks): Promise<Map<string, BoundView>> {
  return new Map((await tables.listViews()).map((view) => [view.name.toLowerCase(), view]))
}

async function readUsers(declaration: Declaration, users: Stores['users']): Promise<User[]> {
  if (declaration.prune !== true) {
    const named = await Promise.all((declaration.users ?? []).map(({ username }) => users.findByUsername(username)))
    return named.filter((user) => user !== undefined)
  }
  const all: User[] = []
  for (;;) {
    const page = await users.list({ after: all.at(-1)?.username ?? '', limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

async function readClients(declaration: Declaration, clients: Clients): Promise<ClientState[]> {
  const ids =
    declaration.prune === true
      ? (await clients.list()).map(({ id }) => id)
      : (declaration.clients ?? []).map(({ client_id }) => client_id)
  const states = await Promise.all(
    ids.map(async (id) => {
      const metadata = await clients.metadata(id)
      return metadata === undefined ? [] : [await clientState(metadata, clients)]
    }),
  )
  return states.flat()
}

async function clientState(target: ClientMetadata, clients: Clients): Promise<ClientState> {
  const secrets = (await clients.find(target.client_id))?.secrets ?? []
  const digests = secrets.filter(({ declared }) => declared).map(({ digest }) => digest)
  return { target, declaredSecrets: [...new Set(digests)] }
}

function userState(user: User): UserState {
  const { username, profile, breakGlass, attributes, disabled, passwordHash, declaredDigest } = user
  return {
    target: { username, profile, breakGlass, roles: rolesByOperator(user), attributes, disabled },
    hasPassword: passwordHash !== undefined,
    declaredDigest,
  }
}
