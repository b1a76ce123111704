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
  readonly archiving: Archiving
  readonly history: readonly Incarnation[]
}

/** Of the write-ahead log. `unset`: archive_mode is on, but nothing says how. `failing`: the last attempt failed. */
export type Archiving = 'off' | 'unset' | 'failing' | 'on'

const WITHIN_MS = 3000
/** archive_library is of PostgreSQL 15. */
const STATE = `
  SELECT current_setting('synchronous_standby_names') AS names,
    CASE WHEN current_setting('archive_mode') = 'off' THEN 'off'
      WHEN current_setting('archive_command') IN ('', '(disabled)') AND coalesce(current_setting('archive_library', true), '') = ''
        THEN 'unset'
      WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN 'failing'
      ELSE 'on' END AS archiving
  FROM pg_stat_archiver`

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
    const { rows } = await client.query<{ names: string; archiving: Archiving }>(STATE)
    const history = (await readHistory(client, identity.system)) ?? []
    const [{ names, archiving } = { names: '', archiving: undefined }] = rows
    return { address, identity, error: undefined, synchronousStandbys: names, archiving: archiving ?? 'off', history }
  } catch (error) {
    const text = error instanceof Error ? error.message || error.name : String(error)
    return { address, identity: undefined, error: text, synchronousStandbys: '', archiving: 'off', history: [] }
  } finally {
    destroyClient(client)
  }
}
