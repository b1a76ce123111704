/** Who may act for a person: an application that they allowed it, or one that needed no consent (a password given to it, a client of our own). */
import type { Consents } from './consents.ts'
import type { Grants } from './grants.ts'

export interface Application {
  readonly clientId: string
  /** Everything that it was ever allowed or holds now. */
  readonly scopes: readonly string[]
  /** Whether the person was asked, and said yes. */
  readonly isConsented: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ApplicationStores {
  readonly consents: Pick<Consents, 'listOfUser'>
  readonly grants: Pick<Grants, 'listClientsOfUser'>
}

export async function listApplications(
  { consents, grants }: ApplicationStores,
  userId: string,
): Promise<Application[]> {
  const [consented, granted] = await Promise.all([consents.listOfUser(userId), grants.listClientsOfUser(userId)])
  const applications = new Map<string, Application>()
  for (const consent of consented) applications.set(consent.clientId, { ...consent, isConsented: true })
  for (const grant of granted) {
    const known = applications.get(grant.clientId) ?? { ...grant, isConsented: false }
    applications.set(grant.clientId, {
      ...known,
      scopes: [...new Set([...known.scopes, ...grant.scopes])],
      createdAt: Math.min(known.createdAt, grant.createdAt),
      updatedAt: Math.max(known.updatedAt, grant.updatedAt),
    })
  }
  return [...applications.values()].sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
}
