/** Whether anybody can administer, and how the first administrator comes to be. */
import type { Role, Roles } from './roles.ts'
import type { SetUpLink, SetUpLinks } from './set-up-links.ts'
import type { Users } from './users.ts'

const RIGHTS = ['Identity/Admin', 'Platform/Admin'] as const
/** Long enough to fetch a colleague. */
export const ADMINISTRATOR_LINK_MS = 24 * 3_600_000

export interface AdministratorStores {
  readonly users: Pick<Users, 'canSignInWith'>
  readonly roles: Pick<Roles, 'list'>
}

/** A user with the right to administer users, who can sign in: one who was invited and has no password cannot. */
export async function hasAdministrator({ users, roles }: AdministratorStores): Promise<boolean> {
  const names = (await roles.list()).filter(({ scopes }) => scopes.includes('Identity/Admin')).map(({ name }) => name)
  return names.length > 0 && users.canSignInWith(names)
}

/** The link with which one is created, in place of an earlier link; undefined where there is one. */
export async function newAdministratorLink(
  stores: AdministratorStores & { readonly setUpLinks: Pick<SetUpLinks, 'create'> },
  createdBy: string,
): Promise<{ link: SetUpLink; token: string } | undefined> {
  if (await hasAdministrator(stores)) return undefined
  const wanted = { kind: 'administrator', userId: undefined, createdBy, lifetimeMs: ADMINISTRATOR_LINK_MS } as const
  return stores.setUpLinks.create(wanted)
}

/** A role that gives all administration rights, and whether it has to be created. */
export function administratorRole(existing: readonly Role[]): { role: Role; isNew: boolean } {
  const fitting = existing.find(({ scopes }) => RIGHTS.every((right) => scopes.includes(right)))
  if (fitting !== undefined) return { role: fitting, isNew: false }
  const taken = new Set(existing.map(({ name }) => name))
  let name = 'admin'
  for (let count = 2; taken.has(name); count++) name = `admin-${count}`
  return { role: { name, scopes: RIGHTS, description: 'Administers', requireSecondFactor: false }, isNew: true }
}
