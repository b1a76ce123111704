/** Asks every server of the URL once what it is, for operators. */
import { loadPg } from '../pg.ts'
import { namedServers, type ServerAddress } from './addresses.ts'
import { destroyClient, directTo } from './client.ts'
import { type Incarnation, readHistory } from './history.ts'
import { readIdentity, type ServerIdentity } from './identity.ts'

export interface SurveyedServer {
  readonly address: ServerAddress
  readonly identity: ServerIdentity | undefined
  /** Why it did not answer. */
  readonly error: string | undefined
  /** The standbys that a commit waits for; empty: none. */
  readonly synchronousStandbys: string
  /** Whether it archives its write-ahead log. */
  readonly isArchived: boolean
  readonly history: readonly Incarnation[]
}

const WITHIN_MS = 3000

export function surveyServers(url: string): Promise<SurveyedServer[]> {
  const { addresses, connectionString, isFailover } = namedServers(url)
  return Promise.all(addresses.map((address) => survey(address, connectionString, isFailover)))
}

async function survey(address: ServerAddress, connectionString: string, isFailover: boolean): Promise<SurveyedServer> {
  const client = new (loadPg().Client)({
    connectionString,
    connectionTimeoutMillis: WITHIN_MS,
    query_timeout: WITHIN_MS,
    application_name: 'gatehouse failover',
  })
  if (isFailover) directTo(client, address)
  client.on('error', () => {})
  try {
    await client.connect()
    const identity = await readIdentity(client)
    const { rows } = await client.query<{ names: string; archive: string }>(
      `SELECT current_setting('synchronous_standby_names') AS names, current_setting('archive_mode') AS archive`,
    )
    const history = (await readHistory(client, identity.system)) ?? []
    const [{ names, archive } = { names: '', archive: 'off' }] = rows
    return { address, identity, error: undefined, synchronousStandbys: names, isArchived: archive !== 'off', history }
  } catch (error) {
    const text = error instanceof Error ? error.message || error.name : String(error)
    return { address, identity: undefined, error: text, synchronousStandbys: '', isArchived: false, history: [] }
  } finally {
    destroyClient(client)
  }
}
