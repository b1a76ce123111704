/** Lists of which there may be many, read as a whole, page by page. */
import { Refusal } from 'gatehouse-protocol'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { Stores } from '../store/stores.ts'

const PAGE = 500
/** More would be neither a file that people edit nor a reply that a server should hold in memory. */
const MOST_EXPORTED = 10_000

/** With `tooMany` it refuses what is too much to export: "There are more than 10000", and these words. */
export async function readPages<Item>(
  readPage: (last: Item | undefined, limit: number) => Promise<readonly Item[]>,
  tooMany?: string,
): Promise<Item[]> {
  const all: Item[] = []
  for (;;) {
    const page = await readPage(all.at(-1), PAGE)
    all.push(...page)
    if (page.length < PAGE) return all
    if (tooMany !== undefined && all.length > MOST_EXPORTED)
      throw new Refusal('admin.conflict', 409, `There are more than ${MOST_EXPORTED} ${tooMany}`)
  }
}

/** Those that somebody has registered. */
export async function readAllClients({ clients }: Pick<Stores, 'clients'>): Promise<ClientMetadata[]> {
  const ids = await readPages<string>(
    (last = '', limit) => clients.listIds({ after: last, limit, registered: true }),
    'clients: there are too many for one file; list them with GET /admin/clients',
  )
  const found = await Promise.all(ids.map((id) => clients.metadata(id)))
  return found.filter((client) => client !== undefined)
}
