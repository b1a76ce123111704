/** Distinguishes outages of a database, after which a caller may retry, from faults, and names the reason in a few words. */

/** By the result code of SQLite, the errno of the network, the SQLSTATE of PostgreSQL, the code of an unfit server of it or of NATS. The first match counts. */
const REASONS: readonly (readonly [code: RegExp, reason: string])[] = [
  [/^GATEHOUSE_LOST_WRITES/, 'it lacks writes that were acknowledged before a failover'],
  [/^GATEHOUSE_NO_PRIMARY/, 'none of its servers accepts writes'],
  [/^GATEHOUSE_STANDBY/, 'the server is a standby'],
  [/^GATEHOUSE_OLD_PRIMARY/, 'the server is an old primary'],
  [/^GATEHOUSE_OTHER_CLUSTER/, 'the server belongs to another cluster'],
  [/^GATEHOUSE_UNREPLICATED/, 'no standby has confirmed the write'],
  [/^GATEHOUSE_NATS_UNREACHABLE/, 'NATS cannot be used'],
  [/^GATEHOUSE_FAILED_OVER/, 'it fails over to another server'],
  [/^(SQLITE_READONLY|25006)/, 'it is read-only'],
  [/^(SQLITE_FULL|53100|ENOSPC)/, 'its disk is full'],
  [/^(SQLITE_IOERR|SQLITE_CANTOPEN|58030)/, 'its disk failed'],
  [/^(SQLITE_(BUSY|LOCKED)|55P03)/, 'another process has locked it'],
  [/^25P03/, 'it ended a transaction because this node paused'],
  [/^53300/, 'it has no free connections'],
  [/^53[14]/, 'its resources are exhausted'],
  [/^(ETIMEDOUT)/, 'it does not answer'],
  [
    /^(E(CONN(REFUSED|RESET|ABORTED)|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN|NOTFOUND)|08...|57P0.)/,
    'it cannot be reached',
  ],
]
/** Errors of the driver that have no code. */
const MESSAGES: readonly (readonly [message: RegExp, reason: string])[] = [
  [/^timeout exceeded when trying to connect/, 'it has no free connections, or does not answer'],
  [/^(timeout expired|Query read timeout|Connection terminated due to connection timeout)/, 'it does not answer'],
  [/^(Connection terminated|Client (has encountered a connection error|was closed))/, 'it cannot be reached'],
]

/** The seconds of `Retry-After` in a reply to a request that needs the database. */
export const RETRY_SECONDS = '5'

/** Undefined for an error that is no outage. */
export function unavailableReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const byCode = REASONS.find(([pattern]) => pattern.test(errorCode(error)))
  return (byCode ?? MESSAGES.find(([pattern]) => pattern.test(error.message)))?.[1]
}

export function isUnavailable(error: unknown): boolean {
  return unavailableReason(error) !== undefined
}

/** The database itself may be well. */
export function isNatsOutage(error: unknown): boolean {
  return error instanceof Error && errorCode(error).startsWith('GATEHOUSE_NATS_')
}

/** Whether reads may still succeed. */
export function concernsWrites(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(SQLITE_(READONLY|FULL|IOERR)|GATEHOUSE_LOST_WRITES|25006|53100|58030|ENOSPC)/.test(errorCode(error))
  )
}

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The database did not answer a statement in time. */
export class StatementTimeout extends Error {
  override name = 'StatementTimeout'
  readonly code = 'ETIMEDOUT'

  constructor(milliseconds: number) {
    super(`The database did not answer within ${milliseconds} ms`)
  }
}

/** Reports all errors except outages, which `Availability` reports once. */
export function exceptOutages(report: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!isUnavailable(error)) report(error)
  }
}
