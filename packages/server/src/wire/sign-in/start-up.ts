/** What a start-up packet asks for: the version of the protocol, the user, the database. */
import { negotiateProtocolVersion } from '../protocol/replies.ts'
import { NEWEST_MINOR, versionCode } from '../protocol/start-up.ts'

/** FATAL, before anyone is asked for a password. */
export class StartUpRefused extends Error {
  readonly sqlstate: string
  readonly hint: string | undefined

  constructor(sqlstate: string, message: string, hint?: string) {
    super(message)
    this.sqlstate = sqlstate
    this.hint = hint
  }
}

export interface StartUpRequest {
  readonly user: string
  readonly database: string
  /** The other parameters. */
  readonly startup: ReadonlyMap<string, string>
}

export const DATABASE = 'gatehouse'
const OPTION_PREFIX = '_pq_.'
/** They read a whole cluster of PostgreSQL in one snapshot, and would end at some statement in the middle. */
const DUMPS: ReadonlySet<string> = new Set(['pg_dump', 'pg_dumpall'])
/** The words of a Boolean that is off. */
const OFF: ReadonlySet<string> = new Set(['', '0', 'off', 'false', 'no', 'f', 'n'])

/** Returns the minor version to use, and tells the client if it is not the one it asked for. No options are known. */
export function negotiateVersion(
  asked: number,
  parameters: ReadonlyMap<string, string>,
  send: (reply: Uint8Array) => void,
): number {
  // There is no 3.1.
  const minor = asked >= NEWEST_MINOR ? NEWEST_MINOR : 0
  const unknown = [...parameters.keys()].filter((name) => name.startsWith(OPTION_PREFIX))
  if (minor !== asked || unknown.length > 0) send(negotiateProtocolVersion(versionCode(minor), unknown))
  return minor
}

export function readStartUp(parameters: ReadonlyMap<string, string>): StartUpRequest {
  const user = parameters.get('user') ?? ''
  if (user === '') throw new StartUpRefused('28000', 'The start-up packet names no user')
  if (!OFF.has((parameters.get('replication') ?? '').toLowerCase()))
    throw new StartUpRefused('0A000', 'Replication is not supported')
  const program = parameters.get('application_name') ?? ''
  if (DUMPS.has(program))
    throw new StartUpRefused(
      '0A000',
      `${program} is not supported: export tables with "gatehouse export" or COPY, and make backups with "gatehouse backup"`,
    )
  const named = parameters.get('database') ?? ''
  // Tools connect to these when nobody has named a database.
  if (named !== '' && named !== DATABASE && named !== 'postgres' && named !== user)
    throw new StartUpRefused('3D000', `There is no database "${named}"`, `The database is ${DATABASE}`)
  const startup = new Map([...parameters].filter(([name]) => !isOwn(name)))
  return { user, database: DATABASE, startup }
}

function isOwn(name: string): boolean {
  return name === 'user' || name === 'database' || name === 'replication' || name.startsWith(OPTION_PREFIX)
}
