/** Tells a database that is away or too busy for a moment, which a caller may try again, from a fault. */

/** SQLite by its result codes, the network by errno, PostgreSQL by its classes: connection, resources, an operator's shutdown. */
const AWAY =
  /^(SQLITE_(BUSY|LOCKED)|E(CONN(REFUSED|RESET|ABORTED)|PIPE|TIMEDOUT|HOSTUNREACH|AI_AGAIN)|08...|53[134]..|57P0.)/
/** The driver gives these no code. */
const SAID = /^(Connection terminated|timeout exceeded when trying to connect)/

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return AWAY.test(code) || SAID.test(error.message)
}
