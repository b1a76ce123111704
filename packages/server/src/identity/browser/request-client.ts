/** The client of an authorization request while its user signs in and consents. */
import type { Client } from '../../store/clients/client-metadata.ts'
import type { Agents } from '../agents/agents.ts'
import type { AuthorizationRequest } from '../authorize/request.ts'
import type { ClientDirectory } from '../clients/client-directory.ts'

export interface RequestClientEnv {
  readonly clients: Pick<ClientDirectory, 'find'>
  /** Undefined where no agents are served. */
  readonly agents: Pick<Agents, 'ofDocument'> | undefined
}

/** An agent that publishes its description has no registration before the first consent: the request has what its document said. */
export async function findRequestClient(
  { clientId, document }: Pick<AuthorizationRequest, 'clientId' | 'document'>,
  { clients, agents }: RequestClientEnv,
): Promise<Client | undefined> {
  return document === undefined ? clients.find(clientId) : agents?.ofDocument(document)
}
