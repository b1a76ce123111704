/** All clients, page by page. */
import { Refusal } from 'gatehouse-protocol'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { Stores } from '../store/stores.ts'

const PAGE = 500
/** More would be neither a file that people edit nor a reply that a server should hold in memory. */
const MOST_CLIENTS = 10_000

export async function readAllClients(stores: Pick<Stores, 'clients'>): Promise<ClientMetadata[]> {
  const ids = await readAllIds(stores)
  const found = await Promise.all(ids.map((id) => stores.clients.metadata(id)))
  return found.filter((client) => client !== undefined)
}

async function readAllIds({ clients }: Pick<Stores, 'clients'>): Promise<string[]> {
  const all: string[] = []
  for (;;) {
    const page = await clients.listIds({ after: all.at(-1) ?? '', limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
    if (all.length > MOST_CLIENTS)
      throw new Refusal(
        'admin.conflict',
        409,
        `There are more than ${MOST_CLIENTS} clients, which is too many to export to a file; list them with GET /admin/clients`,
      )
  }
}
